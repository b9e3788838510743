"""/v1/workspace and /v1/projects: a team manages itself. For owners and admins, with a session."""

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access import managing, reads
from askbus.access.model import NumberCheck, Role
from askbus.access.zones import TimeZone
from askbus.db.ids import new_id
from askbus.errors import InvalidInput
from askbus.runtime.telemetry import traceparent
from askbus_gateway.http.gate import Gate, body, command_id, guarded, path_id, present, query, require_person

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WorkspaceBody(_Body):
    """What the workspace is called and chooses; what is missing stays. Null leaves `time_zone` and `model` to the deployment and
    `instructions` empty."""

    name: Name | None = None
    time_zone: TimeZone | None = None
    demo_chat: bool | None = None
    instructions: Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000)] | None = None
    model: str | None = None
    number_check: NumberCheck | None = None

    @model_validator(mode="after")
    def _said(self) -> "WorkspaceBody":
        for name in self.model_fields_set & {"name", "demo_chat", "number_check"}:
            if getattr(self, name) is None:
                raise ValueError(f"{name} cannot be null")
        return self


class ProjectBody(_Body):
    """What the project is called."""

    name: Name


class MemberBody(_Body):
    """What a member becomes; what is missing stays."""

    role: Role | None = None
    demo: bool | None = None


class NoBody(_Body):
    """Nothing needs saying."""


class ProjectList(BaseModel):
    projects: tuple[reads.Project, ...]


class WorkspaceSettings(BaseModel):
    """The workspace, and the names of the models that it can choose from."""

    workspace: managing.Workspace
    models: tuple[str, ...]


class Team:
    """The routes of a workspace, its projects and its members. `models` are the deployment's, by name."""

    def __init__(self, gate: Gate, models: Collection[str]) -> None:
        self.gate = gate
        self.models = tuple(sorted(models))

    def routes(self) -> list[Route]:
        return [
            Route("/v1/workspace", guarded(self.workspace), methods=["GET"]),
            Route("/v1/workspace", guarded(self.change_workspace), methods=["PATCH"]),
            Route("/v1/workspace/members", guarded(self.members), methods=["GET"]),
            Route("/v1/workspace/members/{id}", guarded(self.change_member), methods=["PATCH"]),
            Route("/v1/workspace/members/{id}", guarded(self.dismiss_member), methods=["DELETE"]),
            Route("/v1/projects", guarded(self.projects), methods=["GET"]),
            Route("/v1/projects", guarded(self.create_project), methods=["POST"]),
            Route("/v1/projects/{id}", guarded(self.rename_project), methods=["PATCH"]),
            Route("/v1/projects/{id}/members/{user}", guarded(self.add_to_project), methods=["PUT"]),
            Route("/v1/projects/{id}/members/{user}", guarded(self.remove_from_project), methods=["DELETE"]),
        ]

    async def workspace(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return self._settings(await managing.workspace(self.gate.pool, by))

    async def change_workspace(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = (await body(request, WorkspaceBody)).model_dump(exclude_unset=True)
        if (model := said.get("model")) is not None and model not in self.models:
            raise InvalidInput(f"There is no such model here: known are {', '.join(self.models)}.", {"field": "model"})
        if "instructions" in said:
            said["instructions"] = said["instructions"] or None
        return self._settings(await managing.change_workspace(self.gate.pool, by, said))

    def _settings(self, workspace: managing.Workspace) -> Response:
        return present(WorkspaceSettings(workspace=workspace, models=self.models))

    async def members(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        return present(await managing.members(self.gate.pool, by, query(request, managing.TeamFilter)))

    async def change_member(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = await body(request, MemberBody)
        await managing.change_member(self.gate.pool, by, path_id(request), role=said.role, demo=said.demo, trace=traceparent())
        return Response(status_code=204)

    async def dismiss_member(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        await managing.dismiss_member(self.gate.pool, by, path_id(request))
        return Response(status_code=204)

    async def projects(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(ProjectList(projects=await reads.projects_of(self.gate.pool, by)))

    async def create_project(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = await body(request, ProjectBody)
        key: UUID = command_id(request) if "idempotency-key" in request.headers else new_id()
        return present(await managing.create_project(self.gate.pool, by, key, said.name), 201)

    async def rename_project(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = await body(request, ProjectBody)
        return present(await managing.rename_project(self.gate.pool, by, path_id(request), said.name))

    async def add_to_project(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        await body(request, NoBody)
        who = path_id(request, "user")
        await managing.add_project_member(self.gate.pool, by, path_id(request), who, trace=traceparent())
        return Response(status_code=204)

    async def remove_from_project(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        managing.require_admin(by)
        await managing.remove_project_member(self.gate.pool, by, path_id(request), path_id(request, "user"))
        return Response(status_code=204)
