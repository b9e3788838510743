"""A stored history as exchanges that any wire can carry: each call answered once, right after the message that made it. Pure.

History comes from a database that outlives crashes, stops, model switches and old versions, so nothing about it is assumed. This is the
one place that guarantees the pairing; the wires only spell it.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from askbus.models.model import (
    AssistantMessage,
    Cut,
    Image,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from askbus.models.quoting import NOTE, quoted

_NOT_EXECUTED: dict[Cut | None, str] = {
    "stopped": "not executed: stopped by the user",
    "failed": "not executed: the turn failed",
    "length": "not executed: the answer reached the output limit",
    None: "not executed: no result was recorded",
}
LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the model said, and a result for each of its calls, in their order."""

    said: AssistantMessage
    results: tuple[ToolResult, ...]


def exchanges(messages: Sequence[Message]) -> list[UserMessage | Exchange]:
    """The history paired. Results without a call and second results of a call are left out; calls without a result get one that says
    why they have none; an assistant message that says nothing is left out."""
    answers = _answers(messages)
    paired: list[UserMessage | Exchange] = []
    for at, message in enumerate(messages):
        if isinstance(message, UserMessage):
            paired.append(message)
        elif isinstance(message, AssistantMessage) and (message.text.strip() or message.tool_calls):
            calls = {call.id: call for call in reversed(message.tool_calls)}
            if len(calls) < len(message.tool_calls):  # two of one id cannot be told apart: the first stands
                message = message.model_copy(update={"tool_calls": tuple(reversed(calls.values()))})  # noqa: PLW2901
            results = tuple(answers.get((at, call.id)) or _unanswered(message, call) for call in message.tool_calls)
            paired.append(Exchange(message, results))
    return paired


def _answers(messages: Sequence[Message]) -> dict[tuple[int, str], ToolResult]:
    """Each result by the place of the message that made its call: the nearest one before it with that id, since some endpoints number
    the calls of every answer from zero."""
    asked: dict[str, int] = {}
    answers: dict[tuple[int, str], ToolResult] = {}
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asked.update({call.id: at for call in message.tool_calls})
        elif isinstance(message, ToolResult) and message.call_id in asked:
            answers.setdefault((asked[message.call_id], message.call_id), message)
    return answers


def _unanswered(message: AssistantMessage, call: ToolCall) -> ToolResult:
    reason = _NOT_EXECUTED[message.cut]
    text = reason if message.cut in {"stopped", "failed"} else call.refusal or reason
    return ToolResult(call_id=call.id, name=call.name, text=text, error=True)


def restated(paired: Sequence[UserMessage | Exchange]) -> list[UserMessage | Exchange]:
    """The same history for an endpoint that carries no tool messages: calls and results as quoted user text with name and id."""
    plain: list[UserMessage | Exchange] = []
    for one in paired:
        if isinstance(one, UserMessage):
            plain.append(one)
            continue
        if one.said.text.strip():
            plain.append(Exchange(AssistantMessage(text=one.said.text, cut=one.said.cut), ()))
        if one.results:
            plain.append(_quoted(one))
    return plain


def _quoted(exchange: Exchange) -> UserMessage:
    """Calls and results in frames that they cannot close."""
    lines = [f"{NOTE}The tools that you called, and what came back:"]
    parts: list[Image] = []
    for call, result in zip(exchange.said.tool_calls, exchange.results, strict=True):
        name = f"{wire_name(call.name)} (call {wire_name(call.id)})"
        asked = json.dumps(call.arguments or {}, ensure_ascii=False)
        lines += [
            f"You called {name} with",
            quoted(asked),
            f"{'Error' if result.error else 'Result'} of {name}:",
            quoted(result.text),
        ]
        parts += result.parts
    return UserMessage(text="\n".join(lines), parts=tuple(parts))


def in_progress(paired: Sequence[UserMessage | Exchange]) -> int:
    """The place of the last user message: what stands after it is the turn in progress. -1 where nobody has said anything."""
    return max((at for at, one in enumerate(paired) if isinstance(one, UserMessage)), default=-1)


def wire_name(name: str) -> str:
    """A name that a model made up may be none: endpoints refuse a whole history for it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:LONGEST_NAME] or "unknown"


def hashed_id(call_id: str) -> str:
    """An id that every wire accepts, the same for the same id."""
    return f"call_{hashlib.sha256(call_id.encode(errors='surrogatepass')).hexdigest()[:24]}"
