"""/v1/usage."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.usage import reads
from askbus.usage.model import UsageFilter
from askbus_gateway.http.gate import Gate, guarded, present, query


class UsageSums:
    """The route of usage."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [Route("/v1/usage", guarded(self.get), methods=["GET"])]

    async def get(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.report(self.gate.pool, by, query(request, UsageFilter)))
