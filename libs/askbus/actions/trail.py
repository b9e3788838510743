"""The audit trail of changes to records: who did what and when, and the records before and after (R18)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Json, StringConstraints, model_validator

from askbus.access.model import Principal
from askbus.actions.card import Result, result_of
from askbus.actions.decisions import StoredDecision
from askbus.actions.reads import access_of, see
from askbus.db.statements import Executor, Row, Statement
from askbus.records.changes import Key, Outcome

TRAIL = Statement("askbus.actions", "sql/trail.sql")
TOUCHING = Statement("askbus.actions", "sql/touching.sql")


class TrailFilter(BaseModel):
    """Which entries. `collection` with `key` (a JSON object, column to value) keeps what was about one record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    action_id: UUID | None = None
    collection: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    key: Json[dict[str, str | int]] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None

    @model_validator(mode="after")
    def _of_one_record(self) -> Self:
        if (self.collection is None) != (not self.key):
            raise ValueError("a record is named by its collection and its key")
        return self

    @property
    def spelled_key(self) -> Key:
        """The key as Postgres spells it."""
        return {name: str(value) for name, value in (self.key or {}).items()}


class TrailEntry(BaseModel):
    """One thing that happened to an action. `by` is who made it happen, `with_token` the token that it was done with.

    `outcome` holds the records before and after, where something was written or could not be.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    at: datetime
    event: str
    action_id: UUID
    undo_id: UUID | None
    project_id: UUID
    thread_id: UUID | None
    turn_id: UUID | None
    headline: str
    user_id: UUID | None
    by_name: str | None
    via: str
    with_token: str | None
    approval_id: UUID | None
    """The standing approval that it was done by, in the place of a press; `by` made that."""
    reason: str | None
    decisions: tuple[StoredDecision, ...] | None
    """What was decided on each operation, where they were decided one by one."""
    outcome: Result | None


class TrailPage(BaseModel):
    """A page, newest first; `next` is the `before` of the following page."""

    entries: tuple[TrailEntry, ...]
    next: UUID | None


async def page(db: Executor, by: Principal, wanted: TrailFilter) -> TrailPage:
    """A page of what this principal may see. Of one record: entries of all actions about it, and of what they wrote that record alone."""
    see(by)
    actions = None if wanted.action_id is None else {wanted.action_id}
    if wanted.collection is not None:
        touching = await _touching(db, by, wanted.collection, wanted.spelled_key)
        actions = touching if actions is None else actions & touching
    rows = await TRAIL.rows(
        db, actions=None if actions is None else list(actions), before=wanted.before, limit=wanted.limit, **access_of(by)
    )
    entries = tuple(_entry(row, wanted) for row in rows)
    return TrailPage(entries=entries, next=entries[-1].id if len(entries) == wanted.limit else None)


async def _touching(db: Executor, by: Principal, collection: str, key: Key) -> set[UUID]:
    rows = await TOUCHING.rows(
        db,
        workspace_id=by.workspace_id,
        record=[{"collection": collection, "key": key}],
        was=[{"collection": collection, "key_before": key}],
    )
    return {row["id"] for row in rows}


def _entry(row: Row, wanted: TrailFilter) -> TrailEntry:
    outcome = None if row["outcome"] is None else result_of(_about(Outcome.model_validate(row["outcome"]), wanted))
    values: Mapping[str, object] = {**row, "outcome": outcome}
    return TrailEntry.model_validate(values)


def _about(outcome: Outcome, wanted: TrailFilter) -> Outcome:
    if wanted.collection is None:
        return outcome
    key = wanted.spelled_key
    images = tuple(
        image for image in outcome.images if image.collection == wanted.collection and key in (image.key, image.key_before)
    )
    return outcome.model_copy(update={"images": images})
