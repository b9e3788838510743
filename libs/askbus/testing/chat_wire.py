"""The OpenAI chat-completions wire from the server's side: a step of a script as the events of a stream, or as one body. Pure."""

import json
import re
import secrets
from functools import lru_cache

from pydantic import BaseModel, JsonValue

from askbus.testing.script import ChatMessage, ScriptedCall, Step
from askbus.testing.wire import Answer, Asked, Wire, slices

MODEL = "scripted"
DONE = b"data: [DONE]\n\n"
_FRAME = '"id":"chatcmpl-scripted","object":"chat.completion.chunk","created":1767225600,"model":"scripted"'
_FRAGMENTS = 4


class _Request(BaseModel):
    messages: list[ChatMessage]
    stream: bool = False
    stream_options: dict[str, JsonValue] | None = None


def asked(body: JsonValue) -> Asked:
    """What the request asks for."""
    request = _Request.model_validate(body)
    return Asked(request.messages, request.stream, bool((request.stream_options or {}).get("include_usage")))


def error(_status: int, message: str) -> bytes:
    """The body of a refusal."""
    return json.dumps({"error": {"message": message, "type": None, "code": None}}).encode()


def stream_of(step: Step, prompt_bytes: int, usage: bool) -> Answer:
    """The events of `step`: the role, text in pieces, calls in fragments, the finish, usage if asked for, and `[DONE]`."""
    pieces: tuple[bytes, ...] = (_chunk(json.dumps({"reasoning_content": step.thinking})),) if step.thinking else ()
    pieces += _text_events(step.text, step.chunks) if step.text else ()
    for index, call in enumerate(step.tool_calls):
        pieces += _call_events(index, call)
    ending = [_chunk("{}", step.finish or ("tool_calls" if step.tool_calls else "stop"))]
    if usage:
        ending.append(f'data: {{{_FRAME},"choices":[],"usage":{json.dumps(_usage(prompt_bytes, len(pieces)))}}}\n\n'.encode())
    return Answer(_OPENING, pieces, (*ending, DONE))


def body_of(step: Step, prompt_bytes: int) -> bytes:
    """The answer to a request that does not stream."""
    calls = [
        {"id": _call_id(call), "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
        for call in step.tool_calls
    ]
    message = {"role": "assistant", "content": step.text or None, **({"tool_calls": calls} if calls else {})}
    finish = step.finish or ("tool_calls" if calls else "stop")
    return json.dumps(
        {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 1767225600,
            "model": MODEL,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": _usage(prompt_bytes, len(step.text.split()) + len(calls)),
        }
    ).encode()


def _chunk(delta: str, finish: str | None = None) -> bytes:
    return f'data: {{{_FRAME},"choices":[{{"index":0,"delta":{delta},"finish_reason":{json.dumps(finish)}}}]}}\n\n'.encode()


_OPENING = _chunk('{"role":"assistant","content":""}')


@lru_cache(maxsize=256)
def _text_events(text: str, chunks: int | None) -> tuple[bytes, ...]:
    """Encoded once for each text, so that a benchmark measures its subject and not this server."""
    pieces = re.findall(r"\s*\S+|\s+$", text) if chunks is None else slices(text, chunks)
    return tuple(_chunk(json.dumps({"content": piece})) for piece in pieces)


def _call_events(index: int, call: ScriptedCall) -> tuple[bytes, ...]:
    """As OpenAI does it: id, name and empty arguments first, then the arguments in fragments."""
    first = {"index": index, "id": _call_id(call), "type": "function", "function": {"name": call.name, "arguments": ""}}
    fragments = [{"index": index, "function": {"arguments": piece}} for piece in slices(_arguments(call), _FRAGMENTS)]
    return tuple(_chunk(json.dumps({"tool_calls": [entry]})) for entry in (first, *fragments))


def _arguments(call: ScriptedCall) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def _call_id(call: ScriptedCall) -> str:
    return call.id or f"call_{secrets.token_hex(12)}"


def _usage(prompt_bytes: int, pieces: int) -> dict[str, int]:
    """A rough count, four bytes to the token, that is the same for the same conversation."""
    sent = prompt_bytes // 4
    return {"prompt_tokens": sent, "completion_tokens": pieces, "total_tokens": sent + pieces}


CHAT = Wire("/chat/completions", asked, stream_of, body_of, error)
