"""/v1/actions."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, Scope
from askbus.actions import reads, trail, turn_undo
from askbus.actions.card import LONGEST_SHOWN
from askbus.actions.decisions import OperationDecision
from askbus.actions.model import (
    LONGEST_WAIT,
    ActionDetail,
    ActionFilter,
    ActionPage,
    ConfirmAction,
    DecideAction,
    Digest,
    PreviewUndo,
    Proposal,
    ProposeAgain,
    ProposeChanges,
    Reason,
    RejectAction,
    UndoAction,
    UndoPreview,
    WithdrawAction,
)
from askbus.actions.trail import TrailFilter, TrailPage
from askbus.actions.turn_undo import PreviewUndoTurn, TurnUndo, TurnUndoPreview, UndoTurn
from askbus.db.ids import new_id
from askbus.errors import NotFound, PermissionDenied, TimedOut
from askbus.records.changes import MOST_OPERATIONS
from askbus_gateway.http.described import Caller, described, route
from askbus_gateway.http.gate import (
    Gate,
    NoBody,
    body,
    command_id,
    path_id,
    present,
    query,
    require_person,
    while_connected,
)
from askbus_gateway.http.waiting import Waiting

Seconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProposeBody(Proposal):
    """What to change, and how many seconds this request may wait for the outcome."""

    wait_seconds: Seconds = 0


class GetQuery(_Body):
    """`wait`: seconds to wait for the outcome. `full`: show every value whole."""

    wait: Seconds = 0
    full: bool = False


class ConfirmBody(_Body):
    """The digest of the card that was looked at."""

    digest: Digest


class DecideBody(_Body):
    """The digest of the card that was looked at, and a decision on each of its operations."""

    digest: Digest
    decisions: Annotated[tuple[OperationDecision, ...], Field(min_length=1, max_length=MOST_OPERATIONS)]


class RejectBody(_Body):
    reason: Reason | None = None


class UndoBody(_Body):
    """`dry_run`: say what would happen, and change nothing. `rest`: what was edited since is left out and listed, instead of refusing
    the whole."""

    dry_run: bool = False
    rest: bool = False


class Actions:
    """The routes of actions."""

    def __init__(self, gate: Gate, waiting: Waiting) -> None:
        self.gate = gate
        self.waiting = waiting

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/actions", self.list),
            route("POST", "/v1/actions", self.propose),
            route("GET", "/v1/actions/{id}", self.get),
            route("POST", "/v1/actions/{id}/confirm", self.confirm),
            route("POST", "/v1/actions/{id}/decide", self.decide),
            route("POST", "/v1/actions/{id}/reject", self.reject),
            route("POST", "/v1/actions/{id}/withdraw", self.withdraw),
            route("POST", "/v1/actions/{id}/undo", self.undo),
            route("POST", "/v1/actions/{id}/propose-again", self.propose_again),
            route("POST", "/v1/turns/{id}/undo", self.undo_turn),
            route("GET", "/v1/undos/{id}", self.undone_together),
            route("GET", "/v1/trail", self.trail),
        ]

    @described(ActionPage, query=ActionFilter, refuses=(PermissionDenied,))
    async def list(self, request: Request) -> Response:
        """A page of actions."""
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ActionFilter)))

    @described(
        {200: ActionDetail, 201: ActionDetail},
        body=ProposeBody,
        refuses=(NotFound,),
        scope=Scope.ACTIONS_PROPOSE,
        idempotent=True,
    )
    async def propose(self, request: Request) -> Response:
        """Propose changes; `wait_seconds` waits for the outcome."""
        by = await self.gate.principal(request)
        said = await body(request, ProposeBody)
        key = command_id(request)
        action_id = key if "idempotency-key" in request.headers else new_id()
        proposal = Proposal.model_validate(said.model_dump(exclude={"wait_seconds"}, exclude_unset=True))
        action = await self.gate.commands.ask(ProposeChanges(command_id=key, by=by, action_id=action_id, proposal=proposal))
        detail = await self._at_rest(request, by, action.id, said.wait_seconds)
        return present(detail, 201 if action.id == action_id else 200)

    @described(ActionDetail, query=GetQuery, refuses=(PermissionDenied, TimedOut))
    async def get(self, request: Request) -> Response:
        """One with its card; `wait`, and `full` for values that the card shortens."""
        by = await self.gate.principal(request)
        wanted = query(request, GetQuery)
        await body(request, NoBody)
        longest = None if wanted.full else LONGEST_SHOWN
        return present(await self._at_rest(request, by, path_id(request), wanted.wait, longest=longest))

    async def _at_rest(
        self, request: Request, by: Principal, action_id: UUID, seconds: float, *, longest: int | None = LONGEST_SHOWN
    ) -> ActionDetail:
        work = self.waiting.action(by, action_id, seconds, longest=longest)
        return await (while_connected(request, work) if seconds else work)

    @described(ActionDetail, body=ConfirmBody, caller=Caller.PERSON, idempotent=True)
    async def confirm(self, request: Request) -> Response:
        """Confirm it, by the `digest` of the card that was looked at."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, ConfirmBody)
        command = ConfirmAction(command_id=command_id(request), by=by, action_id=path_id(request), digest=said.digest)
        return await self._told(by, command)

    @described(ActionDetail, body=DecideBody, caller=Caller.PERSON, idempotent=True)
    async def decide(self, request: Request) -> Response:
        """Confirm or reject each of its operations."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, DecideBody)
        key, action_id = command_id(request), path_id(request)
        return await self._told(
            by, DecideAction(command_id=key, by=by, action_id=action_id, digest=said.digest, decisions=said.decisions)
        )

    @described(ActionDetail, body=RejectBody, caller=Caller.PERSON, idempotent=True)
    async def reject(self, request: Request) -> Response:
        """Reject it, with a `reason` if there is one."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, RejectBody)
        command = RejectAction(command_id=command_id(request), by=by, action_id=path_id(request), reason=said.reason)
        return await self._told(by, command)

    @described(ActionDetail, body=NoBody, scope=Scope.ACTIONS_PROPOSE, idempotent=True)
    async def withdraw(self, request: Request) -> Response:
        """The proposer takes it back."""
        by = await self.gate.principal(request)
        await body(request, NoBody)
        return await self._told(by, WithdrawAction(command_id=command_id(request), by=by, action_id=path_id(request)))

    @described({200: (ActionDetail, UndoPreview)}, body=UndoBody, caller=Caller.PERSON, idempotent=True)
    async def undo(self, request: Request) -> Response:
        """Take an applied one back; `dry_run` says what would happen."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, UndoBody)
        key, action_id = command_id(request), path_id(request)
        if said.dry_run:
            preview = await self.gate.commands.ask(PreviewUndo(command_id=key, by=by, action_id=action_id, rest=said.rest))
            return present(preview)
        undo_id = key if "idempotency-key" in request.headers else new_id()
        await self.gate.commands.ask(UndoAction(command_id=key, by=by, action_id=action_id, undo_id=undo_id, rest=said.rest))
        return present(await reads.get(self.gate.pool, by, action_id))

    @described({201: ActionDetail}, body=NoBody, caller=Caller.PERSON, idempotent=True)
    async def propose_again(self, request: Request) -> Response:
        """What was undone, as a new action that waits to be confirmed."""
        by = await self.gate.principal(request)
        require_person(by)
        await body(request, NoBody)
        key = command_id(request)
        action_id = key if "idempotency-key" in request.headers else new_id()
        command = ProposeAgain(command_id=key, by=by, undone_id=path_id(request), action_id=action_id)
        action = await self.gate.commands.ask(command)
        return present(await reads.get(self.gate.pool, by, action.id), 201)

    @described({200: (TurnUndo, TurnUndoPreview)}, body=UndoBody, caller=Caller.PERSON, idempotent=True)
    async def undo_turn(self, request: Request) -> Response:
        """Take back all that a turn changed, the last one first."""
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, UndoBody)
        key, turn_id = command_id(request), path_id(request)
        if said.dry_run:
            preview = await self.gate.commands.ask(PreviewUndoTurn(command_id=key, by=by, turn_id=turn_id, rest=said.rest))
            return present(preview)
        group_id = key if "idempotency-key" in request.headers else new_id()
        await self.gate.commands.ask(UndoTurn(command_id=key, by=by, turn_id=turn_id, group_id=group_id, rest=said.rest))
        return present(await turn_undo.get(self.gate.pool, by, group_id))

    @described(TurnUndo)
    async def undone_together(self, request: Request) -> Response:
        """What became of each of them."""
        by = await self.gate.principal(request)
        await body(request, NoBody)
        return present(await turn_undo.get(self.gate.pool, by, path_id(request)))

    @described(TrailPage, query=TrailFilter, refuses=(PermissionDenied,))
    async def trail(self, request: Request) -> Response:
        """Who did what and when, with the records before and after."""
        by = await self.gate.principal(request)
        return present(await trail.page(self.gate.pool, by, query(request, TrailFilter)))

    async def _told(self, by: Principal, command: ConfirmAction | DecideAction | RejectAction | WithdrawAction) -> Response:
        action = await self.gate.commands.ask(command)
        return present(await reads.get(self.gate.pool, by, action.id))
