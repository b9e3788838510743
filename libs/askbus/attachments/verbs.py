"""What happens to attachments: one function, one statement. The gateway uploads and deletes, the agent-loop attaches, the tool-runner
keeps pictures, expiry deletes what nobody used; each writes a table of its own."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg

from askbus.access.model import Principal, Scope
from askbus.attachments.model import MOST_UNUSED, Attachment, Picture, Upload
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, NotFound, RateLimited

UPLOAD = Statement("askbus.attachments", "sql/upload.sql")
UNUSED = Statement("askbus.attachments", "sql/unused.sql")
DELETE = Statement("askbus.attachments", "sql/delete.sql")
ATTACH = Statement("askbus.attachments", "sql/attach.sql")
USED = Statement("askbus.attachments", "sql/used.sql")
KEEP_PICTURE = Statement("askbus.attachments", "sql/keep_picture.sql")
EXPIRE_DUE = Statement("askbus.attachments", "sql/expire_due.sql")

_UNKNOWN = "There is no such attachment."


def _access(by: Principal) -> dict[str, object]:
    by.require(Scope.CHAT)
    return {
        "user_id": by.user_id,
        "workspace_id": by.workspace_id,
        "projects": None if by.projects is None else list(by.projects),
    }


async def upload(db: Executor, by: Principal, given: Upload, *, most: int = MOST_UNUSED) -> Attachment:
    """Stores a file, or finds the one that the same command stored. Raises NotFound for a project not theirs, RateLimited where `most`
    of theirs wait to be used already."""
    access = _access(by)
    row = await UPLOAD.row(
        db,
        id=given.id,
        command_id=given.command_id,
        project_id=given.project_id,
        kind=given.found.kind.value,
        media_type=given.found.media_type,
        name=given.name,
        content=given.content,
        reduced=given.found.reduced.content if given.found.reduced else None,
        reduced_type=given.found.reduced.media_type if given.found.reduced else None,
        encoding=given.found.encoding,
        pages=given.found.pages,
        has_text=given.found.has_text,
        excerpt=given.found.excerpt,
        most=most,
        **access,
    )
    if row is not None:
        return Attachment.model_validate(row)
    if (await UNUSED.one(db, user_id=by.user_id))["waiting"] >= most:
        raise RateLimited(f"{most} of your files wait to go with a message. Send or delete some first.")
    raise NotFound("There is no such project.")


async def delete(db: Executor, by: Principal, attachment_id: UUID) -> None:
    """Deletes an upload that goes with no message. Raises NotFound; Conflict where it does."""
    used = Conflict("This file goes with a message. It is deleted with its conversation.")
    try:
        row = await DELETE.row(db, id=attachment_id, **_access(by))
    except asyncpg.ForeignKeyViolationError:
        raise used from None  # it was sent in the same moment
    if row is None:
        raise NotFound(_UNKNOWN)
    if row["thread_id"] is not None:
        raise used


async def attach(db: Executor, thread_id: UUID, ids: Sequence[UUID]) -> None:
    """Gives uploads to a thread of their own user, in the caller's transaction. Raises NotFound for what is unknown or not theirs, which
    look alike; Conflict for what has gone to another thread."""
    wanted = set(ids)
    if not wanted:
        return
    try:
        rows = await ATTACH.rows(db, thread_id=thread_id, ids=list(wanted))
    except asyncpg.ForeignKeyViolationError:
        raise NotFound(_UNKNOWN) from None  # it was deleted in the same moment
    if {row["attachment_id"] for row in rows} == wanted:
        return
    if await USED.rows(db, thread_id=thread_id, ids=list(wanted)):
        raise Conflict("One of these files goes with another conversation. Upload it again.")
    raise NotFound(_UNKNOWN)


async def keep_picture(db: Executor, call_id: UUID, *, media_type: str, name: str, content: bytes, model: str) -> Picture:
    """Keeps a picture that a call made, or finds the one that it made before. Raises NotFound where the call is gone."""
    row = await KEEP_PICTURE.row(db, id=call_id, media_type=media_type, name=name, content=content, model=model)
    if row is None:
        raise NotFound("The conversation of this picture was deleted.")
    return Picture.model_validate(row)


async def expire_due(db: Executor, *, batch: int, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` uploads that went nowhere in time, and says which."""
    return [row["id"] for row in await EXPIRE_DUE.rows(db, batch=batch, now=now)]
