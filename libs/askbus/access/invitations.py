"""Invitations by link: who may join a workspace, as what, and what it takes to be let in by one.

A link says nothing about who opens it: the address in it is where an admin meant to send it, and nobody proved that it got there. So a
link alone makes somebody new, or lets somebody back in who is a member nowhere. It never speaks for a member, of this workspace (they stay
what they are, and sign in as they always do) or of another: they open it signed in as themselves, or after a sign-in that proved the
address.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import asyncpg
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from askbus.access import verbs
from askbus.access.credentials import digest, new_secret
from askbus.access.managing import acting, refusal, require_admin
from askbus.access.model import Principal, Role
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import AskbusError, Conflict, InvalidInput, NotFound, PermissionDenied, Unauthenticated

INVITE = Statement("askbus.access", "sql/invite.sql")
RENEW = Statement("askbus.access", "sql/renew_invitation.sql")
REVOKE = Statement("askbus.access", "sql/revoke_invitation.sql")
LIST = Statement("askbus.access", "sql/list_invitations.sql")
LOOK_AT = Statement("askbus.access", "sql/look_at_invitation.sql")
CLAIM = Statement("askbus.access", "sql/claim_invitation.sql")
JOIN = Statement("askbus.access", "sql/join_workspace.sql")
OPEN_SESSION = Statement("askbus.access", "sql/open_joined_session.sql")
EXPIRE = Statement("askbus.access", "sql/expire_invitations.sql")

LIFE = 7 * 24 * 3600
"""Seconds for which a link works, unless its sender says otherwise."""
SHORTEST, LONGEST = 60, 30 * 24 * 3600
"""Seconds."""

Email = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^\s@]+@[^\s@]+$", max_length=320)]
Seconds = Annotated[int, Field(ge=SHORTEST, le=LONGEST)]


class InvitationState(StrEnum):
    PENDING = "pending"
    ACCEPTED = "accepted"
    REVOKED = "revoked"
    EXPIRED = "expired"


class InvitationForm(BaseModel):
    """Whom to invite, as what, and for how many seconds the link works. `projects` are what a member or viewer sees from the beginning."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    email: Email
    role: Role = Role.MEMBER
    demo: bool = False
    projects: Annotated[tuple[UUID, ...], Field(max_length=100)] = ()
    expires_in: Seconds = LIFE


class Invitation(BaseModel):
    """An invitation as those who manage see it. `stands`: it can be used now; not so where its sender may not invite for this role any
    more, until somebody who may sends it again. `user_id` is who came."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    email: str
    role: Role
    demo: bool
    projects: tuple[UUID, ...]
    state: InvitationState
    stands: bool
    invited_by: UUID
    invited_by_name: str
    invited_at: datetime
    expires_at: datetime
    settled_at: datetime | None
    user_id: UUID | None


class InvitationFilter(BaseModel):
    """Which page, newest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    state: InvitationState | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None


class InvitationPage(BaseModel):
    """A page; `next` is the `before` of the following page."""

    invitations: tuple[Invitation, ...]
    next: UUID | None


class Shown(BaseModel):
    """What a link is for. `known`: its address is somebody's already, whose name stays; `must_sign_in`: they are a member somewhere."""

    model_config = ConfigDict(frozen=True)
    workspace: str
    email: str
    role: Role
    demo: bool
    invited_by: str
    expires_at: datetime
    known: bool
    must_sign_in: bool


@dataclass(frozen=True)
class Claimed:
    """A pending invitation whose row the caller's transaction holds."""

    id: UUID
    workspace_id: UUID
    email: str
    role: Role
    demo: bool
    projects: tuple[UUID, ...]


def _refused(word: str) -> AskbusError:
    match word:
        case "member":
            return Conflict("Somebody with this address is a member already. Change their role instead.", {"field": "email"})
        case "pending":
            return Conflict("This address is invited already. Send that invitation again, or revoke it.", {"field": "email"})
        case "project":
            return InvalidInput("The workspace has no such project.", {"field": "projects"})
        case "accepted" | "revoked" | "expired":
            return Conflict(f"This invitation was {word} already.", {"state": word})
        case _:
            return refusal(word)


def _unusable() -> Unauthenticated:
    return Unauthenticated("This invitation was used or revoked already, or is too old. Ask whoever sent it for a new one.")


async def invite(
    db: Executor, by: Principal, invitation_id: UUID, form: InvitationForm, *, trace: str | None = None
) -> tuple[Invitation, str]:
    """Invites an address; returns the invitation, and its code for this once.

    Raises PermissionDenied, InvalidInput, Conflict where the address is a member's or is invited already.
    """
    require_admin(by)
    code = new_secret()
    said = form.model_dump(exclude={"projects"})
    try:
        row = await INVITE.row(
            db, id=invitation_id, hash=digest(code), projects=sorted(set(form.projects)), trace=trace, **said, **acting(by)
        )
    except asyncpg.UniqueViolationError:
        raise Conflict("There is an invitation with this id already.") from None
    if row is None:
        raise refusal("not_admin")
    if row["refusal"] is not None:
        raise _refused(row["refusal"])
    return await get(db, by, row["id"]), code


async def renew(
    db: Executor, by: Principal, invitation_id: UUID, expires_in: int, *, trace: str | None = None
) -> tuple[Invitation, str]:
    """Sends one again: another code for `expires_in` seconds, the old one ends. Raises as `invite`, and NotFound."""
    require_admin(by)
    code = new_secret()
    try:
        row = await RENEW.row(db, id=invitation_id, hash=digest(code), expires_in=expires_in, trace=trace, **acting(by))
    except asyncpg.UniqueViolationError:
        raise _refused("pending") from None
    _moved(row)
    return await get(db, by, invitation_id), code


async def revoke(db: Executor, by: Principal, invitation_id: UUID, *, trace: str | None = None) -> None:
    """Takes one back. Raises PermissionDenied, NotFound, Conflict where it was accepted or expired."""
    require_admin(by)
    _moved(await REVOKE.row(db, id=invitation_id, trace=trace, **acting(by)))


def _moved(row: Row | None) -> None:
    if row is None:
        raise NotFound("There is no such invitation.")
    if row["refusal"] is not None:
        raise _refused(row["refusal"])


async def page(db: Executor, by: Principal, wanted: InvitationFilter) -> InvitationPage:
    """A page of the workspace's. Raises PermissionDenied."""
    require_admin(by)
    rows = await _list(db, by, id=None, **wanted.model_dump())
    found = tuple(Invitation.model_validate(row) for row in rows)
    return InvitationPage(invitations=found, next=found[-1].id if len(found) == wanted.limit else None)


async def get(db: Executor, by: Principal, invitation_id: UUID) -> Invitation:
    """One as it stands. Raises NotFound."""
    rows = await _list(db, by, id=invitation_id, state=None, limit=1, before=None)
    if not rows:
        raise NotFound("There is no such invitation.")
    return Invitation.model_validate(rows[0])


async def _list(db: Executor, by: Principal, **wanted: Any) -> list[Row]:
    return list(await LIST.rows(db, workspace_id=by.workspace_id, by_user_id=by.user_id, **wanted))


async def look_at(db: Executor, code: str, *, now: datetime | None = None) -> Shown:
    """What a code is for. Raises Unauthenticated where it cannot be used."""
    row = await LOOK_AT.row(db, hash=digest(code), now=now)
    if row is None:
        raise _unusable()
    return Shown.model_validate(row)


async def accept(
    db: Executor, code: str, *, name: str | None, signed_in: UUID | None, trace: str | None = None, now: datetime | None = None
) -> verbs.NewSession:
    """Lets whoever has the code in, once, and opens a session. In a transaction of the caller's, which it takes back by raising.

    `name` is what somebody new is called; `signed_in` is the user whose session came along. Raises Unauthenticated where the code cannot
    be used, InvalidInput for a missing name, Conflict for members, PermissionDenied for others who must sign in first.
    """
    claimed = await _claim(db, hash=digest(code), email=None, workspace_id=None, now=now)
    if claimed is None:
        raise _unusable()
    user_id = await verbs.create_user(db, claimed.email, name or _nameless(await look_at(db, code, now=now)))
    session_id = new_id()
    await _join(db, claimed, user_id, proven=signed_in == user_id, session_id=session_id, trace=trace)
    cookie = new_secret()
    row = await OPEN_SESSION.one(
        db,
        id=session_id,
        workspace_id=claimed.workspace_id,
        user_id=user_id,
        hash=digest(cookie),
        life=verbs.SESSION_LIFE,
        trace=trace,
    )
    return verbs.NewSession(cookie=cookie, **row)


def _nameless(shown: Shown) -> str:
    if not shown.known:
        raise InvalidInput("Say what you are called.", {"field": "name"})
    return shown.email  # not used: who is known keeps their name


async def accept_proven(
    db: Executor, email: str, *, name: str, session_id: UUID, workspace_id: UUID | None = None, trace: str | None = None
) -> tuple[UUID, UUID] | None:
    """Lets in whoever proved just now that the address is theirs, by the newest invitation that it has (to that workspace), without its
    code; opens no session: `session_id` is the one that the caller opens. Returns workspace and user, or None where nothing is pending.

    In a transaction of the caller's. An invitation of somebody who is a member there already changes nothing and raises Conflict.
    """
    claimed = await _claim(db, hash=None, email=email, workspace_id=workspace_id, now=None)
    if claimed is None:
        return None
    user_id = await verbs.create_user(db, claimed.email, name)
    await _join(db, claimed, user_id, proven=True, session_id=session_id, trace=trace)
    return claimed.workspace_id, user_id


async def _claim(db: Executor, **which: Any) -> Claimed | None:
    row = await CLAIM.row(db, **which)
    if row is None:
        return None
    return Claimed(**{**row, "role": Role(row["role"]), "projects": tuple(row["projects"])})


async def _join(db: Executor, claimed: Claimed, user_id: UUID, *, proven: bool, session_id: UUID, trace: str | None) -> None:
    row = await JOIN.one(
        db,
        id=claimed.id,
        workspace_id=claimed.workspace_id,
        user_id=user_id,
        role=claimed.role.value,
        demo=claimed.demo,
        projects=list(claimed.projects),
        proven=proven,
        session_id=session_id,
        trace=trace,
    )
    if row["joined"]:
        return
    if row["member"] or proven:
        raise Conflict("You are a member of this workspace already. Sign in as you always do.")
    raise PermissionDenied("This address belongs to somebody who uses askbus already. Sign in as them, then open the link again.")


async def expire_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Marks up to `batch` invitations past their time; any number of callers, each invitation once. Expiry's verb."""
    return [row["id"] for row in await EXPIRE.rows(db, batch=batch, now=now)]
