"""What makes an answer of a stream's events, whatever the wire: text to show as it comes, and one completion at the end. Pure.

The stream is repaired, not trusted: an event may be no JSON, the word for the end missing, and a proxy may simply hang up.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NoReturn

from pydantic import JsonValue

from askbus.models.clean import TextCleaner
from askbus.models.model import Completion, Fault, Finish, ProviderData, ProviderError, ToolCall, Usage
from askbus.models.think import ThinkFilter

MOST_PARTS = 256
"""Calls, or blocks, of one answer: no model means more of them, and each call would be run."""


MOST_CHARACTERS = 2_000_000
"""Of an answer's text, and of what its calls are given: four times what the longest answers of models come to."""


class TooManyParts(Exception):
    """An answer has more of them."""


class Assembler(ABC):
    """One attempt at one answer. Feed it the data of each event, then `close`, then take the `completion`.

    `maker` names provider, endpoint and model for what only they understand; `model` is the name asked for.
    """

    length_words: ClassVar[frozenset[str]]
    filter_words: ClassVar[frozenset[str]]

    def __init__(self, maker: str, model: str) -> None:
        self._maker = maker
        self._model = model
        self._reported_model = ""
        self._cleaner = TextCleaner()
        self._think = ThinkFilter()
        self._texts: list[str] = []
        self._length = 0
        self._finish = ""
        self.started = False
        """Whether the model has said anything, be it a thought or a call; pings, comments and empty chunks do not count."""
        self.done = False
        """Whether the end was read: nothing that matters follows."""

    @property
    @abstractmethod
    def usage(self) -> Usage | None:
        """Tokens so far."""

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
            event = json.loads(data)
        except (ValueError, RecursionError):
            if self.finished:
                return ""  # an end cut short after the answer was whole
            self.fail(Fault.BAD_RESPONSE, "an event that is not JSON")
        try:
            return self._event(event) if isinstance(event, dict) else ""
        except RecursionError:
            self.fail(Fault.BAD_RESPONSE, "an event nested too deeply")
        except TooManyParts:
            self.fail(Fault.BAD_RESPONSE, f"more than {MOST_PARTS} calls or blocks, or {MOST_CHARACTERS} characters in them")

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
        length, filtered = self._finish in self.length_words, self._finish in self.filter_words
        calls, nameless = self._made_calls(truncated=length)
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
            provider_data=self._provider_data(calls, filtered=filtered),
            model=self._reported_model or self._model,
            warnings=(*warnings, *self._more_warnings()),
        )

    @abstractmethod
    def _event(self, event: Mapping[str, JsonValue]) -> str:
        """Take in one event; returns the text it adds. Raises ProviderError."""

    @abstractmethod
    def _made_calls(self, *, truncated: bool) -> tuple[Sequence[ToolCall], int]:
        """The calls that the model made, and how many had no name."""

    @abstractmethod
    def _provider_data(self, calls: Sequence[ToolCall], *, filtered: bool) -> ProviderData | None:
        """What only the provider understands."""

    def _more_warnings(self) -> Sequence[str]:
        """What else the log should know of this wire's end."""
        return ()

    def _say(self, text: str) -> str:
        """The text as it is shown: cleaned, and without inline thoughts."""
        return self._shown(self._think.feed(self._cleaner.feed(text)))

    def _shown(self, text: str) -> str:
        if text:
            self._length += len(text)
            if self._length > MOST_CHARACTERS:
                self.fail(Fault.BAD_RESPONSE, f"an answer of more than {MOST_CHARACTERS} characters")
            self._texts.append(text)
        return text
