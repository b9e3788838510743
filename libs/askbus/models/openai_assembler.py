"""The repair of an OpenAI-compatible stream: what its events say, as text to show and one completion at the end. Pure.

The stream is repaired, not trusted: `choices` may be empty, content null or a list, usage on every chunk, an error may stand
inside a 200, the word for the end may be missing, empty or unknown, and a proxy may simply hang up.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import NoReturn

from pydantic import JsonValue

from askbus.models.billing import tokens
from askbus.models.clean import TextCleaner, clean_json, clean_text
from askbus.models.faults import classify
from askbus.models.model import Completion, Fault, Finish, JsonObject, ProviderData, ProviderError, Usage
from askbus.models.openai_calls import CallSlots
from askbus.models.think import INLINE_REASONING, ThinkFilter

REASONING_FIELDS = ("reasoning_content", "reasoning")
REASONING_DETAILS = "reasoning_details"

_LENGTH_WORDS = frozenset({"length", "max_tokens", "model_length"})
_FILTER_WORDS = frozenset({"content_filter", "safety", "refusal"})
_NOTHING: Mapping[str, JsonValue] = {}


class OpenAIAssembler:
    """One attempt at one answer. Feed it the data of each event, then `close`, then take the `completion`.

    `maker` names provider, endpoint and model for what only they understand; `model` is the name asked for.
    """

    def __init__(self, maker: str, model: str) -> None:
        self._maker = maker
        self._model = model
        self._reported_model = ""
        self._cleaner = TextCleaner()
        self._think = ThinkFilter()
        self._calls = CallSlots()
        self._texts: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._details: list[JsonObject] = []
        self._finish = ""
        self.usage: Usage | None = None
        self.started = False
        """Whether the model has said anything, be it reasoning or a call; comments and empty chunks do not count."""
        self.done = False
        """Whether `[DONE]` was read: nothing that matters follows."""

    @property
    def text(self) -> str:
        """The text returned so far."""
        return "".join(self._texts)

    @property
    def finished(self) -> bool:
        """Whether the answer is whole: the model said why it stopped, or the server that it was all."""
        return self.done or bool(self._finish)

    def feed(self, data: str) -> str:
        """Take in one event's data; returns the text it adds, often none. Raises ProviderError."""
        if self.done:
            return ""
        if data.startswith("[DONE]"):
            self.done = True
            return ""
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):
            if self.finished:
                return ""  # an end cut short after the answer was whole
            self.fail(Fault.BAD_RESPONSE, "an event that is not JSON")
        try:
            return self._chunk(chunk) if isinstance(chunk, dict) else ""
        except RecursionError:
            self.fail(Fault.BAD_RESPONSE, "an event nested too deeply")

    def close(self) -> str:
        """The stream has ended: returns the text that was held back. Raises ProviderError if the answer is not whole."""
        if not self.finished:
            self.fail(Fault.CONNECTION, "the stream ended in the middle of the answer")
        return self._shown(self._think.feed(self._cleaner.close()) + self._think.close())

    def fail(self, fault: Fault, detail: str, retry_after: float | None = None) -> NoReturn:
        """Raise the ProviderError that keeps what was said and billed so far."""
        raise ProviderError(fault, detail, partial_text=self.text, usage=self.usage, retry_after=retry_after)

    def completion(self) -> Completion:
        """The whole answer, after `close`."""
        length, filtered = self._finish in _LENGTH_WORDS, self._finish in _FILTER_WORDS
        calls, nameless = self._calls.calls(truncated=length)
        warnings = ["nameless_call"] * bool(nameless)
        if filtered and calls:
            calls = []  # what the provider cut off for its content is not acted on
            warnings.append("filtered_call")
        text = self.text
        if not text and not calls:
            warnings.append("empty_turn")
        if length:
            finish = Finish.LENGTH
        elif filtered:
            finish = Finish.CONTENT_FILTER
        else:
            finish = Finish.TOOL_CALLS if calls else Finish.STOP
        return Completion(
            text=text,
            tool_calls=tuple(calls),
            finish=finish,
            usage=self.usage,
            provider_data=self._provider_data(any(call.extra is not None for call in calls)),
            model=self._reported_model or self._model,
            warnings=tuple(warnings),
        )

    def _chunk(self, chunk: Mapping[str, JsonValue]) -> str:
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._bill(usage)
        error = chunk.get("error")
        if error:
            self.fail(*classify(error))
        if not self._reported_model and isinstance(model := chunk.get("model"), str):
            self._reported_model = clean_text(model)
        choices = chunk.get("choices")
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
        return self._shown(self._think.feed(self._cleaner.feed(text)))

    def _shown(self, text: str) -> str:
        if text:
            self._texts.append(text)
        return text

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
            self.usage = Usage(input_tokens=sent, output_tokens=written, cached_tokens=tokens(cached))

    def _provider_data(self, extras: bool) -> ProviderData | None:
        data: JsonObject = {name: clean_text("".join(pieces)) for name, pieces in self._reasoning.items()}
        if inline := self._think.reasoning:
            data[INLINE_REASONING] = f"{data.get(INLINE_REASONING, '')}{inline}"
        with suppress(ValueError):  # what cannot be stored as it came is not given back at all
            if self._details:
                data[REASONING_DETAILS] = clean_json(list(self._details))
        return ProviderData(maker=self._maker, data=data) if data or extras else None
