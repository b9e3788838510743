"""Invitations by link: who may join a workspace, as what, and who may say so. What a link does for who opens it: joining.py."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

import asyncpg
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from askbus.access.addresses import UNSEEN
from askbus.access.credentials import digest, new_secret
from askbus.access.managing import acting, refusal, require_admin
from askbus.access.model import Principal, Role
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import AskbusError, Conflict, InvalidInput, NotFound

INVITE = Statement("askbus.access", "sql/invite.sql")
RENEW = Statement("askbus.access", "sql/renew_invitation.sql")
REVOKE = Statement("askbus.access", "sql/revoke_invitation.sql")
LIST = Statement("askbus.access", "sql/list_invitations.sql")
EXPIRE = Statement("askbus.access", "sql/expire_invitations.sql")

LIFE = 7 * 24 * 3600
"""Seconds for which a link works, unless its sender says otherwise."""
SHORTEST, LONGEST = 60, 30 * 24 * 3600
"""Seconds."""

Email = Annotated[str, StringConstraints(strip_whitespace=True, pattern=rf"^[^\s@{UNSEEN}]+@[^\s@{UNSEEN}]+$", max_length=320)]
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


async def expire_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Marks up to `batch` invitations past their time; any number of callers, each invitation once. Expiry's verb."""
    return [row["id"] for row in await EXPIRE.rows(db, batch=batch, now=now)]
