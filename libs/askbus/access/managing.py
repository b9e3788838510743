"""Teams that manage themselves: what owners and admins may change about their workspace, its projects and its members (I3).

Who may is weighed in each statement, by the rows as they are at that moment and locked: owners manage everybody, admins everybody but
owners, the last owner stays, and nobody gives more than they have. It takes a person: no token manages a team.
"""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

import asyncpg
from pydantic import BaseModel, ConfigDict, Field

from askbus.access.model import NumberCheck, Principal, PrincipalKind, Role
from askbus.access.reads import Project
from askbus.access.zones import known_zone
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import AskbusError, Conflict, InvalidInput, NotFound, PermissionDenied

WORKSPACE = Statement("askbus.access", "sql/workspace.sql")
CHANGE_WORKSPACE = Statement("askbus.access", "sql/change_workspace.sql")
FOUND_PROJECT = Statement("askbus.access", "sql/found_project.sql")
RENAME_PROJECT = Statement("askbus.access", "sql/rename_project.sql")
LIST_MEMBERS = Statement("askbus.access", "sql/list_members.sql")
CHANGE_MEMBER = Statement("askbus.access", "sql/change_member.sql")
DISMISS_MEMBER = Statement("askbus.access", "sql/dismiss_member.sql")
ADD_PROJECT_MEMBER = Statement("askbus.access", "sql/add_project_member.sql")
REMOVE_PROJECT_MEMBER = Statement("askbus.access", "sql/remove_project_member.sql")


class Workspace(BaseModel):
    """A team, and what it chose. `model` is the name of one of the deployment's models, None its own choice; so is `time_zone`."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    time_zone: str | None
    demo_chat: bool
    instructions: str | None
    model: str | None
    number_check: NumberCheck


class TeamMember(BaseModel):
    """A member as those who manage see them. `projects` are those that they were added to; owners and admins see all anyway."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    email: str
    role: Role
    demo: bool
    projects: tuple[UUID, ...]


class TeamFilter(BaseModel):
    """Which page of the members."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    limit: Annotated[int, Field(ge=1, le=500)] = 200
    before: UUID | None = None


class TeamPage(BaseModel):
    """A page, who came last first; `next` is the `before` of the following page."""

    members: tuple[TeamMember, ...]
    next: UUID | None


def refusal(word: str) -> AskbusError:
    """The error that a statement's word stands for."""
    match word:
        case "owners_only":
            return PermissionDenied("Only an owner can make somebody an owner, or change one.")
        case "last_owner":
            return Conflict("This is the workspace's last owner. Make somebody else an owner first.")
        case "demo":
            return InvalidInput("A demo user is a member or a viewer.", {"field": "demo"})
        case _:
            return PermissionDenied("Only owners and admins of the workspace manage it.")


def require_admin(by: Principal) -> None:
    """Raises PermissionDenied for tokens, members and viewers. The statements weigh it again, by the rows."""
    if by.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("This needs a person: sign in. No token can do it.")
    if by.role not in {Role.OWNER, Role.ADMIN}:
        raise refusal("not_admin")


def acting(by: Principal) -> dict[str, object]:
    """Who does it, and with which session, as parameters."""
    return {"workspace_id": by.workspace_id, "by_user_id": by.user_id, "via_id": by.id}


async def workspace(db: Executor, by: Principal) -> Workspace:
    """The caller's workspace. Raises PermissionDenied."""
    require_admin(by)
    row = await WORKSPACE.row(db, workspace_id=by.workspace_id, by_user_id=by.user_id)
    if row is None:
        raise refusal("not_admin")
    return Workspace.model_validate(row)


async def change_workspace(db: Executor, by: Principal, said: dict[str, object]) -> Workspace:
    """Changes what `said` holds, by the names of Workspace; what is missing stays. The caller knows which models there are.

    Raises PermissionDenied, InvalidInput for what is no time zone or too long, Conflict where the name is taken.
    """
    require_admin(by)
    values = dict.fromkeys(("name", "time_zone", "demo_chat", "instructions", "model", "number_check")) | said
    try:
        if isinstance(zone := values["time_zone"], str):
            known_zone(zone)
        row = await CHANGE_WORKSPACE.row(db, says=list(said), **values, **acting(by))
    except ValueError as error:
        raise InvalidInput(f"{error}.", {"field": "time_zone"}) from None
    except asyncpg.UniqueViolationError:
        raise Conflict(f"There is a workspace named {said.get('name')!r} already.", {"field": "name"}) from None
    if row is None:
        raise refusal("not_admin")
    return Workspace.model_validate(row)


async def create_project(db: Executor, by: Principal, project_id: UUID, name: str) -> Project:
    """Makes a project, once for its id. Raises PermissionDenied, Conflict where the workspace has one of that name."""
    require_admin(by)
    return _project(await _named(db, FOUND_PROJECT, by, name, id=project_id), refusal("not_admin"))


async def rename_project(db: Executor, by: Principal, project_id: UUID, name: str) -> Project:
    """Gives it another name. Raises PermissionDenied, NotFound, Conflict where the workspace has one of that name."""
    require_admin(by)
    return _project(await _named(db, RENAME_PROJECT, by, name, project_id=project_id), NotFound("There is no such project."))


async def _named(db: Executor, statement: Statement, by: Principal, name: str, **which: UUID) -> Row | None:
    try:
        return await statement.row(db, name=name, **which, **acting(by))
    except asyncpg.UniqueViolationError:
        raise Conflict(f"This workspace has a project named {name!r} already.", {"field": "name"}) from None


def _project(row: Row | None, otherwise: AskbusError) -> Project:
    if row is None:
        raise otherwise
    return Project.model_validate(row)


async def members(db: Executor, by: Principal, wanted: TeamFilter) -> TeamPage:
    """A page of the workspace's members. Raises PermissionDenied."""
    require_admin(by)
    rows: Sequence[Row] = await LIST_MEMBERS.rows(db, workspace_id=by.workspace_id, by_user_id=by.user_id, **wanted.model_dump())
    found = tuple(TeamMember.model_validate(row) for row in rows)
    return TeamPage(members=found, next=found[-1].id if len(found) == wanted.limit else None)


async def change_member(
    db: Executor, by: Principal, user_id: UUID, *, role: Role | None, demo: bool | None, trace: str | None = None
) -> None:
    """Gives a member another role or demo flag; None leaves it.

    Raises PermissionDenied, NotFound, Conflict for the last owner, InvalidInput for a demo owner.
    """
    require_admin(by)
    row = await CHANGE_MEMBER.row(db, user_id=user_id, role=role, demo=demo, trace=trace, **acting(by))
    _weighed(row)


async def dismiss_member(db: Executor, by: Principal, user_id: UUID) -> None:
    """Removes a member with their sessions and tokens; anybody may leave by themselves. Raises as change_member."""
    if by.user_id != user_id or by.kind is not PrincipalKind.SESSION:
        require_admin(by)
    _weighed(await DISMISS_MEMBER.row(db, user_id=user_id, **acting(by)))


def _weighed(row: Row | None) -> None:
    if row is None:
        raise NotFound("There is no such member.")
    if row["refusal"] is not None:
        raise refusal(row["refusal"])


async def add_project_member(db: Executor, by: Principal, project_id: UUID, user_id: UUID, *, trace: str | None = None) -> None:
    """Lets a member or viewer see a project. Raises PermissionDenied, NotFound."""
    require_admin(by)
    try:
        row = await ADD_PROJECT_MEMBER.one(db, project_id=project_id, user_id=user_id, trace=trace, **acting(by))
    except asyncpg.ForeignKeyViolationError:  # they were removed in this moment
        row = {"allowed": True, "found": False}
    _there(row, "There is no such project, or no such member.")


async def remove_project_member(db: Executor, by: Principal, project_id: UUID, user_id: UUID) -> None:
    """Takes a project away from a member or viewer, if they were added to it. Raises PermissionDenied, NotFound."""
    require_admin(by)
    row = await REMOVE_PROJECT_MEMBER.one(db, project_id=project_id, user_id=user_id, **acting(by))
    _there(row, "There is no such project.")


def _there(row: Row, otherwise: str) -> None:
    if not row["allowed"]:
        raise refusal("not_admin")
    if not row["found"]:
        raise NotFound(otherwise)
