"""/v1/actions."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal
from askbus.actions import reads, trail, turn_undo
from askbus.actions.card import LONGEST_SHOWN
from askbus.actions.decisions import OperationDecision
from askbus.actions.model import (
    LONGEST_WAIT,
    ActionDetail,
    ActionFilter,
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
    WithdrawAction,
)
from askbus.actions.turn_undo import PreviewUndoTurn, UndoTurn
from askbus.db.ids import new_id
from askbus.records.changes import MOST_OPERATIONS
from askbus_gateway.http.gate import (
    Gate,
    body,
    command_id,
    guarded,
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


class NoBody(_Body):
    """Nothing needs saying."""


class Actions:
    """The routes of actions."""

    def __init__(self, gate: Gate, waiting: Waiting) -> None:
        self.gate = gate
        self.waiting = waiting

    def routes(self) -> list[Route]:
        return [
            Route("/v1/actions", guarded(self.list), methods=["GET"]),
            Route("/v1/actions", guarded(self.propose), methods=["POST"]),
            Route("/v1/actions/{id}", guarded(self.get), methods=["GET"]),
            Route("/v1/actions/{id}/confirm", guarded(self.confirm), methods=["POST"]),
            Route("/v1/actions/{id}/decide", guarded(self.decide), methods=["POST"]),
            Route("/v1/actions/{id}/reject", guarded(self.reject), methods=["POST"]),
            Route("/v1/actions/{id}/withdraw", guarded(self.withdraw), methods=["POST"]),
            Route("/v1/actions/{id}/undo", guarded(self.undo), methods=["POST"]),
            Route("/v1/actions/{id}/propose-again", guarded(self.propose_again), methods=["POST"]),
            Route("/v1/turns/{id}/undo", guarded(self.undo_turn), methods=["POST"]),
            Route("/v1/undos/{id}", guarded(self.undone_together), methods=["GET"]),
            Route("/v1/trail", guarded(self.trail), methods=["GET"]),
        ]

    async def list(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, ActionFilter)))

    async def propose(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        said = await body(request, ProposeBody)
        key = command_id(request)
        action_id = key if "idempotency-key" in request.headers else new_id()
        proposal = Proposal.model_validate(said.model_dump(exclude={"wait_seconds"}, exclude_unset=True))
        action = await self.gate.commands.ask(ProposeChanges(command_id=key, by=by, action_id=action_id, proposal=proposal))
        detail = await self._at_rest(request, by, action.id, said.wait_seconds)
        return present(detail, 201 if action.id == action_id else 200)

    async def get(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        wanted = query(request, GetQuery)
        await body(request, NoBody)
        longest = None if wanted.full else LONGEST_SHOWN
        return present(await self._at_rest(request, by, path_id(request), wanted.wait, longest=longest))

    async def _at_rest(
        self, request: Request, by: Principal, action_id: UUID, seconds: float, *, longest: int | None = LONGEST_SHOWN
    ) -> ActionDetail:
        if seconds == 0:
            return await reads.get(self.gate.pool, by, action_id, longest=longest)
        return await while_connected(request, self.waiting.at_rest(by, action_id, seconds, longest=longest))

    async def confirm(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, ConfirmBody)
        command = ConfirmAction(command_id=command_id(request), by=by, action_id=path_id(request), digest=said.digest)
        return await self._told(by, command)

    async def decide(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, DecideBody)
        key, action_id = command_id(request), path_id(request)
        return await self._told(
            by, DecideAction(command_id=key, by=by, action_id=action_id, digest=said.digest, decisions=said.decisions)
        )

    async def reject(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        said = await body(request, RejectBody)
        command = RejectAction(command_id=command_id(request), by=by, action_id=path_id(request), reason=said.reason)
        return await self._told(by, command)

    async def withdraw(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        await body(request, NoBody)
        return await self._told(by, WithdrawAction(command_id=command_id(request), by=by, action_id=path_id(request)))

    async def undo(self, request: Request) -> Response:
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

    async def propose_again(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        require_person(by)
        await body(request, NoBody)
        key = command_id(request)
        action_id = key if "idempotency-key" in request.headers else new_id()
        command = ProposeAgain(command_id=key, by=by, undone_id=path_id(request), action_id=action_id)
        action = await self.gate.commands.ask(command)
        return present(await reads.get(self.gate.pool, by, action.id), 201)

    async def undo_turn(self, request: Request) -> Response:
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

    async def undone_together(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        await body(request, NoBody)
        return present(await turn_undo.get(self.gate.pool, by, path_id(request)))

    async def trail(self, request: Request) -> Response:
        by = await self.gate.principal(request)
        return present(await trail.page(self.gate.pool, by, query(request, trail.TrailFilter)))

    async def _told(self, by: Principal, command: ConfirmAction | DecideAction | RejectAction | WithdrawAction) -> Response:
        action = await self.gate.commands.ask(command)
        return present(await reads.get(self.gate.pool, by, action.id))
