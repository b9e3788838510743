"""The repair of an OpenAI-compatible stream: what its events say, as text to show and one completion at the end. Pure.

The stream is repaired, not trusted: `choices` may be empty, content null or a list, usage on every chunk, an error may stand
inside a 200, the word for the end may be missing, empty or unknown, and a proxy may simply hang up.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from pydantic import JsonValue

from askbus.models.assembler import Assembler
from askbus.models.billing import tokens
from askbus.models.clean import clean_json, clean_text
from askbus.models.faults import classify
from askbus.models.model import Fault, JsonObject, ProviderData, ToolCall, Usage
from askbus.models.openai_calls import CallSlots
from askbus.models.think import INLINE_REASONING

REASONING_FIELDS = ("reasoning_content", "reasoning")
REASONING_DETAILS = "reasoning_details"

_NOTHING: Mapping[str, JsonValue] = {}


class OpenAIAssembler(Assembler):
    """One attempt at one answer of a chat completion."""

    length_words = frozenset({"length", "max_tokens", "model_length"})
    filter_words = frozenset({"content_filter", "safety", "refusal"})

    def __init__(self, maker: str, model: str) -> None:
        super().__init__(maker, model)
        self._calls = CallSlots()
        self._reasoning: dict[str, list[str]] = {}
        self._details: list[JsonObject] = []
        self._usage: Usage | None = None

    @property
    def usage(self) -> Usage | None:
        return self._usage

    def _event(self, event: Mapping[str, JsonValue]) -> str:
        usage = event.get("usage")
        if isinstance(usage, dict):
            self._bill(usage)
        error = event.get("error")
        if error:
            self.fail(*classify(error))
        if not self._reported_model and isinstance(model := event.get("model"), str):
            self._reported_model = clean_text(model)
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return ""
        delta = choice.get("delta") or choice.get("message")
        text = self._delta(delta) if isinstance(delta, dict) else ""
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish.lower()
            if self._finish == "error":
                self.fail(Fault.OVERLOADED, "the provider broke off with an error")
        return text

    def _delta(self, delta: Mapping[str, JsonValue]) -> str:
        text = ""
        content = delta.get("content") or delta.get("refusal")
        if content:
            text = content if isinstance(content, str) else self._parts(content)
        for name in REASONING_FIELDS:
            if isinstance(thought := delta.get(name), str) and thought:
                self._reason(name, thought)
        if details := delta.get(REASONING_DETAILS):
            self._detail(details)
        if calls := delta.get("tool_calls"):
            self.started = True
            try:
                self._calls.feed(calls)
            except ValueError as error:
                self.fail(Fault.BAD_RESPONSE, f"a tool call's extra content: {error}")
        if not text:
            return ""
        self.started = True
        return self._say(text)

    def _parts(self, content: JsonValue) -> str:
        """Content as a list of parts: text to show, and Mistral's `thinking` parts, which are reasoning."""
        texts: list[str] = []
        for part in content if isinstance(content, list) else []:
            if not isinstance(part, dict):
                continue
            if isinstance(text := part.get("text"), str):
                texts.append(text)
            if thinking := part.get("thinking"):
                self._reason(INLINE_REASONING, thinking if isinstance(thinking, str) else self._parts(thinking))
        return "".join(texts)

    def _reason(self, name: str, thought: str) -> None:
        self.started = True
        self._reasoning.setdefault(name, []).append(thought)

    def _detail(self, details: JsonValue) -> None:
        """OpenRouter's blocks: pieces of one block repeat its type and index, and their strings grow."""
        self.started = True
        for detail in details if isinstance(details, list) else []:
            if not isinstance(detail, dict):
                continue
            last = self._details[-1] if self._details else _NOTHING
            if last is _NOTHING or any(last.get(key) != detail.get(key) for key in ("type", "index")) or "data" in detail:
                self._details.append(dict(detail))
                continue
            for key, value in detail.items():
                before = self._details[-1].get(key)
                grows = key in {"text", "summary"} and isinstance(before, str) and isinstance(value, str)
                if grows:
                    self._details[-1][key] = f"{before}{value}"
                elif value is not None:
                    self._details[-1][key] = value

    def _bill(self, usage: Mapping[str, JsonValue]) -> None:
        """Running totals: within one request the last value stands."""
        sent, written = tokens(usage.get("prompt_tokens")), tokens(usage.get("completion_tokens"))
        if sent is not None and written is not None:
            details = usage.get("prompt_tokens_details")
            cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
            self._usage = Usage(input_tokens=sent, output_tokens=written, cached_tokens=tokens(cached))

    def _made_calls(self, *, truncated: bool) -> tuple[Sequence[ToolCall], int]:
        return self._calls.calls(truncated=truncated)

    def _provider_data(self, calls: Sequence[ToolCall], *, filtered: bool) -> ProviderData | None:  # noqa: ARG002  # its reasoning is kept
        data: JsonObject = {name: clean_text("".join(pieces)) for name, pieces in self._reasoning.items()}
        if inline := self._think.reasoning:
            data[INLINE_REASONING] = f"{data.get(INLINE_REASONING, '')}{inline}"
        with suppress(ValueError):  # what cannot be stored as it came is not given back at all
            if self._details:
                data[REASONING_DETAILS] = clean_json(list(self._details))
        return ProviderData(maker=self._maker, data=data) if data or any(call.extra is not None for call in calls) else None
