"""The repair of an Anthropic stream: what its events say, as text to show and one completion at the end. Pure.

The stream is repaired, not trusted: an error may stand inside a 200, with or without its event's name, the end may be missing, and a
relay may leave out what it does not know, or answer as a whole.
"""

import json
from collections.abc import Mapping
from typing import NoReturn

from pydantic import JsonValue

from askbus.models.anthropic_blocks import THINKING, Block, Blocks
from askbus.models.billing import tokens
from askbus.models.clean import TextCleaner, clean_text
from askbus.models.faults import classify
from askbus.models.model import Completion, Fault, Finish, ProviderData, ProviderError, Usage
from askbus.models.think import INLINE_REASONING, ThinkFilter

BLOCKS = "blocks"
REASONING = "reasoning"

_LENGTH_WORDS = frozenset({"max_tokens", "model_context_window_exceeded", "length"})


class AnthropicAssembler:
    """One attempt at one answer. Feed it the data of each event, then `close`, then take the `completion`.

    `maker` names provider, endpoint and model for what only they understand; `model` is the name asked for.
    """

    def __init__(self, maker: str, model: str) -> None:
        self._maker = maker
        self._model = model
        self._reported_model = ""
        self._cleaner = TextCleaner()
        self._think = ThinkFilter()
        self._blocks = Blocks()
        self._speaking: Block | None = None
        self._texts: list[str] = []
        self._finish = ""
        self._counts: dict[str, int] = {}
        self.started = False
        """Whether the model has said anything, be it a thought or a call; pings do not count."""
        self.done = False
        """Whether the end was read: nothing that matters follows."""

    @property
    def text(self) -> str:
        """The text returned so far."""
        return "".join(self._texts)

    @property
    def finished(self) -> bool:
        """Whether the answer is whole: the model said why it stopped, or the server that it was all."""
        return self.done or bool(self._finish)

    @property
    def usage(self) -> Usage | None:
        """Tokens so far. What was read from the cache or written to it is input, too."""
        if not self._counts:
            return None
        cached = self._counts.get("cache_read_input_tokens")
        sent = self._counts.get("input_tokens", 0) + (cached or 0) + self._counts.get("cache_creation_input_tokens", 0)
        return Usage(input_tokens=sent, output_tokens=self._counts.get("output_tokens", 0), cached_tokens=cached)

    def feed(self, data: str) -> str:
        """Take in one event's data; returns the text it adds, often none. Raises ProviderError."""
        if self.done:
            return ""
        if data.startswith("[DONE]"):
            self.done = True
            return ""
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            if self.finished:
                return ""  # an end cut short after the answer was whole
            self.fail(Fault.BAD_RESPONSE, "an event that is not JSON")
        try:
            return self._event(event) if isinstance(event, dict) else ""
        except RecursionError:
            self.fail(Fault.BAD_RESPONSE, "an event nested too deeply")

    def close(self) -> str:
        """The stream has ended: returns the text that was held back. Raises ProviderError if the answer is not whole."""
        if not self.finished:
            self.fail(Fault.CONNECTION, "the stream ended in the middle of the answer")
        return self._shown(self._think.feed(self._cleaner.close()) + self._think.close())

    def fail(self, fault: Fault, detail: str) -> NoReturn:
        """Raise the ProviderError that keeps what was said and billed so far."""
        raise ProviderError(fault, detail, partial_text=self.text, usage=self.usage)

    def completion(self) -> Completion:
        """The whole answer, after `close`."""
        length, refused = self._finish in _LENGTH_WORDS, self._finish == "refusal"
        calls, nameless = self._blocks.calls(truncated=length)
        warnings = ["nameless_call"] * bool(nameless)
        if refused and calls:
            calls = []  # what the provider cut off is not acted on
            warnings.append("filtered_call")
        text = self.text
        if not text and not calls:
            warnings.append("empty_turn")
        if self._finish == "pause_turn":
            warnings.append("paused")
        if length:
            finish = Finish.LENGTH
        elif refused:
            finish = Finish.CONTENT_FILTER
        else:
            finish = Finish.TOOL_CALLS if calls else Finish.STOP
        return Completion(
            text=text,
            tool_calls=tuple(calls),
            finish=finish,
            usage=self.usage,
            provider_data=None if refused else self._provider_data(),
            model=self._reported_model or self._model,
            warnings=tuple(warnings),
        )

    def _event(self, event: Mapping[str, JsonValue]) -> str:
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._say(*self._blocks.delta(event))
        if kind == "content_block_start":
            return self._say(*self._blocks.start(event))
        if kind == "error" or event.get("error"):
            self.fail(*classify({"error": event.get("error") or event.get("message")}))
        if kind == "message_start":
            message = event.get("message")
            return self._message(message) if isinstance(message, dict) else ""
        if kind == "message_delta":
            self._bill(event.get("usage"))
            delta = event.get("delta")
            self._stop(delta.get("stop_reason") if isinstance(delta, dict) else None)
        elif kind == "message_stop":
            self.done = True
        elif kind == "message":
            text = self._message(event)
            self.done = True
            return text
        return ""

    def _message(self, message: Mapping[str, JsonValue]) -> str:
        """A message's head, or the whole of it where a relay does not stream."""
        if isinstance(model := message.get("model"), str):
            self._reported_model = clean_text(model)
        self._bill(message.get("usage"))
        content = message.get("content")
        blocks: list[JsonValue] = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        text = "".join([self._say(*self._blocks.start({"content_block": block})) for block in blocks])
        self._stop(message.get("stop_reason"))
        return text

    def _stop(self, reason: JsonValue) -> None:
        if isinstance(reason, str) and reason:
            self._finish = reason.lower()

    def _say(self, block: Block, text: str) -> str:
        """The text of a block as it is shown: cleaned, and without inline thoughts."""
        self.started = self.started or bool(block.kind)
        if not text:
            return ""
        self._speaking = block
        return self._shown(self._think.feed(self._cleaner.feed(text)))

    def _shown(self, text: str) -> str:
        if text:
            self._texts.append(text)
            if self._speaking is not None:
                self._speaking.pieces.append(text)
        return text

    def _bill(self, usage: JsonValue) -> None:
        """Running totals: within one request the last value of each stands."""
        if isinstance(usage, dict):
            for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
                if (count := tokens(usage.get(name))) is not None:
                    self._counts[name] = count

    def _provider_data(self) -> ProviderData | None:
        data: dict[str, JsonValue] = {}
        if blocks := self._blocks.thoughts():
            data[BLOCKS] = [*blocks]
        else:
            thoughts = [block.written for block in self._blocks.all if block.kind == THINKING and block.written]
            if thoughts:
                data[REASONING] = clean_text("\n".join(thoughts))
        if inline := self._think.reasoning:
            data[INLINE_REASONING] = clean_text(inline)
        return ProviderData(maker=self._maker, data=data) if data else None
