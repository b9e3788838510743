"""What requests wait for: a question until it is settled, an action until it rests. Waiting holds a future and nothing else."""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from typing import Self, TypeVar
from uuid import UUID

from askbus.access.model import Principal, Sought
from askbus.actions import reads as actions
from askbus.actions.card import LONGEST_SHOWN
from askbus.actions.model import ActionDetail
from askbus.errors import AskbusError
from askbus.questions import reads as questions
from askbus.questions.model import QuestionDetail
from askbus_gateway.http.gate import Gate
from askbus_gateway.sse.waits import Awaited, Waits

T = TypeVar("T")


class Asked(QuestionDetail):
    """A question as an asker gets it. `status` is `pending` until there is an outcome, then that (Q2)."""

    status: str

    @classmethod
    def of(cls, question: QuestionDetail) -> Self:
        return cls(status=question.state.value if question.settled else "pending", **dict(question))


class Waiting:
    """The waits of this process, and how each kind of thing is read for many of them at once."""

    def __init__(self, gate: Gate, waits: Waits) -> None:
        self.gate = gate
        self.waits = waits
        self._question = Awaited[QuestionDetail](
            self._questions, done=lambda question: question.settled, ends=lambda question: question.expires_at
        )
        self._action = {longest: self._action_of(longest) for longest in (None, LONGEST_SHOWN)}

    def _action_of(self, longest: int | None) -> Awaited[ActionDetail]:
        return Awaited(
            partial(self._actions, longest=longest), done=lambda action: action.resting, ends=lambda action: action.ends
        )

    async def question(self, by: Principal, question_id: UUID, seconds: float) -> Asked:
        """The question once it is settled, or as it stands after `seconds`; without any, at once. Raises as `settled` does."""
        if seconds == 0:
            return Asked.of(await questions.get(self.gate.pool, by, question_id))
        return Asked.of(await self.settled(by, question_id, seconds))

    async def action(
        self, by: Principal, action_id: UUID, seconds: float, *, longest: int | None = LONGEST_SHOWN
    ) -> ActionDetail:
        """The action once it rests, the same way."""
        if seconds == 0:
            return await actions.get(self.gate.pool, by, action_id, longest=longest)
        return await self.at_rest(by, action_id, seconds, longest=longest)

    async def each(self, waits: Iterable[Awaitable[T]]) -> list[T]:
        """What all of these come to, in their order. Where one of them fails, none of the others is waited for."""
        begun = [asyncio.ensure_future(wait) for wait in waits]
        try:
            return await asyncio.gather(*begun)
        finally:
            for wait in begun:
                wait.cancel()

    async def settled(self, by: Principal, question_id: UUID, seconds: float) -> QuestionDetail:
        """The question once it is settled, or as it stands after `seconds`. Raises NotFound, and Unauthenticated where the session or
        token ended meanwhile."""
        return await self.waits.until(self._question, by, question_id, seconds)

    async def at_rest(
        self, by: Principal, action_id: UUID, seconds: float, *, longest: int | None = LONGEST_SHOWN
    ) -> ActionDetail:
        """The action once nothing more is expected to happen to it, or as it stands after `seconds`. Raises the same."""
        return await self.waits.until(self._action[longest], by, action_id, seconds)

    async def _questions(self, sought: Sequence[Sought]) -> Sequence[QuestionDetail | AskbusError]:
        return await self.gate.unless_ended(sought, await questions.get_each(self.gate.pool, sought))

    async def _actions(self, sought: Sequence[Sought], *, longest: int | None) -> Sequence[ActionDetail | AskbusError]:
        return await self.gate.unless_ended(sought, await actions.get_each(self.gate.pool, sought, longest=longest))
