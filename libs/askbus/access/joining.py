"""Joining a workspace by an invitation, and what it takes to be let in by one.

A link says nothing about who opens it: the address in it is where an admin meant to send it, and nobody proved that it got there. So a
link alone makes somebody new, or lets somebody back in who is a member nowhere. It never speaks for a member, of this workspace (they stay
what they are, and sign in as they always do) or of another: they open it signed in as themselves, or after a sign-in that proved the
address.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access import verbs
from askbus.access.credentials import digest, new_secret
from askbus.access.model import Role
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, InvalidInput, PermissionDenied, Unauthenticated

LOOK_AT = Statement("askbus.access", "sql/look_at_invitation.sql")
CLAIM = Statement("askbus.access", "sql/claim_invitation.sql")
JOIN = Statement("askbus.access", "sql/join_workspace.sql")
OPEN_SESSION = Statement("askbus.access", "sql/open_joined_session.sql")
END_UNPROVEN = Statement("askbus.access", "sql/end_unproven.sql")


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


def _unusable() -> Unauthenticated:
    return Unauthenticated("This invitation was used or revoked already, or is too old. Ask whoever sent it for a new one.")


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

    In a transaction of the caller's. Somebody else may have come by a link to that address before, in another workspace: so what sessions
    and password the user had end, or whoever has those would be let in here too. Of a member there already it changes nothing and raises
    Conflict.
    """
    claimed = await _claim(db, hash=None, email=email, workspace_id=workspace_id, now=None)
    if claimed is None:
        return None
    user_id = await verbs.create_user(db, claimed.email, name)
    await _join(db, claimed, user_id, proven=True, session_id=session_id, trace=trace)
    await END_UNPROVEN.run(db, user_id=user_id, session_id=session_id, trace=trace)
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
