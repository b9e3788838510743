"""/v1/threads."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.db.ids import new_id
from askbus.threads import reads
from askbus.threads.model import CreateThread, ThreadFilter, Title
from askbus_gateway.http.gate import Gate, body, command_id, guarded, path_id, present, query


class ThreadBody(BaseModel):
    """Where to talk; without a title the first message gives one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID
    title: Title | None = None


class Threads:
    """The routes of threads."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            Route("/v1/threads", guarded(self.list), methods=["GET"]),
            Route("/v1/threads", guarded(self.create), methods=["POST"]),
            Route("/v1/threads/{id}", guarded(self.get), methods=["GET"]),
        ]

    async def list(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ThreadFilter)))

    async def get(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    async def create(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        said = await body(request, ThreadBody)
        command = CreateThread(
            command_id=command_id(request), by=by, thread_id=new_id(), project_id=said.project_id, title=said.title
        )
        thread = await self.gate.commands.ask(command)
        return present(thread, 201)
