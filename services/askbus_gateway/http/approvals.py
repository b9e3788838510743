"""/v1/standing-approvals."""

from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.approvals import reads
from askbus.approvals.model import ApprovalFilter, MakeApproval, RevokeApproval, Terms
from askbus.db.ids import new_id
from askbus_gateway.http.gate import Gate, body, command_id, guarded, path_id, present, query, require_person


class NoBody(BaseModel):
    """Nothing needs saying."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Approvals:
    """The routes of standing approvals. `longest_days` is how long one may last here; 0: there are none."""

    def __init__(self, gate: Gate, longest_days: int) -> None:
        self.gate = gate
        self.longest_days = longest_days

    def routes(self) -> list[Route]:
        return [
            Route("/v1/standing-approvals", guarded(self.list), methods=["GET"]),
            Route("/v1/standing-approvals", guarded(self.make), methods=["POST"]),
            Route("/v1/standing-approvals/{id}", guarded(self.get), methods=["GET"]),
            Route("/v1/standing-approvals/{id}/revoke", guarded(self.revoke), methods=["POST"]),
        ]

    async def list(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ApprovalFilter), self.longest_days))

    async def make(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        terms = await body(request, Terms)
        key = command_id(request)
        approval_id = key if "idempotency-key" in request.headers else new_id()
        await self.gate.commands.ask(MakeApproval(command_id=key, by=by, approval_id=approval_id, terms=terms))
        return present(await reads.get(self.gate.pool, by, approval_id), 201)

    async def get(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    async def revoke(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        await body(request, NoBody)
        approval_id = path_id(request)
        await self.gate.commands.ask(RevokeApproval(command_id=command_id(request), by=by, approval_id=approval_id))
        return present(await reads.get(self.gate.pool, by, approval_id))
