"""Bytes to text by one clear rule, and back the same way later. Pure.

1. A byte order mark decides: UTF-8, UTF-16 little or big endian.
2. Else bytes that are valid UTF-8 are UTF-8.
3. Else Windows-1252, the encoding of old exports, unless the bytes hold what no text in it does.

Text holds no NUL and no other control characters than tab, line breaks, form feed and escape.
"""

import codecs
import re

from askbus.errors import InvalidInput

MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
LEGACY = "cp1252"

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]")
_MARKUP = re.compile(
    r"\s*+(?:<\?xml\b[^>]*+>\s*+)?(?>(?:<!--.*?-->\s*+))*+<(?:!doctype\s+(?:html|svg)|html|head|body|svg|script|iframe)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Possessive and atomic, so that no input makes it go back over what it has read."""


def encoding_of(data: bytes) -> str | None:
    """The encoding that the rule gives, or None where the bytes are no text."""
    for mark, encoding in MARKS:
        if data.startswith(mark):
            return encoding if _is_text(data, encoding) else None
    for encoding in ("utf-8", LEGACY):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return None if _NO_TEXT.search(text) else encoding
    return None


def _is_text(data: bytes, encoding: str) -> bool:
    try:
        return _NO_TEXT.search(data.decode(encoding)) is None
    except UnicodeDecodeError:
        return False


def decode(data: bytes, encoding: str) -> str:
    """The text, line breaks as `\\n`. Raises InvalidInput where the bytes are not what they were said to be."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise InvalidInput("This file is not text any more.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_markup(text: str) -> bool:
    """Whether a browser might take it for a page or a drawing that runs scripts."""
    return _MARKUP.match(text[:4_000]) is not None
