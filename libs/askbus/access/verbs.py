"""Workspaces, people, sessions and tokens: what the gateway, and the operator's command line, may change about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

import asyncpg

from askbus.access.credentials import digest, new_secret, new_token, shown
from askbus.access.model import TOKEN_SCOPES, Principal, PrincipalKind, Role, Scope
from askbus.access.reads import Token
from askbus.access.zones import known_zone
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied, Unauthenticated

CREATE_WORKSPACE = Statement("askbus.access", "sql/create_workspace.sql")
SET_TIME_ZONE = Statement("askbus.access", "sql/set_time_zone.sql")
SET_USER_TIME_ZONE = Statement("askbus.access", "sql/set_user_time_zone.sql")
CREATE_PROJECT = Statement("askbus.access", "sql/create_project.sql")
CREATE_USER = Statement("askbus.access", "sql/create_user.sql")
SET_MEMBER = Statement("askbus.access", "sql/set_member.sql")
REMOVE_MEMBER = Statement("askbus.access", "sql/remove_member.sql")
ADD_TO_PROJECT = Statement("askbus.access", "sql/add_to_project.sql")
REMOVE_FROM_PROJECT = Statement("askbus.access", "sql/remove_from_project.sql")
CREATE_LOGIN_LINK = Statement("askbus.access", "sql/create_login_link.sql")
SIGN_IN = Statement("askbus.access", "sql/sign_in.sql")
END_SESSION = Statement("askbus.access", "sql/end_session.sql")
CREATE_TOKEN = Statement("askbus.access", "sql/create_token.sql")
REVOKE_TOKEN = Statement("askbus.access", "sql/revoke_token.sql")
EXPIRE_SESSIONS = Statement("askbus.access", "sql/expire_sessions.sql")
EXPIRE_TOKENS = Statement("askbus.access", "sql/expire_tokens.sql")
DROP_LOGIN_CODES = Statement("askbus.access", "sql/drop_login_codes.sql")

SESSION_LIFE = 30 * 24 * 3600
"""Seconds after which a browser signs in again."""


@dataclass(frozen=True)
class NewSession:
    """A session that was just opened. `cookie` is shown to the browser once."""

    id: UUID
    cookie: str
    workspace_id: UUID
    user_id: UUID
    expires_at: datetime


async def create_workspace(db: Executor, name: str) -> UUID:
    """Makes a workspace. Raises Conflict where the name is taken."""
    workspace_id = new_id()
    try:
        await CREATE_WORKSPACE.run(db, id=workspace_id, name=name)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"There is a workspace named {name!r} already.") from None
    return workspace_id


def _zone(name: str | None) -> str | None:
    try:
        return name and known_zone(name)
    except ValueError as error:
        raise InvalidInput(f"{error}.") from None


async def set_time_zone(db: Executor, workspace_id: UUID, time_zone: str | None) -> None:
    """Where the workspace's people are, unless they say otherwise. Raises InvalidInput for what is no time zone."""
    await SET_TIME_ZONE.run(db, id=workspace_id, time_zone=_zone(time_zone))


async def set_user_time_zone(db: Executor, user_id: UUID, time_zone: str | None) -> None:
    """Where somebody is. Raises InvalidInput for what is no time zone."""
    await SET_USER_TIME_ZONE.run(db, id=user_id, time_zone=_zone(time_zone))


async def create_project(db: Executor, workspace_id: UUID, name: str) -> UUID:
    """Makes a project. Raises Conflict where the workspace has one of that name."""
    project_id = new_id()
    try:
        await CREATE_PROJECT.run(db, id=project_id, workspace_id=workspace_id, name=name)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"This workspace has a project named {name!r} already.") from None
    return project_id


async def create_user(db: Executor, email: str, name: str) -> UUID:
    """Makes a user, or returns the one who has this e-mail address already. Raises InvalidInput for what is no address."""
    try:
        row = await CREATE_USER.one(db, id=new_id(), email=email, name=name)
    except asyncpg.CheckViolationError:
        raise InvalidInput(f"{email!r} is not an e-mail address, or the name is empty.") from None
    user_id: UUID = row["id"]
    return user_id


async def set_member(
    db: Executor, workspace_id: UUID, user_id: UUID, role: Role, *, demo: bool = False, trace: str | None = None
) -> None:
    """Makes a user a member, or changes their role. Raises Conflict for the last owner, InvalidInput for a demo owner."""
    if demo and role in {Role.OWNER, Role.ADMIN}:
        raise InvalidInput("A demo user is a member or a viewer.")
    row = await SET_MEMBER.row(db, workspace_id=workspace_id, user_id=user_id, role=role.value, demo=demo, trace=trace)
    if row is None:
        raise Conflict("This is the workspace's last owner. Make somebody else an owner first.")


async def remove_member(db: Executor, workspace_id: UUID, user_id: UUID) -> None:
    """Removes a user with their sessions and tokens there. Raises Conflict for the last owner and for who is no member."""
    if not await REMOVE_MEMBER.rows(db, workspace_id=workspace_id, user_id=user_id):
        raise Conflict("They are not a member, or they are the workspace's last owner.")


async def add_to_project(db: Executor, workspace_id: UUID, project_id: UUID, user_id: UUID, *, trace: str | None = None) -> None:
    """Lets a member or viewer see a project. Raises InvalidInput where the user is no member of the workspace."""
    try:
        await ADD_TO_PROJECT.run(db, workspace_id=workspace_id, project_id=project_id, user_id=user_id, trace=trace)
    except asyncpg.ForeignKeyViolationError:
        raise InvalidInput("The user is not a member of this workspace, or the project is not in it.") from None


async def remove_from_project(db: Executor, workspace_id: UUID, project_id: UUID, user_id: UUID) -> None:
    """Takes a project away from a member or viewer."""
    await REMOVE_FROM_PROJECT.run(db, workspace_id=workspace_id, project_id=project_id, user_id=user_id)


async def create_login_code(
    db: Executor,
    workspace_id: UUID,
    user_id: UUID,
    *,
    purpose: Literal["sign-in", "password"] = "sign-in",
    now: datetime | None = None,
) -> str:
    """A code that signs this user in once within 15 minutes, or sets their password. It is for their eyes: never log it."""
    code = new_secret()
    given = {"id": new_id(), "workspace_id": workspace_id, "user_id": user_id, "purpose": purpose}
    try:
        await CREATE_LOGIN_LINK.run(db, **given, hash=digest(code), now=now)
    except asyncpg.ForeignKeyViolationError:
        raise NotFound("There is no such member of this workspace.") from None
    return code


async def sign_in(db: Executor, code: str, *, trace: str | None = None, now: datetime | None = None) -> NewSession:
    """Uses up a sign-in code. Raises Unauthenticated where it is unknown, used or older than 15 minutes."""
    cookie = new_secret()
    row = await SIGN_IN.row(
        db,
        code_hash=digest(code),
        session_id=new_id(),
        session_hash=digest(cookie),
        life=SESSION_LIFE,
        trace=trace,
        now=now,
    )
    if row is None:
        raise Unauthenticated("This sign-in link was used already or is too old. Ask for a new one: askbus admin login-link.")
    return NewSession(cookie=cookie, **row)


async def end_session(db: Executor, by: Principal, *, trace: str | None = None) -> None:
    """Signs out; the session's streams close."""
    await END_SESSION.run(db, id=by.id, trace=trace)


async def create_token(
    db: Executor,
    by: Principal,
    *,
    name: str,
    scopes: Sequence[Scope] = (Scope.DATA_READ,),
    projects: Sequence[UUID] | None = None,
    expires_at: datetime | None = None,
    mcp_hold: int | None = None,
    trace: str | None = None,
) -> tuple[str, Token]:
    """Makes an API token for the principal's own user; returns it (for this once) and its row. `mcp_hold`: seconds for which its calls over
    MCP may wait for people.

    Raises PermissionDenied for tokens that would make tokens and for scopes beyond the owner's role, InvalidInput for a scope
    that no token may hold, for projects that the owner does not see and for an expiry that is past.
    """
    if by.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("Tokens are made by people: sign in first.")
    if by.demo:
        raise PermissionDenied("This is a demo account: it can look at everything and change nothing.")
    if Scope.ACTIONS_CONFIRM in scopes:
        raise InvalidInput("No token may hold actions:confirm: confirming needs a person present.", {"scope": "actions:confirm"})
    for scope in scopes:
        by.require(scope)
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise InvalidInput("A token cannot expire in the past.", {"field": "expires_at"})
    return await _store_token(
        db,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        name=name,
        scopes=scopes,
        projects=projects,
        expires_at=expires_at,
        mcp_hold=mcp_hold,
        via=by.kind.value,
        via_id=by.id,
        trace=trace,
    )


async def issue_token(
    db: Executor, workspace_id: UUID, user_id: UUID, *, name: str, scopes: Sequence[Scope], projects: Sequence[UUID] | None = None
) -> tuple[str, Token]:
    """The same for the operator's command line, in a member's name."""
    if unfit := set(scopes) - TOKEN_SCOPES:
        raise InvalidInput(f"No token may hold {min(unfit)}.")
    return await _store_token(
        db,
        user_id=user_id,
        workspace_id=workspace_id,
        name=name,
        scopes=scopes,
        projects=projects,
        expires_at=None,
        via="command-line",
        via_id=None,
        trace=None,
    )


async def _store_token(
    db: Executor,
    *,
    user_id: UUID,
    workspace_id: UUID,
    name: str,
    scopes: Sequence[Scope],
    projects: Sequence[UUID] | None,
    expires_at: datetime | None,
    via: str,
    via_id: UUID | None,
    trace: str | None,
    mcp_hold: int | None = None,
) -> tuple[str, Token]:
    token_id = new_id()
    token = new_token(token_id)
    row = await CREATE_TOKEN.row(
        db,
        id=token_id,
        workspace_id=workspace_id,
        user_id=user_id,
        name=name,
        prefix=shown(token),
        hash=digest(token),
        scopes=sorted({scope.value for scope in scopes}),
        projects=None if projects is None else list(projects),
        expires_at=expires_at,
        mcp_hold=mcp_hold,
        via=via,
        via_id=via_id,
        trace=trace,
    )
    if row is None:
        raise InvalidInput("The user is not a member, or does not see one of the projects.", {"field": "projects"})
    return token, Token.model_validate(row)


async def revoke_token(db: Executor, by: Principal, token_id: UUID, *, trace: str | None = None) -> None:
    """Revokes an API token: one's own; an owner's or admin's session also that of somebody whom they manage. Raises NotFound for others."""
    if by.kind is not PrincipalKind.SESSION and by.id != token_id:
        raise PermissionDenied("A token can revoke itself alone: sign in to revoke others.")
    row = await REVOKE_TOKEN.row(
        db,
        id=token_id,
        workspace_id=by.workspace_id,
        user_id=by.user_id,
        via=by.kind.value,
        via_id=by.id,
        trace=trace,
    )
    if row is None:
        raise NotFound("There is no such token of yours, or of anybody whom you manage.")


async def expire_sessions(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Marks up to `batch` sessions past their time; any number of callers, each session once. Expiry's verb."""
    return [row["id"] for row in await EXPIRE_SESSIONS.rows(db, batch=batch, now=now)]


async def expire_tokens(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """The same for API tokens."""
    return [row["id"] for row in await EXPIRE_TOKENS.rows(db, batch=batch, now=now)]


async def drop_login_codes(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` sign-in codes past their time."""
    return [row["id"] for row in await DROP_LOGIN_CODES.rows(db, batch=batch, now=now)]
