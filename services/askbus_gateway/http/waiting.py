"""What requests wait for: a question until it is settled, an action until it rests. Waiting holds a future and nothing else."""

from collections.abc import Sequence
from functools import partial
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
