"""What is said to a model and what comes back, in no provider's words. Pure.

A conversation crosses this seam as neutral messages; what only one provider understands (reasoning, signatures) travels in
`ProviderData` and goes back only to the provider that made it.
"""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from askbus.models.clean import clean_json, clean_text
from askbus.models.masks import mask

JsonObject: TypeAlias = dict[str, JsonValue]


class Neutral(BaseModel):
    """Base of the stored and sent values: immutable, and unknown fields are a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolDefinition(Neutral):
    """A tool that the model may call; `parameters` is the JSON schema of its one argument object."""

    name: str
    description: str
    parameters: JsonObject


class ToolCall(Neutral):
    """A call as the model asked for it. Exactly one of `arguments` and `arguments_error` is set.

    `arguments_text` is what the model wrote, for the record; `extra` goes back with the call to the provider that sent it
    (Gemini's thought signatures); `truncated` says that the output limit cut the answer, so the call may be half of one.
    """

    id: str
    name: str
    arguments_text: str
    arguments: JsonObject | None
    arguments_error: str | None
    truncated: bool = False
    extra: JsonObject | None = None

    @classmethod
    def read(cls, *, id: str, name: str, arguments_text: str, truncated: bool = False, extra: JsonObject | None = None) -> Self:  # noqa: A002 - the field's name
        """The call with its arguments parsed; invalid ones become `arguments_error`, never a guess."""
        arguments, error = parse_arguments(arguments_text)
        return cls(
            id=id,
            name=name,
            arguments_text=arguments_text,
            arguments=arguments,
            arguments_error=error,
            truncated=truncated,
            extra=extra,
        )

    @property
    def refusal(self) -> str | None:
        """What the model is told instead of running the call; None if it may run."""
        if self.truncated:
            return "Not run: the answer reached the output limit before this call was surely complete. Make a smaller call."
        if self.arguments_error is not None:
            return f"Not run: {self.arguments_error}"
        return None


def parse_arguments(text: str) -> tuple[JsonObject | None, str | None]:
    """The argument object that `text` holds, or the sentence that says why it holds none; nothing at all means `{}`.

    Never a best-effort parse: half of `{"filter": …}` read as `{}` would be a valid and wider call. Text that Postgres cannot
    store (NUL, lone surrogates) is replaced by U+FFFD inside the values.
    """
    if not text.strip():
        return {}, None
    try:
        value = clean_json(json.loads(text))
    except (ValueError, RecursionError):
        return None, "the arguments are not valid JSON. Send one complete JSON object."
    if not isinstance(value, dict):
        return None, "the arguments are not a JSON object. Send one complete JSON object."
    return value, None


class ProviderData(Neutral):
    """What only `maker` (provider, endpoint and model) understands, verbatim. Reasoning lives here and nowhere else."""

    maker: str
    data: JsonObject = {}

    @classmethod
    def read(cls, stored: JsonValue) -> Self | None:
        """What is stored, in any version's form: None for nothing, and for what this one does not understand."""
        try:
            return cls.model_validate(stored)
        except ValidationError:
            return None


class Image(Neutral):
    """A picture, as bytes."""

    media_type: Literal["image/png", "image/jpeg", "image/webp", "image/gif"]
    data: bytes


class Document(Neutral):
    """A PDF, as bytes; `name` is what its owner calls it."""

    media_type: Literal["application/pdf"] = "application/pdf"
    name: str
    data: bytes


class UserMessage(Neutral):
    """What a person said, and the files that go with it. A model that does not accept a part is told that it was left out."""

    role: Literal["user"] = "user"
    text: str
    parts: tuple[Image | Document, ...] = ()


Cut: TypeAlias = Literal["stopped", "failed", "length"]


class AssistantMessage(Neutral):
    """What the model said; `cut` says why it did not come to its end."""

    role: Literal["assistant"] = "assistant"
    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    provider_data: ProviderData | None = None
    cut: Cut | None = None


class ToolResult(Neutral):
    """What one call came to. `error` marks a result that says what went wrong; `parts` are pictures that the tool shows the model."""

    role: Literal["tool"] = "tool"
    call_id: str
    name: str
    text: str
    error: bool = False
    parts: tuple[Image, ...] = ()


Message: TypeAlias = UserMessage | AssistantMessage | ToolResult


class ModelRequest(Neutral):
    """One model call. The history may be in any state a crash left it in; the adapter makes it fit its wire's pairing rules.

    `patience` is how many seconds the caller can wait for the first word, all tries and waits between them included; None leaves that
    to the settings. `answer_only`: the tools are named because the history has their calls, but none may be called.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    patience: float | None = None
    answer_only: bool = False


class Usage(Neutral):
    """Tokens that were billed. `cached_tokens` of the input came from the provider's cache; None where it does not say."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        cached = [usage.cached_tokens for usage in (self, other) if usage.cached_tokens is not None]
        sent, written = self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        return Usage(input_tokens=sent, output_tokens=written, cached_tokens=sum(cached) if cached else None)


class Finish(StrEnum):
    """Why the model stopped. A turn goes on if and only if there are calls, whatever word the wire used."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, never empty, never reasoning. A plain dataclass: there are hundreds in a turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Answering:
    """Another model than the one asked answers from here on; nothing was said before. `model` is its name."""

    model: str


class Completion(Neutral):
    """The end of a stream: the whole answer. `text` is what the deltas said, joined; `warnings` are words for the log."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish: Finish
    usage: Usage | None
    provider_data: ProviderData | None
    model: str
    warnings: tuple[str, ...] = ()


class Fault(StrEnum):
    """What went wrong with a provider, by who can act on it."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    CONNECTION = "connection"
    TIMED_OUT = "timed_out"
    BAD_RESPONSE = "bad_response"
    QUOTA = "quota"
    AUTH = "auth"
    TOO_LONG = "too_long"
    BAD_REQUEST = "bad_request"
    NOT_CONFIGURED = "not_configured"
    NOT_ACCEPTED = "not_accepted"

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later without anybody doing anything."""
        return self in _PASSING


_PASSING = frozenset({Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.CONNECTION, Fault.TIMED_OUT, Fault.BAD_RESPONSE})


class ProviderError(Exception):
    """A model call that came to no answer. Not an AskbusError: `detail` is the provider's text, its keys masked, for the log
    and for no user.

    `partial_text` is what was already streamed, to be kept as partial and never as an answer; `usage` what the failed attempts
    were billed, as far as it is known; `retry_after` the provider's wish in seconds.
    """

    def __init__(
        self,
        fault: Fault,
        detail: str,
        *,
        partial_text: str = "",
        usage: Usage | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.detail = mask(clean_text(detail[:2_000]))[:500]
        super().__init__(f"{fault}: {self.detail}")
        self.fault = fault
        self.partial_text = partial_text
        self.usage = usage
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        return self.fault.retryable


ModelEvent: TypeAlias = TextDelta | Answering | Completion


@dataclass(frozen=True, slots=True)
class Accepts:
    """Which parts of a user message the model takes in."""

    images: bool
    documents: bool


class Model(Protocol):
    """A model that answers. `name` is what its provider calls it."""

    @property
    def name(self) -> str: ...

    @property
    def accepts(self) -> Accepts: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """Deltas as they come, then one Completion. Raises ProviderError.

        Close it (`contextlib.aclosing`) or cancel the task to stop: the HTTP stream is closed at once.
        """
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
