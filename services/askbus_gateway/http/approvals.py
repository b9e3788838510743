"""/v1/standing-approvals."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.approvals import reads
from askbus.approvals.model import ApprovalFilter, ApprovalPage, MakeApproval, NamedApproval, RevokeApproval, Terms
from askbus.db.ids import new_id
from askbus.errors import NotFound
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import Gate, NoBody, body, command_id, path_id, present, query, require_person


class Approvals:
    """The routes of standing approvals. `longest_days` is how long one may last here; 0: there are none."""

    def __init__(self, gate: Gate, longest_days: int) -> None:
        self.gate = gate
        self.longest_days = longest_days

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/standing-approvals", self.list),
            route("POST", "/v1/standing-approvals", self.make),
            route("GET", "/v1/standing-approvals/{id}", self.get),
            route("POST", "/v1/standing-approvals/{id}/revoke", self.revoke),
        ]

    @described(ApprovalPage, query=ApprovalFilter, caller=Caller.PERSON)
    async def list(self, request: Request) -> Response:
        """A page; and `longest_days`, 0 where there can be none."""
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ApprovalFilter), self.longest_days))

    @described({201: NamedApproval}, body=Terms, refuses=(NotFound,), caller=Caller.PERSON, idempotent=True)
    async def make(self, request: Request) -> Response:
        """Make one."""
        by = await self.gate.principal(request)
        require_person(by)
        terms = await body(request, Terms)
        key = command_id(request)
        approval_id = key if "idempotency-key" in request.headers else new_id()
        await self.gate.commands.ask(MakeApproval(command_id=key, by=by, approval_id=approval_id, terms=terms))
        return present(await reads.get(self.gate.pool, by, approval_id), 201)

    @described(NamedApproval, caller=Caller.PERSON)
    async def get(self, request: Request) -> Response:
        """One, with who made it and how often it was used."""
        by = await self.gate.principal(request)
        return present(await reads.get(self.gate.pool, by, path_id(request)))

    @described(NamedApproval, body=NoBody, caller=Caller.PERSON, idempotent=True)
    async def revoke(self, request: Request) -> Response:
        """End it: its maker, owners and admins may."""
        by = await self.gate.principal(request)
        require_person(by)
        await body(request, NoBody)
        approval_id = path_id(request)
        await self.gate.commands.ask(RevokeApproval(command_id=command_id(request), by=by, approval_id=approval_id))
        return present(await reads.get(self.gate.pool, by, approval_id))
