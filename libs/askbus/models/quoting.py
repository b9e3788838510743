"""Material that others wrote, framed so that a model can tell it from what it was told. Pure.

A frame opens and closes with a code that is made from the text itself and does not occur in it, so no text can close its own frame:
whoever writes it would have to know the code before the text is finished. The text stands as it is, nothing in it is escaped, and the
same text is framed the same way in each request, which keeps the prefix that providers cache.
"""

import hashlib
import re

CODE = 12
"""Hexadecimal digits of a frame's code."""

NOTE = "[Note by askbus, not by the user] "
"""What a message in the user's place begins with where not the user wrote it."""

_FRAME = re.compile(r"<quoted (?P<code>[0-9a-f]+)>\n(?P<text>.*)\n</quoted (?P=code)>", re.DOTALL)


def quoted(text: str) -> str:
    """`text` in a frame that it cannot close. `unquoted` gives it back."""
    code = _code(text)
    return f"<quoted {code}>\n{text}\n</quoted {code}>"


def unquoted(text: str) -> str:
    """What stands in the frame that `text` is; other text as it is."""
    frame = _FRAME.fullmatch(text)
    return frame["text"] if frame is not None and frame["code"] == _code(frame["text"]) else text


def _code(text: str) -> str:
    """The first of the text's digests that does not occur in it, in whatever case."""
    folded = text.casefold()
    written = text.encode(errors="surrogatepass")
    for turn in range(256):
        code = hashlib.sha256(bytes([turn]) + written).hexdigest()[:CODE]
        if code not in folded:
            return code
    raise AssertionError("a text does not contain 256 of its own digests")
