"""/v1/search and /v1/activity: what there is by its name, and what happened lately. MCP has the same as tools."""

import asyncio
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access import reads as access
from askbus.access.model import Principal, Scope
from askbus.access.zones import Moment
from askbus.actions import recent as recent_actions
from askbus.errors import NotFound
from askbus.limits.model import Limited
from askbus.questions import recent as recent_questions
from askbus.records.describe import CollectionDescription
from askbus.records.names import FoundRecord
from askbus.tools.finding import MOST_FOUND, FindByName, Findings
from askbus_gateway.http.described import described, route
from askbus_gateway.http.gate import Gate, present, query, while_connected

MOST_PROJECTS = 5
"""Projects whose records one search looks into."""


class _Wanted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SearchQuery(_Wanted):
    """`query`: words of a name; nothing lists what there is. In one project, or in those that the caller sees."""

    query: Annotated[str, Field(max_length=200)] = ""
    project_id: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 20


class FoundProject(BaseModel):
    id: UUID
    name: str


class Found(BaseModel):
    """Projects, collections with fields and types, and records: names and keys, no rows. `more_collections` are named alone.
    `not_searched`: collections, or projects, for which there was no time."""

    projects: tuple[FoundProject, ...]
    collections: tuple[CollectionDescription, ...]
    more_collections: tuple[str, ...]
    records: tuple[FoundRecord, ...]
    not_searched: tuple[str, ...]


class ActivityQuery(_Wanted):
    """`since` (included) and `until` (not included); in one project, or in all that the caller sees."""

    project_id: UUID | None = None
    since: Moment | None = None
    until: Moment | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 20


class Happened(BaseModel):
    """What moved, to which state and when. `name` is an action's headline or a question's title."""

    kind: Literal["action", "question"]
    id: UUID
    project_id: UUID
    project: str
    name: str | None
    state: str
    at: datetime


class Activity(BaseModel):
    """The newest first."""

    changes: tuple[Happened, ...]


class Workspace:
    """The routes, and what they and the tools of the same purpose do. `seconds`: how long a tool-runner may take."""

    def __init__(self, gate: Gate, *, seconds: float) -> None:
        self.gate = gate
        self.seconds = seconds

    def routes(self) -> list[Route]:
        return [route("GET", "/v1/search", self.search), route("GET", "/v1/activity", self.activity)]

    @described(Found, query=SearchQuery, refuses=(NotFound,), scope=Scope.DATA_READ)
    async def search(self, request: Request) -> Response:
        """Find projects, collections with their fields, and records by name."""
        by = await self.gate.principal(request)
        return present(await while_connected(request, self.found(by, query(request, SearchQuery))))

    @described(Activity, query=ActivityQuery, scope=Scope.DATA_READ)
    async def activity(self, request: Request) -> Response:
        """What happened lately to questions and proposed changes."""
        by = await self.gate.principal(request)
        return present(await self.happened(by, query(request, ActivityQuery)))

    async def found(self, by: Principal, wanted: SearchQuery) -> Found:
        """What is called so. Raises NotFound for a project that is not the caller's to see."""
        by.require(Scope.DATA_READ)
        await self.gate.limits.take(Limited.TOOLS, by)
        seen = await access.projects_of(self.gate.pool, by)
        text = wanted.query.strip()
        within = [project for project in seen if wanted.project_id in {None, project.id}]
        if wanted.project_id is not None and not within:
            raise NotFound("There is no such project.")
        called = [project for project in within if text.lower() in project.name.lower()]
        projects = tuple(FoundProject(id=project.id, name=project.name) for project in called[: wanted.limit])
        left = wanted.limit - len(projects)
        looked, passed = within[:MOST_PROJECTS], within[MOST_PROJECTS:]
        parts = await asyncio.gather(*(self._in_project(by, project.id, text, left) for project in looked)) if left else []
        return _together(projects, parts, left, tuple(project.name for project in passed))

    async def _in_project(self, by: Principal, project_id: UUID, text: str, limit: int) -> Findings:
        command = FindByName(command_id=uuid4(), by=by, project_id=project_id, text=text, limit=limit)
        return await self.gate.commands.ask(command, timeout=self.seconds)

    async def happened(self, by: Principal, wanted: ActivityQuery) -> Activity:
        """The newest changes that this principal may see, ids and names alone."""
        by.require(Scope.DATA_READ)
        names = {project.id: project.name for project in await access.projects_of(self.gate.pool, by)}
        window = dict(wanted)
        lately = (
            ("action", await recent_actions.recent(self.gate.pool, by, **window)),
            ("question", await recent_questions.recent(self.gate.pool, by, **window)),
        )
        changes = [
            Happened.model_validate({"kind": kind, "project": names.get(one.project_id, ""), **dict(one)})
            for kind, some in lately
            for one in some
        ]
        changes.sort(key=lambda change: (change.at, change.id), reverse=True)
        return Activity(changes=tuple(changes[: wanted.limit]))


def _together(projects: tuple[FoundProject, ...], parts: list[Findings], left: int, passed: tuple[str, ...]) -> Found:
    """What was found in each project, each thing once, collections before records."""
    collections = {one.name: one for part in parts for one in part.collections}
    shown = tuple(collections.values())[:left]
    records = {(one.collection, str(one.key)): one for part in parts for one in part.records}
    ordered = sorted(records.values(), key=lambda one: one.alike)
    return Found(
        projects=projects,
        collections=shown,
        more_collections=tuple(dict.fromkeys(name for part in parts for name in part.more_collections)),
        records=tuple(ordered[: left - len(shown)]),
        not_searched=tuple(dict.fromkeys([*(name for part in parts for name in part.not_searched), *passed])),
    )
