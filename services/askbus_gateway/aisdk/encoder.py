"""A turn in the chunks of a UI message stream. Pure: what comes in has been read, what goes out is bytes to send.

A turn is one assistant message with the turn's id. Tools run here, so their parts are provider-executed, and carry no arguments and no
results; `ask_user` alone is the client's to complete, by addToolOutput. A pending change is a `data-action` part, and for people a tool
part of its own that asks for approval.
"""

from collections.abc import Sequence
from uuid import UUID

from pydantic import JsonValue
from pydantic_core import to_json

from askbus.actions.model import ActionDetail, ActionState
from askbus.grounding.model import Ungrounded
from askbus.questions.model import QuestionDetail
from askbus.turns.model import TurnDetail, TurnError
from askbus_gateway.frontends.cards import approval_id, card
from askbus_gateway.frontends.conversation import ToldCall
from askbus_gateway.frontends.transcript import Again, Begin, Calls, End, Op, StartedCall, Text

ASK = "ask_user"
CONFIRM = "confirm_changes"
"""The tool part under which a person approves a pending change."""
OWN = "askbus"
"""Where askbus's part of a message's metadata is."""
DONE = b"data: [DONE]\n\n"


def chunk(kind: str, **fields: object) -> bytes:
    """One chunk of the stream."""
    return b"data: " + to_json({"type": kind, **fields}) + b"\n\n"


class MessageEncoder:
    """One response."""

    def __init__(self, turn_id: UUID) -> None:
        self.turn_id = turn_id
        self._step = 0
        self._texts = 0
        self._text_open = False
        self._called: dict[str, str] = {}

    @property
    def calling(self) -> bool:
        """Whether the result of a call is still to be told."""
        return bool(self._called)

    def start(self) -> bytes:
        return chunk("start", messageId=str(self.turn_id))

    def op(self, op: Op) -> bytes:
        """A piece of the transcript."""
        match op:
            case Begin(step):
                self._step = step
                return chunk("start-step")
            case Again():
                self._text_open = False  # with the step's parts the client drops the text that it was at
                return chunk("reset-step")
            case Text(text):
                return self._text(text)
            case Calls(calls):
                return self._end_text() + b"".join(self._call(call) for call in calls)
            case End():
                return self._end_text() + chunk("finish-step")

    def _text(self, text: str) -> bytes:
        opened = b""
        if not self._text_open:
            self._text_open = True
            self._texts += 1
            opened = chunk("text-start", id=self._name())
        return opened + chunk("text-delta", id=self._name(), delta=text)

    def _end_text(self) -> bytes:
        if not self._text_open:
            return b""
        self._text_open = False
        return chunk("text-end", id=self._name())

    def _name(self) -> str:
        return f"{self._step}.{self._texts}"

    def _call(self, call: StartedCall) -> bytes:
        self._called[call.id] = call.name
        if call.name == ASK:
            return chunk("tool-input-start", toolCallId=call.id, toolName=ASK)
        title = {} if call.label is None else {"title": call.label}
        return chunk("tool-input-available", toolCallId=call.id, toolName=call.name, input={}, providerExecuted=True, **title)

    def owes(self, calls: Sequence[ToldCall]) -> None:
        """What became of these calls, which the client knows from before, is still to be told."""
        self._called |= {str(call.id): call.name for call in calls}

    def outcomes(self, calls: Sequence[ToldCall]) -> bytes:
        """What became of calls that are over and of which it was not told."""
        news = [call for call in calls if call.over and str(call.id) in self._called]
        return b"".join(self._outcome(call) for call in news)

    def _outcome(self, call: ToldCall) -> bytes:
        del self._called[str(call.id)]
        executed = {} if call.name == ASK else {"providerExecuted": True}
        if (failure := failure_of(call)) is not None:
            return chunk("tool-output-error", toolCallId=str(call.id), errorText=failure, **executed)
        return chunk("tool-output-available", toolCallId=str(call.id), output=outcome_of(call), **executed)

    def question(self, call: ToldCall, question: QuestionDetail | None) -> bytes:
        """An open question, as the input of the tool part that the client completes."""
        return chunk("tool-input-available", toolCallId=str(call.id), toolName=ASK, input=asked_of(call, question))

    def turn(self, turn: TurnDetail) -> bytes:
        """The turn's state, for whoever listens; no part of the message."""
        told = turn.model_dump(mode="json", include={"id", "state", "questions", "actions"})
        return chunk("data-turn", id=str(turn.id), data=told, transient=True)

    def action(self, action: ActionDetail) -> bytes:
        """The card of a proposed change, as it stands."""
        return chunk("data-action", id=str(action.id), data=card(action))

    def approvals(self, actions: Sequence[ActionDetail]) -> bytes:
        """A last step, in which a person is asked to approve each change."""
        if not actions:
            return b""
        return chunk("start-step") + b"".join(map(_approval, actions)) + chunk("finish-step")

    def decided(self, action: ActionDetail, *, approved: bool) -> bytes:
        """What became of a change once it was decided on, on the part that asked."""
        told: dict[str, JsonValue] = {"state": action.state.value, "headline": action.headline}
        if not approved or action.state in {ActionState.REJECTED, ActionState.WITHDRAWN, ActionState.EXPIRED}:
            return chunk("tool-output-denied", toolCallId=confirm_id(action)) + self.action(action)
        if action.state in {ActionState.FAILED, ActionState.CONFLICTED}:
            failed = f"The change was not made: it {action.state.value}."
            return chunk("tool-output-error", toolCallId=confirm_id(action), errorText=failed) + self.action(action)
        return chunk("tool-output-available", toolCallId=confirm_id(action), output=told) + self.action(action)

    def finish(self, reason: str, ungrounded: Sequence[Ungrounded] = ()) -> bytes:
        """`stop`, or `tool-calls` where the client has something to complete; with what is to be told of the answer's numbers."""
        told = {"messageMetadata": metadata(ungrounded)} if ungrounded else {}
        return self._end_text() + chunk("finish", finishReason=reason, **told) + DONE

    def aborted(self) -> bytes:
        return self._end_text() + chunk("abort", reason="stopped") + DONE

    def failed(self, error: TurnError) -> bytes:
        """The code for whoever listens, and the sentence for the reader."""
        told = error.model_dump(mode="json")
        return self._end_text() + chunk("data-error", data=told, transient=True) + chunk("error", errorText=error.message) + DONE


def metadata(ungrounded: Sequence[Ungrounded]) -> dict[str, JsonValue]:
    """A message's metadata: the numbers of its last text that have no source."""
    return {OWN: {"ungrounded": [number.model_dump(mode="json") for number in ungrounded]}}


def failure_of(call: ToldCall) -> str | None:
    """What is said of a call that failed; None of any other."""
    return f"The tool ended as {call.state}." if call.state in {"failed", "unknown"} else None


def outcome_of(call: ToldCall) -> dict[str, JsonValue]:
    """What became of a call, and which question or change it is about."""
    ids = {"question_id": call.question_id, "action_id": call.action_id}
    return {"state": call.state, **{name: str(value) for name, value in ids.items() if value is not None}}


def asked_of(call: ToldCall, question: QuestionDetail | None) -> dict[str, JsonValue]:
    """What a question's part is given to show."""
    shown = {"title", "text", "options", "multiple", "free_text", "answer_schema", "link"}
    told: dict[str, JsonValue] = {} if question is None else question.model_dump(mode="json", include=shown, exclude_none=True)
    return {"question_id": str(call.question_id), **told}


def confirm_id(action: ActionDetail) -> str:
    """The tool part that asks for the approval; the proposing call has the action's own id."""
    return f"confirm-{action.id}"


def _approval(action: ActionDetail) -> bytes:
    asked = chunk("tool-input-available", toolCallId=confirm_id(action), toolName=CONFIRM, input=card(action))
    return asked + chunk("tool-approval-request", toolCallId=confirm_id(action), approvalId=approval_id(action))
