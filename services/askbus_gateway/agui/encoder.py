"""A turn in AG-UI's events. Pure: what comes in has been read, what goes out is bytes to send.

Whatever is opened (a message, a step) is closed before the run ends, and a run always ends with RUN_FINISHED or RUN_ERROR. What clients
before protocol 1.0 refuse, the outcome `cancelled`, is sent only to those that declare a version.
"""

from collections.abc import Sequence
from typing import Literal
from uuid import UUID

from pydantic import JsonValue
from pydantic_core import to_json

from askbus.actions.model import ActionDetail
from askbus.grounding.model import Ungrounded
from askbus.questions.model import QuestionDetail
from askbus.turns.model import TurnError
from askbus_gateway.frontends.cards import approval_id, card
from askbus_gateway.frontends.conversation import ToldCall, ToldMessage, message_id
from askbus_gateway.frontends.transcript import Again, Begin, Calls, End, Op, Text

PROTOCOL_VERSION = "1.0"
"""Held to the protocol's own package by the tests: to import that costs a starting gateway a fifth of a second."""
CARD = "askbus.action"
"""The activity type of a proposed change."""
NUMBERS = "askbus.ungrounded"
"""The event that names numbers of an answer."""

APPROVAL: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approved"],
}


def event(kind: str, **fields: object) -> bytes:
    """One event: LF only, and JSON on one line."""
    return b"data: " + to_json({"type": kind, **fields}) + b"\n\n"


class RunEncoder:
    """One run. `declared`: the client said which protocol version it speaks."""

    def __init__(self, thread_id: str, run_id: str, turn_id: UUID, *, declared: bool) -> None:
        self.thread_id = thread_id
        self.run_id = run_id
        self.turn_id = turn_id
        self.declared = declared
        self._number = 0
        self._message: str | None = None
        self._step: str | None = None
        self._called: dict[str, str] = {}
        """The calls whose result was not told, by name."""

    def owes(self, calls: Sequence[ToldCall]) -> None:
        """The results of these calls, begun in an earlier run, are still to be told."""
        self._called |= {str(call.id): call.name for call in calls}

    @property
    def calling(self) -> bool:
        """Whether the result of a call is still to be told."""
        return bool(self._called)

    def started(self) -> bytes:
        version = {"protocolVersion": PROTOCOL_VERSION} if self.declared else {}
        return event("RUN_STARTED", threadId=self.thread_id, runId=self.run_id, **version)

    def op(self, op: Op) -> bytes:
        """A piece of the transcript. Before `Again` come the messages as they are without what is taken back: see `messages`."""
        match op:
            case Begin(step):
                return self._end_step() + self._begin_step(step)
            case Again(step):
                return b"" if self._step else self._begin_step(step)
            case Text(text):
                return self._text(text)
            case Calls(calls):
                self._called |= {call.id: call.name for call in calls}
                return self._end_message() + b"".join(self._call(call.id, call.name) for call in calls)
            case End():
                return self._end_step()

    def _begin_step(self, step: int) -> bytes:
        self._number, self._step = step, f"step {step}"
        return event("STEP_STARTED", stepName=self._step)

    def _end_step(self) -> bytes:
        closed = self._end_message()
        if self._step is None:
            return closed
        name, self._step = self._step, None
        return closed + event("STEP_FINISHED", stepName=name)

    def _text(self, text: str) -> bytes:
        opened = b""
        if self._message is None:
            self._message = self._id()
            opened = event("TEXT_MESSAGE_START", messageId=self._message, role="assistant")
        return opened + event("TEXT_MESSAGE_CONTENT", messageId=self._message, delta=text)

    def _end_message(self) -> bytes:
        if self._message is None:
            return b""
        name, self._message = self._message, None
        return event("TEXT_MESSAGE_END", messageId=name)

    def _id(self) -> str:
        return message_id(self.turn_id, self._number)

    def _call(self, call_id: str, name: str) -> bytes:
        return (
            event("TOOL_CALL_START", toolCallId=call_id, toolCallName=name, parentMessageId=self._id())
            + event("TOOL_CALL_ARGS", toolCallId=call_id, delta="{}")
            + event("TOOL_CALL_END", toolCallId=call_id)
        )

    def results(self, calls: Sequence[ToldCall], *, held: frozenset[UUID] = frozenset()) -> bytes:
        """What became of calls whose result was not told and that are over. `held`: those that a person still decides on."""
        news = [call for call in calls if str(call.id) in self._called and call.over and call.id not in held]
        for call in news:
            del self._called[str(call.id)]
        return b"".join(result(call) for call in news)

    def action(self, action: ActionDetail) -> bytes:
        """The card of a proposed change, as it stands."""
        return event("ACTIVITY_SNAPSHOT", messageId=str(action.id), activityType=CARD, content=card(action), replace=True)

    def messages(self, told: Sequence[ToldMessage], *, held: frozenset[UUID] = frozenset()) -> bytes:
        """The whole conversation, which takes the place of what the client has."""
        closed = self._end_message()
        return closed + event("MESSAGES_SNAPSHOT", messages=[shown for message in told for shown in _messages(message, held)])

    def numbers(self, step: int, ungrounded: Sequence[Ungrounded]) -> bytes:
        """The numbers of the answer that have no source; its message is closed before."""
        if not ungrounded:
            return b""
        told = {"messageId": message_id(self.turn_id, step), "ungrounded": [each.model_dump(mode="json") for each in ungrounded]}
        return self._end_message() + event("CUSTOM", name=NUMBERS, value=told)

    def state(self, snapshot: JsonValue) -> bytes:
        return event("STATE_SNAPSHOT", snapshot=snapshot)

    def interrupted(self, interrupts: Sequence[dict[str, JsonValue]]) -> bytes:
        """The run is over until a person has decided."""
        return self._finished({"type": "interrupt", "interrupts": list(interrupts)})

    def succeeded(self) -> bytes:
        return self._finished({"type": "success"})

    def cancelled(self) -> bytes:
        return self._finished({"type": "cancelled"} if self.declared else None)

    def _finished(self, outcome: dict[str, object] | None) -> bytes:
        said = {} if outcome is None else {"outcome": outcome}
        return self._end_step() + event("RUN_FINISHED", threadId=self.thread_id, runId=self.run_id, **said)

    def failed(self, error: TurnError) -> bytes:
        return self._end_step() + event("RUN_ERROR", message=error.message, code=error.code)


def result(call: ToldCall) -> bytes:
    """What became of a call, without its content."""
    return event("TOOL_CALL_RESULT", messageId=_result_id(call), toolCallId=str(call.id), content=_content(call), role="tool")


def _result_id(call: ToldCall) -> str:
    return f"{call.id}.result"


def _content(call: ToldCall) -> str:
    ids = {"question_id": call.question_id, "action_id": call.action_id}
    return to_json({"state": call.state, **{name: value for name, value in ids.items() if value is not None}}).decode()


def _messages(message: ToldMessage, held: frozenset[UUID]) -> list[dict[str, JsonValue]]:
    shown: dict[str, JsonValue] = {"id": message.id, "role": message.role, "content": message.text}
    if message.calls:
        shown["toolCalls"] = [
            {"id": str(call.id), "type": "function", "function": {"name": call.name, "arguments": "{}"}} for call in message.calls
        ]
    results: list[dict[str, JsonValue]] = [
        {"id": _result_id(call), "role": "tool", "toolCallId": str(call.id), "content": _content(call)}
        for call in message.calls
        if call.over and call.id not in held
    ]
    return [shown, *results]


def question_interrupt(question_id: UUID, question: QuestionDetail | None, calls: Sequence[ToldCall]) -> dict[str, JsonValue]:
    """An open question, to be resumed with its answer as the payload. Its text is missing where a token may not read questions."""
    interrupt: dict[str, JsonValue] = {"id": str(question_id), "reason": "input_required"}
    if by := [str(call.id) for call in calls if call.question_id == question_id]:
        interrupt["toolCallId"] = by[0]
    if question is not None:
        interrupt |= {"message": question.text, "responseSchema": answer_schema(question)}
        told = question.model_dump(mode="json", include={"title", "options", "multiple", "free_text", "link"}, exclude_none=True)
        interrupt["metadata"] = {"askbus": told}
    return interrupt


def answer_schema(question: QuestionDetail) -> dict[str, JsonValue]:
    """What an answer may be, as a JSON schema."""
    if question.answer_schema is not None:
        schema: dict[str, JsonValue] = question.answer_schema.model_dump(mode="json", exclude_none=True)
        return schema
    one: dict[str, JsonValue] = {"type": "string"}
    if question.options and not question.free_text:
        one["enum"] = list(question.options)
    return {"type": "array", "items": one} if question.multiple else one


def approval_interrupt(action: ActionDetail, calls: Sequence[ToldCall]) -> dict[str, JsonValue]:
    """A pending action, to be resumed with `{"approved": true}` or `{"approved": false}`. Its id binds the decision to what was shown."""
    reason: Literal["tool_call", "confirmation"] = "confirmation"
    interrupt: dict[str, JsonValue] = {"id": approval_id(action), "message": action.headline, "responseSchema": APPROVAL}
    if by := [str(call.id) for call in calls if call.action_id == action.id]:
        reason, interrupt["toolCallId"] = "tool_call", by[0]
    return interrupt | {"reason": reason, "metadata": {"askbus": {"action_id": str(action.id), "digest": action.digest}}}
