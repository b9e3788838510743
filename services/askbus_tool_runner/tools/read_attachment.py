"""Reading a file of the conversation, piece by piece."""

import asyncio
from itertools import accumulate
from uuid import UUID

from askbus.attachments import reads
from askbus.attachments.csv_table import read_table
from askbus.attachments.model import File, Kind
from askbus.attachments.pdf import read_pages
from askbus.attachments.text import decode
from askbus.errors import InvalidInput, NotFound
from askbus.models.clean import clean_text
from askbus.tools.files import FileColumn, FilePage, FilePiece, ReadAttachment
from askbus.tools.model import compact
from askbus_tool_runner.context import Context

MARGIN = 200
"""Bytes kept free for what stands around a piece."""
MOST_PAGES = 50
"""Pages of one call: their text is found page by page, and slowly."""


async def read_attachment(context: Context, request: ReadAttachment) -> FilePiece:
    """The piece, as much of it as fits. Raises NotFound for a file that is not this conversation's, InvalidInput for one without text."""
    file = await _find(context, request.file)
    if not file.has_text:
        raise InvalidInput(f"{file.name} has no text to read: it is a picture, or a PDF file of pictures.")
    content = await reads.content(context.pool, file.id)
    piece = {Kind.CSV: _rows, Kind.PDF: _pages}.get(file.kind, _text)
    return await asyncio.to_thread(piece, file, content, request, context.most_bytes - MARGIN)


async def _find(context: Context, wanted: str) -> File:
    """By id, or by name where that is only one file's. Files of this conversation alone are looked at."""
    files = [] if context.thread_id is None else await reads.of_thread(context.pool, context.thread_id, context.by.user_id)
    found = [file for file in files if file.id == _id(wanted)] or [file for file in files if file.name == wanted.strip()]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{file.name} ({file.id})" for file in (found or files)[:20]) or "none"
    if found:
        raise InvalidInput(f"Several files have this name; name one by its id: {names}.")
    raise NotFound(f"This conversation has no such file. Its files are: {names}.")


def _id(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def _text(file: File, content: bytes, request: ReadAttachment, room: int) -> FilePiece:
    whole = clean_text(decode(content, file.encoding or "utf-8"))
    begin = min(request.offset, len(whole))
    piece = whole[begin : begin + min(request.limit or room, room)]
    while (size := len(compact(piece).encode())) > room:
        piece = piece[: max(1, min(len(piece) - 1, len(piece) * room // size))]
    through = begin + len(piece)
    return FilePiece(
        file=file.id,
        name=file.name,
        kind=file.kind.value,
        total=len(whole),
        next=through if through < len(whole) else None,
        text=piece,
    )


def _rows(file: File, content: bytes, request: ReadAttachment, room: int) -> FilePiece:
    table = read_table(clean_text(decode(content, file.encoding or "utf-8")))
    columns = tuple(FileColumn(name=column.name, kind=column.kind) for column in table.columns)
    total = len(table.rows)
    empty = FilePiece(
        file=file.id,
        name=file.name,
        kind=file.kind.value,
        total=total,
        next=None,
        columns=columns,
        rows=(),
        notes=table.notes[:20],
    )
    left = room - len(compact(empty.model_dump(mode="json")).encode())
    rows = table.window(request.offset, min(request.limit or total, left))
    sizes = accumulate(len(compact(row).encode()) + 1 for row in rows)
    kept = max(1, sum(1 for size in sizes if size <= left))
    through = request.offset + len(rows[:kept])
    return empty.model_copy(
        update={"rows": tuple(tuple(row) for row in rows[:kept]), "next": through if through < total else None}
    )


def _pages(file: File, content: bytes, request: ReadAttachment, room: int) -> FilePiece:
    total = file.pages or 0
    if request.page > total:
        raise InvalidInput(f"{file.name} has {total} pages.")
    read = read_pages(content, request.page, min(request.limit or MOST_PAGES, MOST_PAGES), room)
    pages: list[FilePage] = []
    left = room
    for page in read:
        size = len(compact(page.text).encode()) + 30
        if pages and size > left:
            break
        pages.append(FilePage(page=page.page, text=page.text))
        left -= size
    through = pages[-1].page
    return FilePiece(
        file=file.id,
        name=file.name,
        kind=file.kind.value,
        total=total,
        next=through + 1 if through < total else None,
        pages=tuple(pages),
    )
