"""A turn's stream as one UI message: what the encoder needs to know is read here, when it is needed."""

from collections.abc import Sequence

from askbus.access.model import PrincipalKind
from askbus.actions.model import ActionDetail, ActionState
from askbus.bus.signals import Piece
from askbus.turns.model import ERRORS, TurnDetail, TurnError, TurnState
from askbus_gateway.aisdk.encoder import MessageEncoder
from askbus_gateway.frontends.conversation import Conversation, ToldMessage
from askbus_gateway.frontends.telling import Telling
from askbus_gateway.frontends.transcript import Begin, Calls, End, Op, StartedCall, Text
from askbus_gateway.sse.response import HEADERS

UI_HEADERS = [*HEADERS, (b"x-vercel-ai-ui-message-stream", b"v1")]

INTERRUPTED = TurnError(code="unavailable", message="The stream was interrupted; the answer goes on. Resume it.", who="nobody")


class UiMessageView(Telling):
    """One response. `known`: the client has the steps up to this one; the others come from what is stored, and then live."""

    headers = UI_HEADERS
    interrupted = INTERRUPTED

    def __init__(self, encoder: MessageEncoder, conversation: Conversation, *, known: int = 0) -> None:
        super().__init__(conversation, known)
        self.encoder = encoder
        self.known = known

    def _opening(self) -> bytes:
        return self.encoder.start()

    def _failed(self, error: TurnError) -> bytes:
        return self.encoder.failed(error)

    def _card(self, action: ActionDetail) -> bytes:
        return self.encoder.action(action)

    async def _piece(self, piece: Piece) -> bytes:
        return await self._ops(self.transcript.take(piece))

    async def _state(self, turn: TurnDetail) -> bytes:
        return self.encoder.turn(turn) + await self._new_cards(turn)

    async def _begin(self) -> bytes:
        """Read while the pieces are subscribed to already: nothing falls between what is stored and what comes."""
        stored = [each for each in await self.conversation.messages(self.encoder.turn_id) if (each.step or 0) > self.known]
        self.transcript.told = max([self.known, *(each.step or 0 for each in stored)])
        return self._start() + b"".join([await self._stored(each) for each in stored])

    async def _stored(self, message: ToldMessage) -> bytes:
        """A step that is over, as it would have come."""
        started = tuple(StartedCall(id=str(call.id), name=call.name, label=call.label) for call in message.calls)
        ops: list[Op] = [Begin(message.step or 0), *([Text(message.text)] if message.text else [])]
        return await self._ops([*ops, *([Calls(started)] if started else []), End(message.step or 0)])

    async def _ops(self, ops: Sequence[Op]) -> bytes:
        out = b""
        for op in ops:
            if isinstance(op, Begin) and self.encoder.calling:
                out += await self._outcomes()
            out += self.encoder.op(op)
        return out

    async def _outcomes(self) -> bytes:
        return self.encoder.outcomes(await self.conversation.calls(self.encoder.turn_id))

    async def _paused(self, turn: TurnDetail) -> bytes:
        told = await self._ops(self.transcript.close()) + await self._new_cards(turn)
        calls = await self.conversation.calls(turn.id)
        questions = {question.id: question for question in await self.conversation.questions(turn.questions)}
        asked = [call for call in calls if call.question_id in turn.questions]
        told += self.encoder.outcomes(calls)
        told += b"".join(self.encoder.question(call, questions.get(call.question_id)) for call in asked if call.question_id)
        return told + self.encoder.turn(turn) + self.encoder.finish("tool-calls")

    async def _done(self, turn: TurnDetail) -> bytes:
        completed = turn.state is TurnState.COMPLETED
        told = await self._ops(self.transcript.settle(turn.step - 1, turn.answer or "") if completed else self.transcript.close())
        if self.encoder.calling:
            told += await self._outcomes()
        told += await self._new_cards(turn) + self.encoder.turn(turn)
        match turn.state:
            case TurnState.COMPLETED:
                return told + await self._approvals(turn) + self.encoder.finish("stop", turn.ungrounded)
            case TurnState.CANCELLED:
                return told + self.encoder.aborted()
            case _:
                return told + self.encoder.failed(turn.error or ERRORS["internal"])

    async def _approvals(self, turn: TurnDetail) -> bytes:
        """Asked of people alone: no token may confirm."""
        if self.conversation.by.kind is not PrincipalKind.SESSION or not turn.actions:
            return b""
        actions = await self.conversation.actions(turn.actions)
        return self.encoder.approvals([action for action in actions if action.state is ActionState.PENDING])
