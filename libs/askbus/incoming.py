"""What comes in from outside, before anything parses it: how large it may be, how deep, and what it may not hold. Pure."""

import re

from askbus.errors import InvalidInput, TooLarge

LARGEST_BODY = 1 << 20
"""Bytes of one request's body."""
DEEPEST_JSON = 32
"""Levels of nesting in a request's JSON."""

NO_NUL = "No text may contain the character U+0000."
"""Postgres stores it in none."""

_TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A JSON text, or what is left of one that does not end: possessive, so that no input makes it go back over what it has read."""
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*+\\u0000")
_BRACES = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def refuse_large(data: bytes, most: int = LARGEST_BODY) -> None:
    """Raises TooLarge."""
    if len(data) > most:
        raise TooLarge(f"A request has at most {most} bytes.")


def refuse_hostile(data: bytes, deepest: int = DEEPEST_JSON) -> None:
    """Before parsing, in time that grows with the size alone. Raises InvalidInput for what is nested too deep for a parser that
    recurses, and for U+0000, which Postgres stores in no text."""
    if b"\\u0000" in data and _NUL.search(data):
        raise InvalidInput(NO_NUL)
    if data.count(b"[") + data.count(b"{") <= deepest:
        return
    brackets = _TEXTS.sub(b"", data).translate(_BRACES, _NO_BRACKETS)
    for _level in range(deepest):
        left = len(brackets)
        brackets = brackets.replace(b"[]", b"")  # the innermost level
        if not brackets:
            return
        if len(brackets) == left:
            break
    raise InvalidInput(f"The body is no JSON, or is nested more than {deepest} levels deep.")
