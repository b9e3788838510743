"""/v1/attachments: files that go with messages. An upload is the raw body, of the type that its header says."""

import asyncio
from collections.abc import Mapping
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Scope
from askbus.attachments import reads, verbs
from askbus.attachments.content import NAMED, inspect
from askbus.attachments.model import TYPES, Attachment, FileName, Found, Kind, Upload
from askbus.db.ids import new_id
from askbus.errors import Conflict, InvalidInput, NotFound, RateLimited, TooLarge
from askbus.runtime.settings import Settings
from askbus_gateway.http.described import Media, described, route
from askbus_gateway.http.gate import Gate, command_id, path_id, present, query

SLOTS = 2
"""Files that one gateway looks into at once: it is work for the processor."""
LOOKING = 20
"""Seconds for one of them."""
SHOWN_INLINE = frozenset({Kind.IMAGE})
POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""Content-Security-Policy Level 3: whatever a browser takes a file for, it runs no script, has no origin and loads nothing."""


class UploadQuery(BaseModel):
    """Where it is going to be used, and what it is called."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID
    name: FileName


class Attachments:
    """The routes of attachments."""

    def __init__(self, gate: Gate, settings: Settings) -> None:
        self.gate = gate
        self.caps: Mapping[Kind, int] = {
            Kind.IMAGE: settings.attachment_image_bytes,
            Kind.PDF: settings.attachment_pdf_bytes,
            Kind.TEXT: settings.attachment_text_bytes,
            Kind.CSV: settings.attachment_text_bytes,
        }
        self._slots = asyncio.Semaphore(SLOTS)

    def routes(self) -> list[Route]:
        return [
            route("POST", "/v1/attachments", self.upload),
            route("GET", "/v1/attachments/{id}", self.get),
            route("DELETE", "/v1/attachments/{id}", self.delete),
            route("GET", "/v1/attachments/{id}/content", self.content),
        ]

    @described(
        {201: Attachment},
        query=UploadQuery,
        body=Media(tuple(NAMED), "The bytes of the file, of at most the size that its kind may have."),
        refuses=(NotFound, RateLimited),
        scope=Scope.CHAT,
        idempotent=True,
        most=None,
    )
    async def upload(self, request: Request) -> Response:
        """Upload the raw body."""
        by = await self.gate.principal(request)
        wanted = query(request, UploadQuery)
        key = command_id(request)
        declared = request.headers.get("content-type", "")
        data = await self.read(request, declared)
        async with self._slots:
            found = await self._looked_into(data, declared, wanted.name)
            self._refuse_large(found, len(data))
            given = Upload(id=new_id(), command_id=key, project_id=wanted.project_id, name=wanted.name, found=found, content=data)
            made = await verbs.upload(self.gate.pool, by, given)
        return present(made, 201)

    async def _looked_into(self, data: bytes, declared: str, name: str) -> Found:
        """What the file is. One that takes too long is left to its thread, so that others can be looked into."""
        try:
            async with asyncio.timeout(LOOKING):
                return await asyncio.to_thread(inspect, data, declared, name)
        except TimeoutError:
            raise InvalidInput("This file takes too long to look into. Send a simpler one.") from None

    @described(Attachment, scope=Scope.CHAT)
    async def get(self, request: Request) -> Response:
        """Its name, type and size."""
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    @described({204: None}, refuses=(Conflict,), scope=Scope.CHAT)
    async def delete(self, request: Request) -> Response:
        """Delete one that goes with no message."""
        by = await self.gate.principal(request)
        await verbs.delete(self.gate.pool, by, path_id(request))
        return Response(status_code=204)

    @described(
        {200: Media(tuple(TYPES), "The bytes as they came."), 304: None},
        headers={"If-None-Match": "The `ETag` of the bytes that one has."},
        scope=Scope.CHAT,
    )
    async def content(self, request: Request) -> Response:
        """Its bytes as they came.

        They are sent under a policy that lets them do nothing. They never change, so the id is their validator.
        """
        by = await self.gate.principal(request)
        file = await reads.get(self.gate.pool, by, path_id(request))
        headers = {
            "content-disposition": _disposition(file),
            "content-security-policy": POLICY,
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "private, no-cache",
            "etag": f'"{file.id}"',
        }
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(await reads.content(self.gate.pool, file.id), headers={**headers, "content-type": file.media_type})

    async def read(self, request: Request, declared: str) -> bytes:
        """The body, never more of it than a file of the declared type may have. Raises TooLarge as soon as that is known."""
        said = NAMED.get(declared.partition(";")[0].strip().lower())
        most = max(self.caps.values()) if said is None else self.caps[TYPES[said]]
        too_large = TooLarge(f"A file of this type has at most {most} bytes.", {"most": most})
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            raise too_large
        data = bytearray()
        async for chunk in request.stream():
            if len(data) + len(chunk) > most:
                raise too_large
            data += chunk
        return bytes(data)

    def _refuse_large(self, found: Found, size: int) -> None:
        most = self.caps[found.kind]
        if size > most:
            raise TooLarge(f"A file of this type has at most {most} bytes.", {"most": most})


def _disposition(file: Attachment) -> str:
    """RFC 6266 with the name as RFC 8187 writes it: no character of it can end the header or start another parameter."""
    how = "inline" if file.kind in SHOWN_INLINE else "attachment"
    return f"{how}; filename*=UTF-8''{quote(file.name, safe='')}"
