"""What is exported: a thread as its user sees it, read in pages and in one snapshot."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from askbus.access.model import Principal, Scope
from askbus.db.pool import Pool
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound, TooLarge
from askbus.grounding.model import Ungrounded
from askbus.threads.model import Thread
from askbus.turns.model import ERRORS, TurnError

HEAD = Statement("askbus_gateway", "export/sql/head.sql")
EXCHANGES = Statement("askbus_gateway", "export/sql/exchanges.sql")
LEFT_BEHIND = Statement("askbus_gateway", "export/sql/left_behind.sql")

PAGE = 20
"""Turns that are read at once: other requests are served in between."""


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class File(Frozen):
    """What went with a message, or what a tool drew: by name, without its content."""

    id: UUID
    name: str
    media_type: str
    size: int


class Asked(Frozen):
    """A question of the assistant's to its user, and what came of it."""

    id: UUID
    title: str | None
    text: str
    options: tuple[str, ...]
    state: str
    answer: JsonValue
    reason: str | None
    asked_at: datetime
    settled_at: datetime | None


class Change(Frozen):
    """What was proposed, in a line, and what came of it."""

    id: UUID
    headline: str
    summary: str | None
    state: str
    reason: str | None
    proposed_at: datetime
    decided_at: datetime | None
    settled_at: datetime | None


class Activity(Frozen):
    """A use of a tool, as people see it."""

    label: str
    state: str
    question: Asked | None
    action: Change | None


class Words(Frozen):
    """A message. `cut` says why an answer did not come to its end; `ungrounded` are its numbers without a source, and `sent_back` says that
    the model wrote the answer once more because of them."""

    id: UUID
    role: Literal["user", "assistant"]
    at: datetime
    text: str
    model: str | None
    cut: str | None
    ungrounded: tuple[Ungrounded, ...] = ()
    sent_back: bool = False
    files: tuple[File, ...]
    activity: tuple[Activity, ...]


class Exchange(Frozen):
    """A turn: the user's message, and what the assistant did and said."""

    id: UUID
    state: str
    error: TurnError | None
    cancel_reason: str | None
    retry_of: UUID | None
    at: datetime
    settled_at: datetime | None
    messages: tuple[Words, ...]


class Transcript(Frozen):
    """The whole of it. `dropped_turns` of the oldest turns are not kept any more; what was confirmed in them is in `earlier_changes`."""

    format: Literal["askbus.conversation.1"] = "askbus.conversation.1"
    id: UUID
    title: str
    project: str
    created_at: datetime
    updated_at: datetime
    temporary: bool
    dropped_turns: int
    earlier_changes: tuple[Change, ...]
    exchanges: tuple[Exchange, ...]


async def read(pool: Pool, by: Principal, thread_id: UUID, *, most: int) -> Transcript:
    """The thread as it is now. Raises NotFound, also where it is somebody else's, and TooLarge past `most` bytes of text."""
    by.require(Scope.CHAT)
    async with pool.acquire() as db, db.transaction(isolation="repeatable_read", readonly=True):
        head = await HEAD.row(
            db,
            id=thread_id,
            user_id=by.user_id,
            workspace_id=by.workspace_id,
            projects=None if by.projects is None else list(by.projects),
        )
        if head is None:
            raise NotFound("There is no such conversation.")
        if head["size"] > most:
            raise TooLarge(f"This conversation has {head['size']} bytes of text; this format takes {most}. Choose another.")
        thread = Thread.model_validate(head["thread"])
        earlier = await LEFT_BEHIND.rows(db, id=thread_id) if thread.dropped_turns else ()
        return Transcript(
            **thread.model_dump(include={"id", "title", "created_at", "updated_at", "temporary", "dropped_turns"}),
            project=head["project"],
            earlier_changes=tuple(Change.model_validate(row) for row in earlier),
            exchanges=await _exchanges(db, thread_id),
        )


async def _exchanges(db: Executor, thread_id: UUID) -> tuple[Exchange, ...]:
    read: list[Exchange] = []
    while True:
        rows = await EXCHANGES.rows(db, id=thread_id, after=read[-1].id if read else None, limit=PAGE)
        for row in rows:
            code = row.pop("error_code")
            error = ERRORS.get(code, ERRORS["internal"]) if code else None
            read.append(Exchange.model_validate({**row, "at": row["queued_at"], "error": error}))
        if len(rows) < PAGE:
            return tuple(read)
