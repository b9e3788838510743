"""/v1/usage."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Scope
from askbus.usage import reads
from askbus.usage.model import UsageFilter, UsageReport
from askbus_gateway.http.described import described, route
from askbus_gateway.http.gate import Gate, present, query


class UsageSums:
    """The route of usage."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/usage", self.get),
        ]

    @described(UsageReport, query=UsageFilter, scope=Scope.DATA_READ)
    async def get(self, request: Request) -> Response:
        """Tokens and calls of models."""
        by = await self.gate.principal(request)
        return present(await reads.report(self.gate.pool, by, query(request, UsageFilter)))
