"""/v1/threads."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Scope
from askbus.db.ids import new_id
from askbus.errors import NotFound, TooLarge
from askbus.threads import reads
from askbus.threads.model import (
    CloseThread,
    CreateThread,
    DeleteThread,
    Found,
    RenameThread,
    SaveThread,
    Search,
    Thread,
    ThreadDetail,
    ThreadFilter,
    ThreadPage,
    Title,
)
from askbus_gateway.export.files import ExportQuery, Exports
from askbus_gateway.export.transcript import Transcript
from askbus_gateway.http.described import Media, described, route
from askbus_gateway.http.gate import Gate, body, command_id, path_id, present, query

EXPORTS = Media(("text/markdown", "application/pdf"), "The conversation as a file.")


class ThreadBody(BaseModel):
    """Where to talk; without a title the first message gives one. A temporary one is in no list, and gone a day after its last message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID
    title: Title | None = None
    temporary: bool = False


class NameBody(BaseModel):
    """Its new name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Title


class Threads:
    """The routes of threads."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self.exports = Exports(gate.pool)

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/threads", self.list),
            route("POST", "/v1/threads", self.create),
            route("GET", "/v1/threads/search", self.search),
            route("GET", "/v1/threads/{id}", self.get),
            route("PATCH", "/v1/threads/{id}", self.rename),
            route("DELETE", "/v1/threads/{id}", self.delete),
            route("POST", "/v1/threads/{id}/save", self.save),
            route("POST", "/v1/threads/{id}/close", self.close),
            route("GET", "/v1/threads/{id}/export", self.export),
        ]

    @described(ThreadPage, query=ThreadFilter, scope=Scope.CHAT)
    async def list(self, request: Request) -> Response:
        """A page of one's own."""
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ThreadFilter)))

    @described(Found, query=Search, scope=Scope.CHAT)
    async def search(self, request: Request) -> Response:
        """One's own in whose title or in one of whose messages every word of `q` stands."""
        by = await self.gate.principal(request)
        return present(await reads.search(self.gate.pool, by, query(request, Search)))

    @described(ThreadDetail, scope=Scope.CHAT)
    async def get(self, request: Request) -> Response:
        """One with its messages."""
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    @described({201: Thread}, body=ThreadBody, refuses=(NotFound,), scope=Scope.CHAT, idempotent=True)
    async def create(self, request: Request) -> Response:
        """Begin one."""
        by = await self.gate.principal(request)
        said = await body(request, ThreadBody)
        command = CreateThread(command_id=command_id(request), by=by, thread_id=new_id(), **dict(said))
        thread = await self.gate.commands.ask(command)
        return present(thread, 201)

    @described(Thread, body=NameBody, scope=Scope.CHAT, idempotent=True)
    async def rename(self, request: Request) -> Response:
        """Name it."""
        by = await self.gate.principal(request)
        said = await body(request, NameBody)
        command = RenameThread(command_id=command_id(request), by=by, thread_id=path_id(request), title=said.title)
        thread = await self.gate.commands.ask(command)
        return present(thread)

    @described(Thread, scope=Scope.CHAT, idempotent=True)
    async def save(self, request: Request) -> Response:
        """Make a temporary one an ordinary one."""
        by = await self.gate.principal(request)
        command = SaveThread(command_id=command_id(request), by=by, thread_id=path_id(request))
        thread = await self.gate.commands.ask(command)
        return present(thread)

    @described({204: None}, scope=Scope.CHAT, idempotent=True)
    async def delete(self, request: Request) -> Response:
        """Delete it with all that it owns; confirmed changes stay, with their trail."""
        by = await self.gate.principal(request)
        await self.gate.commands.ask(DeleteThread(command_id=command_id(request), by=by, thread_id=path_id(request)))
        return Response(status_code=204)

    @described({204: None}, scope=Scope.CHAT, idempotent=True)
    async def close(self, request: Request) -> Response:
        """The end of a temporary one: it is deleted."""
        by = await self.gate.principal(request)
        await self.gate.commands.ask(CloseThread(command_id=command_id(request), by=by, thread_id=path_id(request)))
        return Response(status_code=204)

    @described({200: (Transcript, EXPORTS)}, query=ExportQuery, refuses=(TooLarge,), scope=Scope.CHAT)
    async def export(self, request: Request) -> Response:
        """All that its user sees of it, in a `format`."""
        by = await self.gate.principal(request)
        return await self.exports.make(by, path_id(request), query(request, ExportQuery).format)
