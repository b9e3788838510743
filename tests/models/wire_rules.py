"""What the two wires demand of a request, as their providers' documentation states it: the judges of whatever we send."""

import json
import re
from base64 import b64decode
from itertools import pairwise

from pydantic import JsonValue

from askbus.models.config import ModelConfig
from askbus.models.model import JsonObject

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
IMAGES = {"image/png", "image/jpeg", "image/webp", "image/gif"}


def listed(value: JsonValue) -> list[JsonObject]:
    """A list of objects, which it must be."""
    assert isinstance(value, list)
    assert all(isinstance(item, dict) for item in value)
    return [item for item in value if isinstance(item, dict)]


def inner(value: JsonValue) -> JsonObject:
    """An object, which it must be."""
    assert isinstance(value, dict)
    return value


def check_encodable(body: JsonObject) -> None:
    """UTF-8 without NUL (Postgres's rule and, in practice, the providers')."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    text.encode()
    assert "\\u0000" not in text


def check_openai(body: JsonObject, config: ModelConfig) -> None:
    """Each call answered once, right after its message; no result without a call; no message without content; parts that it takes."""
    check_encodable(body)
    messages = listed(body["messages"])
    waiting: list[JsonValue] = []
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "tool":
            assert isinstance(content, str)
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, "a call was not answered"
        if role == "assistant":
            waiting = _openai_calls(message)
            assert waiting or (isinstance(content, str) and content)
        elif role == "user":
            _check_openai_content(content, config)
        else:
            assert (role, message) == ("system", messages[0])
    assert not waiting, "a call was not answered"
    roles = [message["role"] for message in messages]
    if not config.tool_messages:
        assert "tool" not in roles
        assert ("user", "user") not in pairwise(roles) or config.images or config.documents
    if not config.user_after_tools:
        assert ("tool", "user") not in pairwise(roles)
    assert body.get("tools") != []


def _openai_calls(message: JsonObject) -> list[JsonValue]:
    assert message.get("tool_calls") != []
    ids: list[JsonValue] = []
    for call in listed(message.get("tool_calls", [])):
        function = inner(call["function"])
        assert isinstance(json.loads(str(function["arguments"])), dict)
        assert NAME.fullmatch(str(function["name"]))
        assert call["id"]
        ids.append(call["id"])
    assert len(ids) == len({str(call_id) for call_id in ids})
    return ids


def _check_openai_content(content: JsonValue, config: ModelConfig) -> None:
    if isinstance(content, str):
        return
    parts = listed(content)
    assert parts
    for part in parts:
        if part["type"] == "text":
            assert str(part["text"]).strip()
        elif part["type"] == "image_url":
            assert config.images
            assert _data_url(inner(part["image_url"])["url"]) in IMAGES
        else:
            assert part["type"] == "file"
            assert config.documents
            assert _data_url(inner(part["file"])["file_data"]) == "application/pdf"


def _data_url(url: JsonValue) -> str:
    found = re.fullmatch(r"data:([a-z/]+);base64,(.*)", str(url), re.DOTALL)
    assert found
    b64decode(found[2], validate=True)
    return found[1]


def check_anthropic(body: JsonObject, config: ModelConfig) -> None:
    """Roles alternate, from user to user; calls are answered in the next message, before all else; ids are unique; no blank text; at most
    four cache breakpoints, none on a thought; no prefill, no thinking budget."""
    check_encodable(body)
    assert isinstance(body["max_tokens"], int)
    assert body.get("thinking") in (None, {"type": "adaptive"})
    messages = listed(body["messages"])
    assert [message["role"] for message in messages] == [("user", "assistant")[at % 2] for at in range(len(messages))]
    assert messages
    assert messages[-1]["role"] == "user"
    asked: list[JsonValue] = []
    seen: set[JsonValue] = set()
    for message in messages:
        blocks = listed(message["content"])
        assert blocks
        if message["role"] == "user":
            answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            assert answered == asked
            assert all(block["type"] == "tool_result" for block in blocks[: len(answered)])
        else:
            asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
            assert not seen.intersection(asked)
            assert len(set(map(str, asked))) == len(asked)
            seen.update(asked)
        for block in blocks:
            _check_block(block, str(message["role"]), config)
        asked = asked if message["role"] == "assistant" else []
    if not config.tool_messages:
        assert not seen
    _check_breakpoints(body)


def _check_block(block: JsonObject, role: str, config: ModelConfig) -> None:
    kind = block["type"]
    if kind == "text":
        assert str(block["text"]).strip()
    elif kind == "tool_use":
        assert role == "assistant"
        assert NAME.fullmatch(str(block["id"]))
        assert NAME.fullmatch(str(block["name"]))
        inner(block["input"])
    elif kind in {"thinking", "redacted_thinking"}:
        assert role == "assistant"
        assert block["signature" if kind == "thinking" else "data"]
    elif kind == "tool_result":
        assert role == "user"
        content = block["content"]
        parts = listed(content) if isinstance(content, list) else []
        assert content
        assert all(part["type"] == "text" or not block.get("is_error") for part in parts)
        for part in parts:
            _check_block(part, role, config)
    else:
        assert role == "user"
        source = inner(block["source"])
        b64decode(str(source["data"]), validate=True)
        assert (kind, config.images) == ("image", True) or (kind, config.documents) == ("document", True)
        assert source["media_type"] in (IMAGES if kind == "image" else {"application/pdf"})


def _check_breakpoints(body: JsonObject) -> None:
    blocks = [*listed(body.get("tools", [])), *listed(body.get("system", []))]
    for message in listed(body["messages"]):
        blocks += listed(message["content"])
    marked = [block for block in blocks if "cache_control" in block]
    assert 1 <= len(marked) <= 4
    assert all(block.get("type") not in {"thinking", "redacted_thinking"} for block in marked)
