"""The one gate for text that Postgres, JSON or UTF-8 cannot carry: NUL and halves of surrogate pairs. Pure.

Models write `\\u0000` and half an emoji; Postgres refuses the first in text and in jsonb, and UTF-8 has no form for the second
(RFC 3629, section 3). Both become U+FFFD, so that the turn survives and the reader sees that something was there.
"""

import math

from pydantic import JsonValue

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
DEEPEST = 100
"""Nesting that nothing meant for a tool reaches; what is deeper overruns the recursion of JSON libraries further on."""


def clean_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD; the two halves of a pair side by side are joined."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: JsonValue, depth: int = DEEPEST) -> JsonValue:
    """`value` with every string in it cleaned, keys too. Raises ValueError for numbers that are not finite (RFC 8259, section 6)
    and for nesting deeper than `depth`."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict | list):
        if depth == 0:
            raise ValueError("nested too deeply")
        if isinstance(value, list):
            return [clean_json(item, depth - 1) for item in value]
        return {clean_text(key): clean_json(item, depth - 1) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


class TextCleaner:
    """`clean_text` over a stream: the first half of a surrogate pair waits for the second in the next piece."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """What of the text so far is whole, cleaned."""
        if self._half:
            text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return clean_text(text)

    def close(self) -> str:
        """What was still held."""
        text, self._half = self._half, ""
        return clean_text(text)
