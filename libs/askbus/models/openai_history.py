"""The outbound way: a neutral request as the body of an OpenAI-compatible chat completion. Pure.

This is the one place that guarantees the wire's pairing rules: each call is answered once, right after the message that made it.

History comes from a database that outlives crashes, stops, model switches and old versions, so nothing about it is assumed.
"""

import hashlib
import json
import re
from collections.abc import Sequence

from askbus.models.clean import clean_text
from askbus.models.model import (
    AssistantMessage,
    Cut,
    JsonObject,
    Message,
    ModelRequest,
    ToolCall,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from askbus.models.openai_assembler import REASONING_DETAILS, REASONING_FIELDS

_NOT_EXECUTED: dict[Cut | None, str] = {
    "stopped": "not executed: stopped by the user",
    "failed": "not executed: the turn failed",
    "length": "not executed: the answer reached the output limit",
    None: "not executed: no result was recorded",
}
LONGEST_ID = 40
"""OpenAI refuses longer call ids in a history; other endpoints make them."""


def request_body(request: ModelRequest, *, model: str, maker: str) -> JsonObject:
    """The body of `POST chat/completions`, streamed and with usage. `maker` says whose provider data goes along."""
    body: JsonObject = {
        "model": model,
        "messages": [*_system(request.system), *wire_messages(request.messages, maker)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return body


def wire_messages(messages: Sequence[Message], maker: str) -> list[JsonObject]:
    """The messages on the wire. Results without a call and second results of a call are left out; calls without a result get one
    that says why they have none; messages that say nothing are left out."""
    answers = _answers(messages)
    last_user = max((at for at, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1)
    wire: list[JsonObject] = []
    for at, message in enumerate(messages):
        if isinstance(message, UserMessage):
            wire.append({"role": "user", "content": clean_text(message.text)})
        elif isinstance(message, AssistantMessage) and (message.text or message.tool_calls):
            own = message.provider_data is not None and message.provider_data.maker == maker
            wire.append(_assistant(message, own=own, in_progress=at > last_user))
            for call in message.tool_calls:
                text = answers.get((at, call.id), _unanswered(message, call))
                wire.append({"role": "tool", "tool_call_id": _wire_id(call.id, own), "content": clean_text(text)})
    return wire


def _answers(messages: Sequence[Message]) -> dict[tuple[int, str], str]:
    """The text of each result by the place of the message that made its call: the nearest one before it with that id, since
    some endpoints number the calls of every answer from zero."""
    asked: dict[str, int] = {}
    answers: dict[tuple[int, str], str] = {}
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asked.update({call.id: at for call in message.tool_calls})
        elif isinstance(message, ToolResult) and message.call_id in asked:
            answers.setdefault((asked[message.call_id], message.call_id), message.text)
    return answers


def _unanswered(message: AssistantMessage, call: ToolCall) -> str:
    if message.cut in {"stopped", "failed"}:
        return _NOT_EXECUTED[message.cut]
    return call.refusal or _NOT_EXECUTED[message.cut]


def _system(text: str) -> list[JsonObject]:
    return [{"role": "system", "content": clean_text(text)}] if text else []


def _assistant(message: AssistantMessage, *, own: bool, in_progress: bool) -> JsonObject:
    wire: JsonObject = {"role": "assistant", "content": clean_text(message.text) or None}
    if message.tool_calls:
        wire["tool_calls"] = [_call(call, own) for call in message.tool_calls]
    if own and in_progress and message.provider_data is not None:
        wire.update(_reasoning(message.provider_data.data))
    return wire


def _reasoning(data: JsonObject) -> JsonObject:
    """The reasoning that goes back, verbatim and under its own name. Only inside the turn in progress: endpoints that think
    between tool calls need it there, and drop or refuse that of earlier turns. Inline thoughts never go back."""
    if REASONING_DETAILS in data:
        return {REASONING_DETAILS: data[REASONING_DETAILS]}
    return {name: data[name] for name in REASONING_FIELDS if name in data}


def _call(call: ToolCall, own: bool) -> JsonObject:
    wire: JsonObject = {
        "id": _wire_id(call.id, own),
        "type": "function",
        "function": {"name": _wire_name(call.name), "arguments": _wire_arguments(call)},
    }
    if own and call.extra is not None:
        wire["extra_content"] = call.extra
    return wire


def _wire_arguments(call: ToolCall) -> str:
    """Always the text of a JSON object: what the model wrote if that is one, else `{}`."""
    if call.arguments is None:
        return "{}"
    escapes = "\\u" in call.arguments_text  # may hide what was cleaned out of the values
    return json.dumps(call.arguments) if escapes or not call.arguments_text.strip() else clean_text(call.arguments_text)


def _wire_name(name: str) -> str:
    """A name that a model made up may be none: endpoints refuse a whole history for it."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _wire_id(call_id: str, own: bool) -> str:
    if own or 0 < len(call_id) <= LONGEST_ID:
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"


def _tool(tool: ToolDefinition) -> JsonObject:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
