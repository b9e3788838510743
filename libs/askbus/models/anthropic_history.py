"""The outbound way: a neutral request as the body of Anthropic's `POST /v1/messages`. Pure.

Its rules: roles alternate and begin and end with the user's; the results of all calls of an answer stand first in the one user message
that follows it; ids of calls are unique; thoughts go back unchanged or not at all; no text is blank.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from askbus.models.anthropic_assembler import BLOCKS
from askbus.models.anthropic_blocks import REDACTED, TEXT, THINKING, TOOL_USE
from askbus.models.clean import clean_json, clean_text
from askbus.models.config import ModelConfig
from askbus.models.model import Document, Image, JsonObject, ModelRequest, ToolCall, ToolDefinition, ToolResult, UserMessage
from askbus.models.pairing import Exchange, exchanges, hashed_id, restated, wire_name

LONGEST_ID = 64
_NOTHING_SAID = "(nothing)"
_EARLIER = "(What was said before is not shown.)"
_GO_ON = "Go on."
_FILE_LEFT_OUT = "[A file came with this message that cannot be shown to you.]"
_PICTURE_LEFT_OUT = "The tool made a picture, which cannot be shown to you."
_CACHE: JsonObject = {"type": "ephemeral"}
_FIELDS: Mapping[str, tuple[str, ...]] = {THINKING: ("thinking", "signature"), REDACTED: ("data",), TEXT: ("text",)}
"""What each kind of block that goes back as it came is made of."""


def request_body(request: ModelRequest, config: ModelConfig, *, maker: str) -> JsonObject:
    """The body, streamed. `maker` says whose thoughts go along. Adaptive thinking, no prefill, no fixed thinking budget.

    Four cache breakpoints, the most that there may be: after the tools, after the system text, before what the user said last and at the
    end. What did not change since the last call up to one of them is read from the cache.
    """
    paired = exchanges(request.messages)
    if not config.tool_messages:
        paired = restated(paired)
    messages = _History(config, maker).wire(paired)
    body: JsonObject = {
        "model": config.model,
        "max_tokens": config.max_output_tokens,
        "messages": [*messages],
        "stream": True,
    }
    if config.thinking:
        body["thinking"] = {"type": "adaptive"}
    if request.system.strip():
        body["system"] = [{"type": "text", "text": clean_text(request.system), "cache_control": _CACHE}]
    if request.tools and (config.tool_messages or not request.answer_only):
        if request.answer_only:
            body["tool_choice"] = {"type": "none"}
        *others, last = [_tool(tool) for tool in request.tools]
        body["tools"] = [*others, {**last, "cache_control": _CACHE}]
    _mark(messages[-1])
    if (before := _before_the_last_said(messages)) >= 0:
        _mark(messages[before])
    return body


def _before_the_last_said(messages: Sequence[JsonObject]) -> int:
    """The place of the message before the last that a person wrote, -1 if there is none."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at]["role"] == "user" and not any(block["type"] == "tool_result" for block in _blocks(messages[at])):
            return at - 1
    return -1


def _mark(message: JsonObject) -> None:
    """A breakpoint at the message's last block that may carry one: thoughts may not."""
    for block in reversed(_blocks(message)):
        if block["type"] not in {THINKING, REDACTED}:
            block["cache_control"] = _CACHE
            return


def _blocks(message: JsonObject) -> list[JsonObject]:
    content = message["content"]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


class _History:
    """Spells a paired history for one endpoint."""

    def __init__(self, config: ModelConfig, maker: str) -> None:
        self._config = config
        self._maker = maker
        self._wire: list[JsonObject] = []
        self._ids: set[str] = set()
        self._count = 0

    def wire(self, paired: Sequence[UserMessage | Exchange]) -> list[JsonObject]:
        """The messages on the wire, at least one."""
        for one in paired:
            if isinstance(one, UserMessage):
                self._add("user", self._user(one))
            else:
                self._exchange(one)
        if not self._wire or self._wire[-1]["role"] == "assistant":
            self._add("user", [_text(_GO_ON)])
        return self._wire

    def _add(self, role: str, blocks: Sequence[JsonObject]) -> None:
        """Neighbours of one role are one message, so that roles alternate."""
        if not self._wire and role == "assistant":
            self._add("user", [_text(_EARLIER)])
        if self._wire and self._wire[-1]["role"] == role:
            blocks = [*_blocks(self._wire[-1]), *blocks]
            self._wire.pop()
        self._wire.append({"role": role, "content": [*blocks]})

    def _exchange(self, exchange: Exchange) -> None:
        said = exchange.said
        ids = {call.id: self._unique(call.id) for call in said.tool_calls}
        calls = {call.id: _call(call, ids[call.id]) for call in said.tool_calls}
        own = said.provider_data is not None and said.provider_data.maker == self._maker
        blocks = _replayed(said.provider_data.data.get(BLOCKS), calls) if own and said.provider_data else None
        if blocks is None:
            blocks = [*([_text(said.text)] if said.text.strip() else []), *calls.values()]
        self._add("assistant", blocks)
        if exchange.results:
            self._add("user", [self._result(result, ids[result.call_id]) for result in exchange.results])

    def _unique(self, call_id: str) -> str:
        """The id as it came where the wire takes it: some endpoints number the calls of every answer from zero."""
        self._count += 1
        plain = call_id.replace("-", "").replace("_", "")
        fits = 0 < len(call_id) <= LONGEST_ID and call_id.isascii() and plain.isalnum()
        made = call_id if fits and call_id not in self._ids else hashed_id(f"{self._count} {call_id}")
        self._ids.add(made)
        return made

    def _result(self, result: ToolResult, call_id: str) -> JsonObject:
        """Errors are text alone; pictures stand inside the result of the call that made them."""
        shows = self._config.images and not result.error
        text = clean_text(result.text)
        if result.parts and not shows:
            text = "\n".join(filter(None, [text, _PICTURE_LEFT_OUT]))
        content: list[JsonObject] = [_text(text)] if text.strip() else []
        if shows:
            content += [_image(part) for part in result.parts]
        block: JsonObject = {"type": "tool_result", "tool_use_id": call_id, "content": [*content] or _NOTHING_SAID}
        return {**block, "is_error": True} if result.error else block

    def _user(self, message: UserMessage) -> list[JsonObject]:
        """Files first, as the provider advises, then the words."""
        taken = [part for part in message.parts if self._takes(part)]
        text = clean_text(message.text)
        if len(taken) < len(message.parts):
            text = f"{_FILE_LEFT_OUT}\n{text}"
        blocks = [_image(part) if isinstance(part, Image) else _document(part) for part in taken]
        if text.strip() or not blocks:
            blocks.append(_text(text if text.strip() else _NOTHING_SAID))
        return blocks

    def _takes(self, part: Image | Document) -> bool:
        return self._config.images if isinstance(part, Image) else self._config.documents


def _replayed(stored: JsonValue, calls: Mapping[str, JsonObject]) -> list[JsonObject] | None:
    """The blocks as their maker sent them, the calls put in where they stood. None where they are not what this version stores, or are not
    all of the message: then text and calls alone go back."""
    blocks: list[JsonObject] = []
    left = dict(calls)
    for block in stored if isinstance(stored, list) else [None]:
        if not isinstance(block, dict):
            return None
        kind = block.get("type")
        call_id = block.get("id")
        if kind == TOOL_USE and isinstance(call_id, str) and call_id in left:
            blocks.append(left.pop(call_id))
        elif isinstance(kind, str) and kind in _FIELDS and all(isinstance(block.get(name), str) for name in _FIELDS[kind]):
            blocks.append({name: block[name] for name in ("type", *_FIELDS[kind])})
        else:
            return None
    blocks = [block for block in blocks if block["type"] != TEXT or str(block["text"]).strip()]
    said = any(block["type"] in {TEXT, TOOL_USE} for block in blocks)
    return blocks if said and not left else None


def _call(call: ToolCall, call_id: str) -> JsonObject:
    arguments = clean_json(call.arguments or {})
    return {"type": TOOL_USE, "id": call_id, "name": wire_name(call.name), "input": arguments}


def _text(text: str) -> JsonObject:
    return {"type": TEXT, "text": clean_text(text)}


def _image(image: Image) -> JsonObject:
    source: JsonObject = {"type": "base64", "media_type": image.media_type, "data": b64encode(image.data).decode()}
    return {"type": "image", "source": source}


def _document(document: Document) -> JsonObject:
    source: JsonObject = {"type": "base64", "media_type": document.media_type, "data": b64encode(document.data).decode()}
    block: JsonObject = {"type": "document", "source": source}
    name = clean_text(document.name).strip()
    return {**block, "title": name} if name else block


def _tool(tool: ToolDefinition) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
