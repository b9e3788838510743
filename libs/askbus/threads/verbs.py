"""What happens to threads: one function each. Only the agent-loop may import this; expiry, its one verb.

`delete`, `close` and `trim` need a transaction, which their caller opens: whoever ends a thread, or appends to it, holds its lock.
"""

from datetime import datetime
from uuid import UUID

import asyncpg

from askbus.access.model import Principal, Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, NotFound
from askbus.threads.model import TEMPORARY, CloseThread, CreateThread, DeleteThread, Gone, RenameThread, SaveThread, Thread

CREATE = Statement("askbus.threads", "sql/create.sql")
RENAME = Statement("askbus.threads", "sql/rename.sql")
SAVE = Statement("askbus.threads", "sql/save.sql")
LOCK = Statement("askbus.threads", "sql/lock.sql")
DELETE = Statement("askbus.threads", "sql/delete.sql")
DELETED = Statement("askbus.threads", "sql/deleted.sql")
EXPIRE_DUE = Statement("askbus.threads", "sql/expire_due.sql")
TRIM = Statement("askbus.threads", "sql/trim.sql")

NONE_SUCH = "There is no such conversation."


async def create(db: Executor, command: CreateThread, *, trace: str | None) -> Thread:
    """Makes a thread, or returns the one that the same command made. Raises PermissionDenied, NotFound for a project not theirs, and
    Conflict where they have one there that a front end calls the same."""
    try:
        row = await CREATE.row(
            db,
            id=command.thread_id,
            title=command.title,
            temporary=command.temporary,
            idle_limit=TEMPORARY if command.temporary else command.idle_limit,
            client_id=command.client_id,
            command_id=command.command_id,
            trace=trace,
            project_id=command.project_id,
            **_acting(command.by),
        )
    except asyncpg.UniqueViolationError:
        raise Conflict("There is a conversation of that name already.") from None
    if row is None:
        raise NotFound("There is no such project.")
    return Thread.model_validate(row)


async def rename(db: Executor, command: RenameThread, *, trace: str | None) -> Thread:
    """Gives a thread the name that a person chose. Raises PermissionDenied, NotFound."""
    row = await RENAME.row(db, id=command.thread_id, title=command.title, trace=trace, **_acting(command.by))
    if row is None:
        raise NotFound(NONE_SUCH)
    return Thread.model_validate(row)


async def save(db: Executor, command: SaveThread, *, trace: str | None) -> Thread:
    """Makes a temporary thread an ordinary one; of an ordinary one nothing changes. Raises PermissionDenied, NotFound."""
    row = await SAVE.row(db, id=command.thread_id, trace=trace, **_acting(command.by))
    if row is None:
        raise NotFound(NONE_SUCH)
    return Thread.model_validate(row)


async def delete(db: Executor, command: DeleteThread | CloseThread, *, trace: str | None) -> Gone:
    """Deletes a thread with all that it owns, or finds that this command did. Runs in the caller's transaction.

    Raises PermissionDenied, NotFound, and Conflict where a thread is to be closed that is not temporary, or the
    command's id is that of another one.
    """
    by = command.by
    thread = await LOCK.row(db, id=command.thread_id, trace=trace, **_acting(by))
    if thread is None:
        if (await DELETED.one(db, id=command.thread_id, command_id=command.command_id, user_id=by.user_id))["deleted"]:
            return Gone(id=command.thread_id)
        raise NotFound(NONE_SUCH)
    if isinstance(command, CloseThread) and not thread["temporary"]:
        raise Conflict("Only a temporary conversation ends when it is closed. To end this one, delete it.")
    try:
        row = await DELETE.one(db, id=command.thread_id, command_id=command.command_id, via=by.kind.value, via_id=by.id)
    except asyncpg.UniqueViolationError:
        raise Conflict("Something else was deleted with this id of a command. Send this one with an id of its own.") from None
    return Gone(id=command.thread_id, ended=tuple(row["ended"]))


async def expire_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` threads past their time; any number of callers, each thread once. `now` is for tests alone."""
    return [row["id"] for row in await EXPIRE_DUE.rows(db, batch=batch, now=now)]


async def trim(db: Executor, thread_id: UUID, *, most_messages: int, most_bytes: int) -> int:
    """Drops the oldest turns of a thread past either bound, in the transaction that holds its lock. How many are gone by now, in all."""
    row = await TRIM.one(db, id=thread_id, most_messages=most_messages, most_bytes=most_bytes)
    return int(row["dropped_turns"])


def _acting(by: Principal) -> dict[str, object]:
    by.require(Scope.CHAT)
    return {
        "user_id": by.user_id,
        "workspace_id": by.workspace_id,
        "projects": None if by.projects is None else list(by.projects),
    }
