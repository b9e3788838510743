"""Who is acting, read from the database at each call: memberships, roles and revocations count from the moment they change."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.credentials import digest
from askbus.access.model import TOKEN_SCOPES, Principal, PrincipalKind, Role, Scope, scopes_of
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import NotFound, Unauthenticated

BY_SESSION = Statement("askbus.access", "sql/principal_by_session.sql")
BY_TOKEN = Statement("askbus.access", "sql/principal_by_token.sql")
BY_TOKEN_ID = Statement("askbus.access", "sql/principal_by_token_id.sql")
BY_MEMBERSHIP = Statement("askbus.access", "sql/principal_by_membership.sql")
STILL_STANDING = Statement("askbus.access", "sql/still_standing.sql")
PERSON_IN_PROJECT = Statement("askbus.access", "sql/person_in_project.sql")
PROJECTS_OF = Statement("askbus.access", "sql/projects_of.sql")
WORKSPACES_OF = Statement("askbus.access", "sql/workspaces_of.sql")
ME = Statement("askbus.access", "sql/me.sql")
MEMBERS_OF_PROJECT = Statement("askbus.access", "sql/members_of_project.sql")
LIST_TOKENS = Statement("askbus.access", "sql/list_tokens.sql")


class Project(BaseModel):
    """A project as one user sees it."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    may_write: bool


class Workspace(BaseModel):
    """A workspace that somebody is a member of."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    role: Role
    demo: bool


class Member(BaseModel):
    """Somebody who sees a project."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    role: Role
    may_write: bool


class Me(BaseModel):
    """Who the caller is, where, and what they may do. `locale` and `time_zone` are what they said of themselves, if anything."""

    model_config = ConfigDict(frozen=True)
    principal: Principal
    email: str
    name: str
    locale: str | None
    time_zone: str | None
    workspace: str
    projects: tuple[Project, ...]


class Token(BaseModel):
    """An API token as its owner sees it; the secret itself is shown once, when it is made."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    projects: tuple[UUID, ...] | None
    state: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    mcp_hold: int | None
    """Seconds for which a call over MCP may wait for people, where its owner said so."""


def session_principal(row: Row) -> Principal:
    """A session's row, with membership and workspace, as the principal that it stands for."""
    role = Role(row["role"])
    return Principal(
        kind=PrincipalKind.SESSION,
        id=row["id"],
        user_id=row["user_id"],
        workspace_id=row["workspace_id"],
        role=role,
        demo=row["demo"],
        scopes=scopes_of(role, demo=row["demo"], demo_chat=row["demo_chat"]),
    )


def token_principal(row: Row) -> Principal:
    """A token's row, with membership and workspace, as the principal that it stands for."""
    role = Role(row["role"])
    granted = frozenset(Scope(scope) for scope in row["scopes"])
    allowed = scopes_of(role, demo=row["demo"], demo_chat=row["demo_chat"]) & TOKEN_SCOPES
    return Principal(
        kind=PrincipalKind.TOKEN,
        id=row["id"],
        user_id=row["user_id"],
        workspace_id=row["workspace_id"],
        role=role,
        demo=row["demo"],
        scopes=granted & allowed,
        projects=None if row["projects"] is None else tuple(row["projects"]),
    )


async def principal_of_session(db: Executor, cookie: str) -> Principal | None:
    """The principal behind a session cookie, or None where the session is unknown, ended or expired."""
    row = await BY_SESSION.row(db, hash=digest(cookie))
    return None if row is None else session_principal(row)


async def principal_of_token(db: Executor, token: str) -> Principal | None:
    """The principal behind an API token, or None where it is unknown, revoked or expired."""
    row = await BY_TOKEN.row(db, hash=digest(token))
    return None if row is None else token_principal(row)


async def agent_of_token(db: Executor, token: str) -> tuple[Principal, bool] | None:
    """The same, and whether its workspace lets agents in over MCP."""
    row = await BY_TOKEN.row(db, hash=digest(token))
    return None if row is None else (token_principal(row), row["mcp"])


async def principal_of_token_id(db: Executor, token_id: UUID) -> Principal | None:
    """The principal behind an API token's row: what a bus subject names. None where it is revoked or expired."""
    row = await BY_TOKEN_ID.row(db, id=token_id)
    return None if row is None else token_principal(row)


async def agent(db: Executor, token_id: UUID, scope: Scope) -> Principal:
    """The principal of the agent that a bus subject names, checked at each call.

    Raises Unauthenticated where its token was revoked or has expired, PermissionDenied where it lacks the scope.
    """
    found = await principal_of_token_id(db, token_id)
    if found is None:
        raise Unauthenticated("This token was revoked or has expired.")
    found.require(scope)
    return found


@dataclass(frozen=True)
class Standing:
    """A principal with its rights of this moment, for how many seconds its session or token still counts (None: for ever), and the
    time zone that its user or workspace chose and the language that its user did, if any."""

    principal: Principal
    seconds_left: float | None
    time_zone: str | None = None
    locale: str | None = None


async def refreshed(db: Executor, principal: Principal) -> Principal | None:
    """The same principal with the rights that it has now, or None where it ended since."""
    found = await standing(db, principal)
    return None if found is None else found.principal


async def standing(db: Executor, principal: Principal) -> Standing | None:
    """The same, with how long it lasts."""
    row = await BY_MEMBERSHIP.row(db, id=principal.id, user_id=principal.user_id, workspace_id=principal.workspace_id)
    if row is None:
        return None
    found = {**row, "id": principal.id}
    now = session_principal(found) if principal.kind is PrincipalKind.SESSION else token_principal(found)
    return Standing(now, row["seconds_left"], row["time_zone"], row["locale"])


async def still_standing(db: Executor, principals: Iterable[Principal]) -> frozenset[UUID]:
    """Of many principals the ids of those whose session or token did not end since."""
    by_id = {by.id: by for by in principals}
    rows = await STILL_STANDING.rows(
        db,
        ids=list(by_id),
        user_ids=[by.user_id for by in by_id.values()],
        workspace_ids=[by.workspace_id for by in by_id.values()],
    )
    return frozenset(row["id"] for row in rows)


async def person_in_project(db: Executor, user_id: UUID, workspace_id: UUID, project_id: UUID) -> Principal:
    """Who decided something earlier, with the rights that they have in this project now: a viewer's where they may not write.

    The session in which they decided may have ended since, so `id` is the user's.
    """
    row = await PERSON_IN_PROJECT.row(db, user_id=user_id, workspace_id=workspace_id, project_id=project_id)
    role = Role(row["role"]) if row is not None and row["may_write"] else Role.VIEWER
    return Principal(
        kind=PrincipalKind.SESSION,
        id=user_id,
        user_id=user_id,
        workspace_id=workspace_id,
        role=role,
        scopes=scopes_of(role, demo=False, demo_chat=False),
    )


async def projects_of(db: Executor, principal: Principal) -> tuple[Project, ...]:
    """The projects that the principal sees now."""
    rows = await PROJECTS_OF.rows(
        db,
        user_id=principal.user_id,
        workspace_id=principal.workspace_id,
        projects=None if principal.projects is None else list(principal.projects),
    )
    return tuple(Project.model_validate(row) for row in rows)


async def workspaces_of(db: Executor, user_id: UUID) -> tuple[Workspace, ...]:
    """Where somebody is a member, by name."""
    return tuple(Workspace.model_validate(row) for row in await WORKSPACES_OF.rows(db, user_id=user_id))


async def members_of(db: Executor, principal: Principal, project_id: UUID) -> tuple[Member, ...]:
    """The people who see a project, for somebody who sees it too. Raises NotFound for others."""
    if project_id not in {project.id for project in await projects_of(db, principal)}:
        raise NotFound("There is no such project.")
    rows = await MEMBERS_OF_PROJECT.rows(db, project_id=project_id, workspace_id=principal.workspace_id)
    return tuple(Member.model_validate(row) for row in rows)


async def me(db: Executor, principal: Principal) -> Me:
    """The principal with names and projects."""
    row = await ME.one(db, user_id=principal.user_id, workspace_id=principal.workspace_id)
    projects = await projects_of(db, principal)
    return Me(principal=principal, projects=projects, **row)


async def tokens_of(db: Executor, principal: Principal) -> tuple[Token, ...]:
    """The principal's user's own tokens, newest first."""
    rows = await LIST_TOKENS.rows(db, user_id=principal.user_id, workspace_id=principal.workspace_id)
    return tuple(Token.model_validate(row) for row in rows)
