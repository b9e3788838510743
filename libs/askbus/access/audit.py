"""The audit log, for owners and admins: who did what to which id, and when (I10). Ids are stored and never texts; names are looked up when
it is read, and only of what every admin of the workspace may see."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from askbus.access.managing import refusal, require_admin
from askbus.access.model import Principal, Role
from askbus.access.zones import Moment
from askbus.db.statements import Executor, Statement

PAGE = Statement("askbus.access", "sql/audit.sql")
EXPORT = Statement("askbus.access", "sql/export_audit.sql")
RIGHTS = Statement("askbus.access", "sql/role_of.sql")

BATCH = 1000
"""Entries of an export that are in memory at once."""

Word = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class AuditWanted(BaseModel):
    """Which entries: of a person, an event (`question.answered`), a kind of entity (`question`), one entity, a project, a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_id: UUID | None = None
    event: Word | None = None
    entity: Word | None = None
    entity_id: UUID | None = None
    project_id: UUID | None = None
    since: Moment | None = None
    until: Moment | None = None


class AuditFilter(AuditWanted):
    """And which page of them, newest first."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None


class AuditEntry(BaseModel):
    """One thing that happened. `user_id` is who did it (nobody, where time or a service did), `via` what with: a session, a token, the
    operator's command line, a standing approval, a service. Names are of now; what was deleted has none."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    at: datetime
    event: str
    entity: str
    entity_id: UUID
    entity_name: str | None
    part_id: UUID | None
    project_id: UUID | None
    project_name: str | None
    user_id: UUID | None
    user_name: str | None
    via: str
    via_id: UUID | None
    token_name: str | None


class AuditPage(BaseModel):
    """A page, newest first; `next` is the `before` of the following page."""

    entries: tuple[AuditEntry, ...]
    next: UUID | None


async def page(db: Executor, by: Principal, wanted: AuditFilter) -> AuditPage:
    """A page of the workspace's log. Raises PermissionDenied."""
    require_admin(by)
    rows = await PAGE.rows(db, workspace_id=by.workspace_id, by_user_id=by.user_id, **wanted.model_dump())
    entries = tuple(AuditEntry.model_validate(row) for row in rows)
    return AuditPage(entries=entries, next=entries[-1].id if len(entries) == wanted.limit else None)


async def export(db: Executor, by: Principal, wanted: AuditWanted, *, batch: int = BATCH) -> AsyncIterator[list[AuditEntry]]:
    """All of it that is wanted, oldest first, batch by batch; what is written meanwhile follows where it belongs.

    `db` is a pool: nothing is held between two batches. Raises PermissionDenied, also in the middle, once the reader is no admin any more.
    """
    require_admin(by)
    last: AuditEntry | None = None
    while True:
        rows = await EXPORT.rows(
            db,
            workspace_id=by.workspace_id,
            by_user_id=by.user_id,
            after_at=None if last is None else last.at,
            after_id=None if last is None else last.id,
            limit=batch,
            **wanted.model_dump(),
        )
        entries = [AuditEntry.model_validate(row) for row in rows]
        if len(entries) < batch:
            # The last batch, or the reader's end: the query shows nothing to who is no admin, so that is asked before it is believed.
            right = await RIGHTS.row(db, workspace_id=by.workspace_id, user_id=by.user_id)
            if right is None or Role(right["role"]) not in {Role.OWNER, Role.ADMIN}:
                raise refusal("not_admin")
        if entries:
            yield entries
        if len(entries) < batch:
            return
        last = entries[-1]
