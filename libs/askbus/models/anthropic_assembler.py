"""The repair of an Anthropic stream: what its events say, as text to show and one completion at the end. Pure.

The stream is repaired, not trusted: an error may stand inside a 200, with or without its event's name, the end may be missing, and a
relay may leave out what it does not know, or answer as a whole.
"""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from askbus.models.anthropic_blocks import THINKING, Block, Blocks
from askbus.models.assembler import Assembler
from askbus.models.billing import tokens
from askbus.models.clean import clean_text
from askbus.models.faults import classify
from askbus.models.model import ProviderData, ToolCall, Usage
from askbus.models.think import INLINE_REASONING

BLOCKS = "blocks"
REASONING = "reasoning"


class AnthropicAssembler(Assembler):
    """One attempt at one answer of the messages API."""

    length_words = frozenset({"max_tokens", "model_context_window_exceeded", "length"})
    filter_words = frozenset({"refusal"})

    def __init__(self, maker: str, model: str) -> None:
        super().__init__(maker, model)
        self._blocks = Blocks()
        self._speaking: Block | None = None
        self._counts: dict[str, int] = {}

    @property
    def usage(self) -> Usage | None:
        """Tokens so far. What was read from the cache or written to it is input, too."""
        if not self._counts:
            return None
        cached = self._counts.get("cache_read_input_tokens")
        sent = self._counts.get("input_tokens", 0) + (cached or 0) + self._counts.get("cache_creation_input_tokens", 0)
        return Usage(input_tokens=sent, output_tokens=self._counts.get("output_tokens", 0), cached_tokens=cached)

    def _event(self, event: Mapping[str, JsonValue]) -> str:
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._say_of(*self._blocks.delta(event))
        if kind == "content_block_start":
            return self._say_of(*self._blocks.start(event))
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
        text = "".join([self._say_of(*self._blocks.start({"content_block": block})) for block in blocks])
        self._stop(message.get("stop_reason"))
        return text

    def _stop(self, reason: JsonValue) -> None:
        if isinstance(reason, str) and reason:
            self._finish = reason.lower()

    def _say_of(self, block: Block, text: str) -> str:
        """The text of a block as it is shown."""
        self.started = self.started or bool(block.kind)
        if not text:
            return ""
        self._speaking = block
        return self._say(text)

    def _shown(self, text: str) -> str:
        if text and self._speaking is not None:
            self._speaking.pieces.append(text)
        return super()._shown(text)

    def _bill(self, usage: JsonValue) -> None:
        """Running totals: within one request the last value of each stands."""
        if isinstance(usage, dict):
            for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
                if (count := tokens(usage.get(name))) is not None:
                    self._counts[name] = count

    def _more_warnings(self) -> Sequence[str]:
        return ["paused"] if self._finish == "pause_turn" else []

    def _made_calls(self, *, truncated: bool) -> tuple[Sequence[ToolCall], int]:
        return self._blocks.calls(truncated=truncated)

    def _provider_data(self, calls: Sequence[ToolCall], *, filtered: bool) -> ProviderData | None:  # noqa: ARG002  # calls carry nothing
        if filtered:
            return None
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
