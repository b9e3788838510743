"""What may be seen of attachments: one's own, in projects that one sees now; and what a turn's prompt and tools read of its thread's."""

from collections.abc import Sequence
from uuid import UUID

from askbus.access.model import Principal, Scope
from askbus.attachments.model import Attachment, File, Kind, Picture
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound

GET = Statement("askbus.attachments", "sql/get.sql")
CONTENT = Statement("askbus.attachments", "sql/content.sql")
FOR_MODEL = Statement("askbus.attachments", "sql/for_model.sql")
OF_THREAD = Statement("askbus.attachments", "sql/of_thread.sql")
PICTURE = Statement("askbus.attachments", "sql/picture.sql")

MOST_OF_THREAD = 200


async def get(db: Executor, by: Principal, attachment_id: UUID) -> Attachment:
    """A file of the caller's own. Raises NotFound, also where it is somebody else's."""
    by.require(Scope.CHAT)
    row = await GET.row(
        db,
        id=attachment_id,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=None if by.projects is None else list(by.projects),
    )
    if row is None:
        raise NotFound("There is no such attachment.")
    return Attachment.model_validate(row)


async def content(db: Executor, attachment_id: UUID) -> bytes:
    """The bytes of a file that the caller may see. Raises NotFound where it was deleted meanwhile."""
    row = await CONTENT.one(db, id=attachment_id)
    if row["content"] is None:
        raise NotFound("There is no such attachment.")
    return bytes(row["content"])


async def for_model(db: Executor, attachment_id: UUID) -> tuple[bytes, str | None]:
    """What a model is sent of an upload, and its media type where that is another than the upload's. Raises NotFound."""
    row = await FOR_MODEL.row(db, id=attachment_id)
    if row is None:
        raise NotFound("There is no such attachment.")
    return bytes(row["content"]), row["reduced_type"]


async def of_thread(
    db: Executor, thread_id: UUID, user_id: UUID, ids: Sequence[UUID] | None = None, *, most: int = MOST_OF_THREAD
) -> list[File]:
    """The thread's files, newest first: all, or these."""
    rows = await OF_THREAD.rows(db, thread_id=thread_id, user_id=user_id, ids=None if ids is None else list(ids), most=most)
    return [File(**{**row, "kind": Kind(row["kind"])}) for row in rows]


async def picture(db: Executor, call_id: UUID) -> Picture | None:
    """The picture that a call has made, if it has."""
    row = await PICTURE.row(db, id=call_id)
    return None if row is None else Picture.model_validate(row)
