"""Anthropic's messages wire from the server's side: a step of a script as the events of a stream, or as one body. Pure."""

import json
import re
import secrets
from collections.abc import Iterable

from pydantic import BaseModel, JsonValue

from askbus.testing.script import ChatMessage, ScriptedCall, Step
from askbus.testing.wire import Answer, Asked, Wire, slices

MODEL = "scripted on messages"
SIGNATURE = "c2lnbmVk"
_FRAGMENTS = 4
_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class _Message(BaseModel):
    role: str
    content: str | list[dict[str, JsonValue]]


class _Request(BaseModel):
    messages: list[_Message]
    stream: bool = False


def asked(body: JsonValue) -> Asked:
    """What the request asks for, its messages as the other wire would have them: one for each tool result."""
    request = _Request.model_validate(body)
    return Asked([one for message in request.messages for one in _chat(message)], request.stream, usage=True)


def _chat(message: _Message) -> Iterable[ChatMessage]:
    said: list[dict[str, JsonValue]] = []
    for block in _parts(message.content):
        if block["type"] == "tool_result":
            yield ChatMessage(role="tool", content=_parts(block.get("content")))
        else:
            said.append(block)
    if said:
        yield ChatMessage(role=message.role, content=said)


def _parts(content: JsonValue | list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
    """Content as parts: text alone is one."""
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    return [{"type": "text", "text": content}]


def error(status: int, message: str) -> bytes:
    """The body of a refusal."""
    return json.dumps({"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}).encode()


def stream_of(step: Step, prompt_bytes: int, usage: bool) -> Answer:  # noqa: ARG001  # this wire always tells it
    """The events of `step`: the message's head, text in pieces, calls in fragments, the reason of the end, and the end."""
    pieces: list[bytes] = []
    if step.thinking:
        deltas = [{"type": "thinking_delta", "thinking": step.thinking}, {"type": "signature_delta", "signature": SIGNATURE}]
        pieces += _block(0, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
    if step.text:
        words = [{"type": "text_delta", "text": piece} for piece in _words(step)]
        pieces += _block(int(bool(step.thinking)), {"type": "text", "text": ""}, words)
    for index, call in enumerate(step.tool_calls, bool(step.thinking) + bool(step.text)):
        written = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
        fragments = [{"type": "input_json_delta", "partial_json": piece} for piece in slices(written, _FRAGMENTS)]
        pieces += _block(index, {"type": "tool_use", "id": _call_id(call), "name": call.name, "input": {}}, fragments)
    head = {**_message([], None), "usage": {"input_tokens": prompt_bytes // 4, "output_tokens": 1}}
    end = {"delta": {"stop_reason": _reason(step), "stop_sequence": None}, "usage": {"output_tokens": len(pieces)}}
    opening = _event("message_start", message=head) + _event("ping")
    return Answer(opening, tuple(pieces), (_event("message_delta", **end), _event("message_stop")))


def body_of(step: Step, prompt_bytes: int) -> bytes:
    """The answer to a request that does not stream."""
    content: list[JsonValue] = [{"type": "text", "text": step.text}] if step.text else []
    for call in step.tool_calls:
        given = json.loads(call.arguments or "{}") if isinstance(call.arguments, str) else call.arguments
        content.append({"type": "tool_use", "id": _call_id(call), "name": call.name, "input": given})
    usage = {"input_tokens": prompt_bytes // 4, "output_tokens": len(step.text.split()) + len(step.tool_calls)}
    return json.dumps({**_message(content, _reason(step)), "usage": usage}).encode()


def _message(content: list[JsonValue], reason: str | None) -> dict[str, JsonValue]:
    named = {"id": "msg_scripted", "type": "message", "role": "assistant", "model": MODEL}
    return {**named, "content": content, "stop_reason": reason, "stop_sequence": None}


def _block(index: int, start: dict[str, JsonValue], deltas: list[dict[str, str]]) -> list[bytes]:
    """One piece for each delta; the block's start comes with the first and its end with the last."""
    events = [_event("content_block_delta", index=index, delta=delta) for delta in deltas] or [b""]
    events[0] = _event("content_block_start", index=index, content_block=start) + events[0]
    events[-1] += _event("content_block_stop", index=index)
    return events


def _event(kind: str, **more: object) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def _words(step: Step) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", step.text) if step.chunks is None else slices(step.text, step.chunks)


def _reason(step: Step) -> str:
    word = step.finish or ("tool_calls" if step.tool_calls else "stop")
    return _STOP_REASONS.get(word, word)


def _call_id(call: ScriptedCall) -> str:
    return call.id or f"toolu_{secrets.token_hex(12)}"


MESSAGES = Wire("/messages", asked, stream_of, body_of, error)
