"""An export as the answer to a request: read, written in a thread beside the event loop, two at a time, each up to a bound."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from askbus.access.model import Principal
from askbus.db.pool import Pool
from askbus_gateway.export.blocks import NO_TITLE
from askbus_gateway.export.markdown import to_markdown
from askbus_gateway.export.pdf import to_pdf
from askbus_gateway.export.transcript import Transcript, read

AT_ONCE = 2
_NOT_IN_NAMES = str.maketrans(dict.fromkeys('<>:"/\\|?*', " "))


class Format(StrEnum):
    MARKDOWN = "markdown"
    JSON = "json"
    PDF = "pdf"


class ExportQuery(BaseModel):
    """As what."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Format = Format.MARKDOWN


@dataclass(frozen=True)
class Writer:
    """How a format is written, and how many bytes of text it takes: a PDF is laid out sign by sign."""

    write: Callable[[Transcript], bytes]
    media_type: str
    ending: str
    most: int


WRITERS: Mapping[Format, Writer] = {
    Format.MARKDOWN: Writer(lambda seen: to_markdown(seen).encode(), "text/markdown; charset=utf-8", "md", 32 << 20),
    Format.JSON: Writer(lambda seen: seen.model_dump_json(indent=2).encode(), "application/json", "json", 32 << 20),
    Format.PDF: Writer(to_pdf, "application/pdf", "pdf", 1 << 20),
}


class Exports:
    """Every export of this process."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def make(self, by: Principal, thread_id: UUID, wanted: Format) -> Response:
        """The thread as a file. Raises PermissionDenied, NotFound, and TooLarge past what the format takes."""
        writer = WRITERS[wanted]
        async with self._slots:
            transcript = await read(self.pool, by, thread_id, most=writer.most)
            content = await asyncio.to_thread(writer.write, transcript)
        headers = {"content-disposition": _disposition(transcript.title, writer.ending), "cache-control": "no-store"}
        return Response(content, headers=headers, media_type=writer.media_type)


def _disposition(title: str, ending: str) -> str:
    """A download under the title's name (RFC 6266), and under a plain one where a client does not know that form."""
    name = " ".join(title.translate(_NOT_IN_NAMES).split()).strip(". ") or NO_TITLE
    return f"attachment; filename=\"conversation.{ending}\"; filename*=UTF-8''{quote(f'{name}.{ending}', safe='')}"
