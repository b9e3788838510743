"""/v1/workspace and /v1/projects: a team manages itself. For owners and admins, with a session."""

from collections.abc import Collection
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access import managing, reads
from askbus.access.addresses import SHOWN
from askbus.access.model import NumberCheck, Role
from askbus.access.zones import TimeZone
from askbus.db.ids import new_id
from askbus.errors import Conflict, InvalidInput
from askbus.runtime.telemetry import traceparent
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, body, command_id, path_id, present, query, require_person

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=SHOWN)]


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
            route("GET", "/v1/workspace", self.workspace),
            route("PATCH", "/v1/workspace", self.change_workspace),
            route("GET", "/v1/workspace/members", self.members),
            route("PATCH", "/v1/workspace/members/{id}", self.change_member),
            route("DELETE", "/v1/workspace/members/{id}", self.dismiss_member),
            route("GET", "/v1/projects", self.projects),
            route("POST", "/v1/projects", self.create_project),
            route("PATCH", "/v1/projects/{id}", self.rename_project),
            route("PUT", "/v1/projects/{id}/members/{user}", self.add_to_project),
            route("DELETE", "/v1/projects/{id}/members/{user}", self.remove_from_project),
        ]

    @described(WorkspaceSettings, caller=Caller.PERSON)
    async def workspace(self, request: Request) -> Response:
        """The workspace with what it chose, and the names of the models that it can choose from."""
        by = await self.gate.principal(request)
        return self._settings(await managing.workspace(self.gate.pool, by))

    @described(WorkspaceSettings, body=WorkspaceBody, refuses=(Conflict,), caller=Caller.PERSON)
    async def change_workspace(self, request: Request) -> Response:
        """Name the workspace and change what it chose; what is missing stays."""
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

    @described(managing.TeamPage, query=managing.TeamFilter, caller=Caller.PERSON)
    async def members(self, request: Request) -> Response:
        """A page of the workspace's members with their role and the projects that they were added to."""
        by = await self.gate.principal(request)
        managing.require_admin(by)
        return present(await managing.members(self.gate.pool, by, query(request, managing.TeamFilter)))

    @described({204: None}, body=MemberBody, refuses=(Conflict,), caller=Caller.PERSON)
    async def change_member(self, request: Request) -> Response:
        """Give a member another role or demo flag."""
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = await body(request, MemberBody)
        await managing.change_member(self.gate.pool, by, path_id(request), role=said.role, demo=said.demo, trace=traceparent())
        return Response(status_code=204)

    @described({204: None}, refuses=(Conflict,), caller=Caller.PERSON)
    async def dismiss_member(self, request: Request) -> Response:
        """Remove a member, or leave; their sessions and tokens end."""
        by = await self.gate.principal(request)
        require_person(by)
        await managing.dismiss_member(self.gate.pool, by, path_id(request))
        return Response(status_code=204)

    @described(ProjectList)
    async def projects(self, request: Request) -> Response:
        """The projects that one sees, and in which of them one may write."""
        by = await self.gate.principal(request)
        return present(ProjectList(projects=await reads.projects_of(self.gate.pool, by)))

    @described({201: reads.Project}, body=ProjectBody, caller=Caller.PERSON, idempotent=True)
    async def create_project(self, request: Request) -> Response:
        """Make a project."""
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = await body(request, ProjectBody)
        key: UUID = command_id(request) if "idempotency-key" in request.headers else new_id()
        return present(await managing.create_project(self.gate.pool, by, key, said.name), 201)

    @described(reads.Project, body=ProjectBody, refuses=(Conflict,), caller=Caller.PERSON)
    async def rename_project(self, request: Request) -> Response:
        """Give a project another name."""
        by = await self.gate.principal(request)
        managing.require_admin(by)
        said = await body(request, ProjectBody)
        return present(await managing.rename_project(self.gate.pool, by, path_id(request), said.name))

    @described({204: None}, body=NoBody, caller=Caller.PERSON)
    async def add_to_project(self, request: Request) -> Response:
        """Let a member or viewer see a project."""
        by = await self.gate.principal(request)
        managing.require_admin(by)
        await body(request, NoBody)
        who = path_id(request, "user")
        await managing.add_project_member(self.gate.pool, by, path_id(request), who, trace=traceparent())
        return Response(status_code=204)

    @described({204: None}, caller=Caller.PERSON)
    async def remove_from_project(self, request: Request) -> Response:
        """Take a project away from a member or viewer."""
        by = await self.gate.principal(request)
        managing.require_admin(by)
        await managing.remove_project_member(self.gate.pool, by, path_id(request), path_id(request, "user"))
        return Response(status_code=204)
