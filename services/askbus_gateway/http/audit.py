"""/v1/audit: who did what to which id, for owners and admins, with a session; page by page, or all as a file."""

import csv
import io
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from askbus.access import audit
from askbus.access.managing import require_admin
from askbus_gateway.http.described import Caller, Media, described, route
from askbus_gateway.http.gate import Gate, present, query


class Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


MEDIA: Mapping[Format, str] = {Format.JSONL: "application/x-ndjson", Format.CSV: "text/csv; charset=utf-8"}

COLUMNS = (
    "at", "event", "user_id", "user_name", "via", "via_id", "token_name", "entity", "entity_id", "entity_name", "part_id",
    "project_id", "project_name", "id",
)  # fmt: skip

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet take a cell for a formula (OWASP, CSV Injection). Such a text gets an apostrophe before it."""


class ExportFilter(audit.AuditWanted):
    """Which entries, and as what."""

    format: Format = Format.JSONL


class Audit:
    """The routes of the audit log."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/audit", self.page),
            route("GET", "/v1/audit/export", self.export),
        ]

    @described(audit.AuditPage, query=audit.AuditFilter, caller=Caller.PERSON)
    async def page(self, request: Request) -> Response:
        """A page of the audit log: by person, event, entity, project and time."""
        by = await self.gate.principal(request)
        require_admin(by)
        return present(await audit.page(self.gate.pool, by, query(request, audit.AuditFilter)))

    @described(
        Media(("application/x-ndjson", "text/csv"), "One entry a line, oldest first."), query=ExportFilter, caller=Caller.PERSON
    )
    async def export(self, request: Request) -> Response:
        """The whole audit log, or what is wanted of it, as `format` jsonl or csv."""
        by = await self.gate.principal(request)
        require_admin(by)
        wanted = query(request, ExportFilter)
        narrowed = audit.AuditWanted.model_validate(wanted.model_dump(exclude={"format"}))
        batches = audit.export(self.gate.pool, by, narrowed)
        first: list[audit.AuditEntry] = await anext(batches, [])  # what refuses it, refuses it before there is a status
        headers = {
            "content-disposition": f'attachment; filename="audit.{wanted.format.value}"',
            "cache-control": "no-store",
        }
        return StreamingResponse(_written(first, batches, wanted.format), headers=headers, media_type=MEDIA[wanted.format])


async def _written(
    first: Sequence[audit.AuditEntry], rest: AsyncIterator[list[audit.AuditEntry]], wanted: Format
) -> AsyncIterator[bytes]:
    write = _csv if wanted is Format.CSV else _lines
    if wanted is Format.CSV:
        yield (",".join(COLUMNS) + "\r\n").encode()
    yield write(first)
    async for entries in rest:
        yield write(entries)


def _lines(entries: Sequence[audit.AuditEntry]) -> bytes:
    return "".join(f"{entry.model_dump_json()}\n" for entry in entries).encode()


def _csv(entries: Sequence[audit.AuditEntry]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    for entry in entries:
        values = entry.model_dump(mode="json")
        writer.writerow([_cell(values[column]) for column in COLUMNS])
    return text.getvalue().encode()


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
