"""The doors of agents on the bus: the same commands as everybody's, for the principal that the subject names.

The token is checked at each call; a body never says who is asking.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from askbus.access import reads as access
from askbus.access.model import Scope
from askbus.actions import reads, verbs
from askbus.actions.agents import Heard, HeardRequest, ListRequest, OneRequest, ProposeRequest, UntoldRequest
from askbus.actions.model import Action, ActionDetail, ActionPage, ProposeChanges, UntoldActions, WithdrawAction
from askbus.bus.app import TokenId
from askbus.db.pool import Pool
from askbus.errors import NotFound
from askbus_action_applier.handlers import Handlers


class Doors:
    """Handlers of `agent.<p>.action.<verb>`."""

    def __init__(self, pool: Pool, handlers: Handlers, committed: Callable[[], None]) -> None:
        self.pool = pool
        self.handlers = handlers
        self.committed = committed

    def table(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """Every verb of the doors, and what answers it."""
        return {
            "propose": self.on_propose,
            "get": self.on_get,
            "list": self.on_list,
            "withdraw": self.on_withdraw,
            "untold": self.on_untold,
            "heard": self.on_heard,
        }

    async def on_propose(self, request: ProposeRequest, token: TokenId) -> Action:
        by = await access.agent(self.pool, token, Scope.ACTIONS_PROPOSE)
        command = ProposeChanges(command_id=request.action_id, by=by, action_id=request.action_id, proposal=request.proposal)
        action = await self.handlers.on_propose_changes(command)
        self.committed()
        return action

    async def on_get(self, request: OneRequest, token: TokenId) -> ActionDetail:
        by = await access.agent(self.pool, token, Scope.ACTIONS_PROPOSE)
        action = await reads.get(self.pool, by, request.action_id)
        if action.proposer_id != by.id:
            raise NotFound("There is no such action of yours.")
        return action

    async def on_list(self, request: ListRequest, token: TokenId) -> ActionPage:
        by = await access.agent(self.pool, token, Scope.ACTIONS_PROPOSE)
        return await reads.list_page(self.pool, by, request.filter.model_copy(update={"mine": True}))

    async def on_withdraw(self, request: OneRequest, token: TokenId) -> Action:
        by = await access.agent(self.pool, token, Scope.ACTIONS_PROPOSE)
        command = WithdrawAction(command_id=request.action_id, by=by, action_id=request.action_id)
        action = await self.handlers.on_withdraw_action(command)
        self.committed()
        return action

    async def on_untold(self, request: UntoldRequest, token: TokenId) -> UntoldActions:
        by = await access.agent(self.pool, token, Scope.ACTIONS_PROPOSE)
        return await reads.untold(self.pool, by, limit=request.limit)

    async def on_heard(self, request: HeardRequest, token: TokenId) -> Heard:
        by = await access.agent(self.pool, token, Scope.ACTIONS_PROPOSE)
        await verbs.acknowledge(self.pool, request.action_id, by.id, request.heard)
        return Heard(action_id=request.action_id)
