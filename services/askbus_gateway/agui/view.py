"""A turn's stream as one AG-UI run: what the encoder needs to know is read here, when it is needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic import JsonValue

from askbus.actions.model import ActionDetail, ActionState
from askbus.bus.signals import Piece
from askbus.questions.model import QuestionDetail
from askbus.turns.model import ERRORS, TurnDetail, TurnError, TurnState
from askbus_gateway.agui.encoder import RunEncoder, approval_interrupt, question_interrupt
from askbus_gateway.frontends.conversation import Conversation, ToldCall, ToldMessage
from askbus_gateway.frontends.telling import Telling
from askbus_gateway.frontends.transcript import Again, Begin, Op
from askbus_gateway.sse.response import HEADERS

OWN = "askbus"
"""Where askbus's part of the state that front end and agent share is."""
INTERRUPTED = TurnError(
    code="unavailable",
    message="The stream was interrupted; the request itself goes on. Open the conversation again.",
    who="nobody",
)


@dataclass(frozen=True)
class Run:
    """What the client asked for. `joins`: it is to be given the conversation so far. `blocking`: it wants pending changes to hold up the
    run. `state` is its own state, which is given back with askbus's beside it. `told`: the steps up to this one are known to it."""

    joins: bool
    blocking: bool
    state: JsonValue
    told: int = 0


class AguiView(Telling):
    """One run of a client."""

    headers = HEADERS
    interrupted = INTERRUPTED

    def __init__(self, encoder: RunEncoder, conversation: Conversation, run: Run) -> None:
        super().__init__(conversation, run.told)
        self.encoder = encoder
        self.run = run

    def _opening(self) -> bytes:
        return self.encoder.started()

    def _failed(self, error: TurnError) -> bytes:
        return self.encoder.failed(error)

    def _card(self, action: ActionDetail) -> bytes:
        return self.encoder.action(action)

    async def _piece(self, piece: Piece) -> bytes:
        return await self._ops(self.transcript.take(piece))

    async def _state(self, turn: TurnDetail) -> bytes:
        return await self._new_cards(turn)

    async def _begin(self) -> bytes:
        """Read while the pieces are subscribed to already: nothing falls between what is stored and what comes."""
        if not self.run.joins:
            return self._start()
        messages = await self.conversation.messages()
        own = [message for message in messages if message.turn_id == self.encoder.turn_id]
        self.transcript.told = max((message.step or 0 for message in own), default=0)
        self.encoder.owes([call for message in own for call in message.calls if not call.over])
        return self._start() + self.encoder.messages(messages)

    async def _ops(self, ops: Sequence[Op]) -> bytes:
        out = b""
        for op in ops:
            if isinstance(op, Begin) and self.encoder.calling:
                out += await self._results()
            if isinstance(op, Again):
                out += self.encoder.messages(
                    [each for each in await self.conversation.messages() if not self._from(each, op.step)]
                )
            out += self.encoder.op(op)
        return out

    def _from(self, message: ToldMessage, step: int) -> bool:
        """Whether the message is one of this turn's, from this step on."""
        return message.turn_id == self.encoder.turn_id and message.step is not None and message.step >= step

    async def _results(self) -> bytes:
        calls = await self.conversation.calls(self.encoder.turn_id)
        return self.encoder.results(calls, held=await self._held(calls))

    async def _held(self, calls: Sequence[ToldCall]) -> frozenset[UUID]:
        """The calls whose proposal the client holds its run up for: they have their result once that is decided."""
        if not self.run.blocking:
            return frozenset()
        pending = set(await self.conversation.pending())
        return frozenset(call.id for call in calls if call.action_id in pending)

    async def _paused(self, turn: TurnDetail) -> bytes:
        told = await self._ops(self.transcript.close()) + await self._new_cards(turn)
        questions = {question.id: question for question in await self.conversation.questions(turn.questions)}
        return told + await self._interrupt(turn, [(question_id, questions.get(question_id)) for question_id in turn.questions])

    async def _done(self, turn: TurnDetail) -> bytes:
        completed = turn.state is TurnState.COMPLETED
        told = await self._ops(self.transcript.settle(turn.step - 1, turn.answer or "") if completed else self.transcript.close())
        if self.encoder.calling:
            told += await self._results()
        told += await self._new_cards(turn)
        if self.transcript.gap:
            told += self.encoder.messages(await self.conversation.messages())
        if completed:
            told += self.encoder.numbers(turn.step - 1, turn.ungrounded)
        match turn.state:
            case TurnState.COMPLETED if self.run.blocking:
                return told + await self._interrupt(turn, [])
            case TurnState.COMPLETED:
                return told + self.encoder.succeeded()
            case TurnState.CANCELLED:
                return told + self.encoder.cancelled()
            case _:
                return told + self.encoder.failed(turn.error or ERRORS["internal"])

    async def _interrupt(self, turn: TurnDetail, questions: Sequence[tuple[UUID, QuestionDetail | None]]) -> bytes:
        """Ends the run for what a person has to decide; well, where there is nothing."""
        calls = await self.conversation.calls(turn.id)
        pending = await self._pending(turn) if self.run.blocking else []
        interrupts = [
            *(question_interrupt(question_id, question, calls) for question_id, question in questions),
            *(approval_interrupt(action, calls) for action in pending),
        ]
        if not interrupts:
            return self.encoder.succeeded()
        held = frozenset(call.id for call in calls if call.action_id in {action.id for action in pending})
        return (
            self.encoder.results(calls, held=held)
            + self.encoder.state(with_turn(self.run.state, turn))
            + self.encoder.messages(await self.conversation.messages(), held=held)
            + self.encoder.interrupted(interrupts)
        )

    async def _pending(self, turn: TurnDetail) -> list[ActionDetail]:
        return [each for each in await self.conversation.actions(turn.actions) if each.state is ActionState.PENDING]


def with_turn(state: JsonValue, turn: TurnDetail) -> JsonValue:
    """The client's own state, which is its own, with the turn's beside it where the state is an object."""
    shown: JsonValue = turn.model_dump(mode="json", include={"id", "state", "questions", "actions"})
    if state is None:
        return {OWN: shown}
    return {**state, OWN: shown} if isinstance(state, dict) else state
