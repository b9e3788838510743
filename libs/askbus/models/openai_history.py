"""The outbound way: a neutral request as the body of an OpenAI-compatible chat completion. Pure."""

import json
from base64 import b64encode
from collections.abc import Sequence

from askbus.models.clean import clean_text
from askbus.models.config import ModelConfig
from askbus.models.model import (
    AssistantMessage,
    Document,
    Image,
    JsonObject,
    ModelRequest,
    ToolCall,
    ToolDefinition,
    ToolResult,
    UserMessage,
)
from askbus.models.openai_assembler import REASONING_DETAILS, REASONING_FIELDS
from askbus.models.pairing import Exchange, exchanges, hashed_id, in_progress, restated, wire_name

LONGEST_ID = 40
"""OpenAI refuses longer call ids in a history; other endpoints make them."""
_PICTURE_FOLLOWS = "The tool made a picture; it follows in the next message."
_PICTURE_LEFT_OUT = "The tool made a picture, which cannot be shown to you."
_FILE_LEFT_OUT = "[A file came with this message that cannot be shown to you.]"
_PAUSE = "(The answer ends here.)"


def request_body(request: ModelRequest, config: ModelConfig, *, maker: str) -> JsonObject:
    """The body of `POST chat/completions`, streamed and with usage. `maker` says whose provider data goes along."""
    paired = exchanges(request.messages)
    if not config.tool_messages:
        paired = restated(paired)
    body: JsonObject = {
        "model": config.model,
        "messages": [*_system(request.system), *_History(config, maker).wire(paired)],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools and (config.tool_messages or not request.answer_only):
        body["tools"] = [_tool(tool) for tool in request.tools]
        if request.answer_only:
            body["tool_choice"] = "none"
    return body


class _History:
    """Spells a paired history for one endpoint."""

    def __init__(self, config: ModelConfig, maker: str) -> None:
        self._config = config
        self._maker = maker
        self._wire: list[JsonObject] = []

    def wire(self, paired: Sequence[UserMessage | Exchange]) -> list[JsonObject]:
        """The messages on the wire."""
        last_user = in_progress(paired)
        for at, one in enumerate(paired):
            if isinstance(one, UserMessage):
                self._user(self._content(one))
            else:
                self._exchange(one, in_progress=at > last_user)
        return self._wire

    def _exchange(self, exchange: Exchange, *, in_progress: bool) -> None:
        said = exchange.said
        own = said.provider_data is not None and said.provider_data.maker == self._maker
        self._wire.append(_assistant(said, own=own, in_progress=in_progress))
        shows = self._config.images and self._config.user_after_tools
        pictures: list[JsonObject] = []
        for call, result in zip(said.tool_calls, exchange.results, strict=True):
            self._wire.append({"role": "tool", "tool_call_id": _wire_id(call.id, own), "content": _result(result, shows=shows)})
            if shows and result.parts:
                label = f"The picture that {wire_name(call.name)} made (call {_wire_id(call.id, own)}):"
                pictures += [{"type": "text", "text": label}, *(_image(part) for part in result.parts)]
        if pictures:
            self._user([*pictures])

    def _user(self, content: "str | list[JsonObject]") -> None:
        """A user message. Endpoints without tool messages often want roles to alternate, others no user message right after a result."""
        last = self._wire[-1] if self._wire else {}
        if last.get("role") == "tool" and not self._config.user_after_tools:
            self._wire.append({"role": "assistant", "content": _PAUSE})
        before = last.get("content")
        if not self._config.tool_messages and last.get("role") == "user" and isinstance(before, str) and isinstance(content, str):
            last["content"] = f"{before}\n\n{content}"
            return
        self._wire.append({"role": "user", "content": [*content] if isinstance(content, list) else content})

    def _content(self, message: UserMessage) -> "str | list[JsonObject]":
        """Text alone as text, which every endpoint takes; files before it, as parts."""
        text = clean_text(message.text)
        taken = [part for part in message.parts if self._takes(part)]
        if len(taken) < len(message.parts):
            text = f"{_FILE_LEFT_OUT}\n{text}"
        if not taken:
            return text
        parts = [_image(part) if isinstance(part, Image) else _document(part) for part in taken]
        return [*parts, {"type": "text", "text": text}] if text.strip() else parts

    def _takes(self, part: Image | Document) -> bool:
        return self._config.images if isinstance(part, Image) else self._config.documents


def _system(text: str) -> list[JsonObject]:
    return [{"role": "system", "content": clean_text(text)}] if text else []


def _result(result: ToolResult, *, shows: bool) -> str:
    text = clean_text(result.text)
    if not result.parts:
        return text
    return "\n".join(filter(None, [text, _PICTURE_FOLLOWS if shows else _PICTURE_LEFT_OUT]))


def _image(image: Image) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": _data_url(image.media_type, image.data)}}


def _document(document: Document) -> JsonObject:
    name = clean_text(document.name)
    return {"type": "file", "file": {"filename": name, "file_data": _data_url(document.media_type, document.data)}}


def _data_url(media_type: str, data: bytes) -> str:
    """RFC 2397."""
    return f"data:{media_type};base64,{b64encode(data).decode()}"


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
        "function": {"name": wire_name(call.name), "arguments": _wire_arguments(call)},
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


def _wire_id(call_id: str, own: bool) -> str:
    return call_id if call_id and (own or len(call_id) <= LONGEST_ID) else hashed_id(call_id)


def _tool(tool: ToolDefinition) -> JsonObject:
    return {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters}}
