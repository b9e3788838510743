"""/v1/threads."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.db.ids import new_id
from askbus.threads import reads
from askbus.threads.model import (
    CloseThread,
    CreateThread,
    DeleteThread,
    RenameThread,
    SaveThread,
    Search,
    ThreadFilter,
    Title,
)
from askbus_gateway.export.files import ExportQuery, Exports
from askbus_gateway.http.gate import Gate, body, command_id, guarded, path_id, present, query


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
            Route("/v1/threads", guarded(self.list), methods=["GET"]),
            Route("/v1/threads", guarded(self.create), methods=["POST"]),
            Route("/v1/threads/search", guarded(self.search), methods=["GET"]),
            Route("/v1/threads/{id}", guarded(self.get), methods=["GET"]),
            Route("/v1/threads/{id}", guarded(self.rename), methods=["PATCH"]),
            Route("/v1/threads/{id}", guarded(self.delete), methods=["DELETE"]),
            Route("/v1/threads/{id}/save", guarded(self.save), methods=["POST"]),
            Route("/v1/threads/{id}/close", guarded(self.close), methods=["POST"]),
            Route("/v1/threads/{id}/export", guarded(self.export), methods=["GET"]),
        ]

    async def list(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ThreadFilter)))

    async def search(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.search(self.gate.pool, by, query(request, Search)))

    async def get(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    async def create(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        said = await body(request, ThreadBody)
        command = CreateThread(command_id=command_id(request), by=by, thread_id=new_id(), **dict(said))
        thread = await self.gate.commands.ask(command)
        return present(thread, 201)

    async def rename(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        said = await body(request, NameBody)
        command = RenameThread(command_id=command_id(request), by=by, thread_id=path_id(request), title=said.title)
        thread = await self.gate.commands.ask(command)
        return present(thread)

    async def save(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        command = SaveThread(command_id=command_id(request), by=by, thread_id=path_id(request))
        thread = await self.gate.commands.ask(command)
        return present(thread)

    async def delete(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        await self.gate.commands.ask(DeleteThread(command_id=command_id(request), by=by, thread_id=path_id(request)))
        return Response(status_code=204)

    async def close(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        await self.gate.commands.ask(CloseThread(command_id=command_id(request), by=by, thread_id=path_id(request)))
        return Response(status_code=204)

    async def export(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return await self.exports.make(by, path_id(request), query(request, ExportQuery).format)
