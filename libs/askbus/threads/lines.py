"""Short lines made from what somebody said: titles, and the parts that a search found. Pure."""

import re
import unicodedata
from collections.abc import Sequence

LONGEST_MADE_TITLE = 80
BEFORE, AFTER = 60, 140
"""Characters of a snippet before and after the place where it was found."""
_JOINER = "\u200d"


def one_line(text: str) -> str:
    """The text on one line: white space collapsed, without control characters, and nothing where nothing of it can be seen."""
    line = " ".join("".join(each if unicodedata.category(each) != "Cc" else " " for each in text).split())
    return line if any(unicodedata.category(each)[0] not in "CMZ" for each in line) else ""


def title_from(text: str) -> str:
    """A title from a first message: white space collapsed, shortened at a word, else between two characters as people see them."""
    line = one_line(text)
    if len(line) <= LONGEST_MADE_TITLE:
        return line
    kept = line[: LONGEST_MADE_TITLE - 1]
    if line[len(kept)] == " ":
        return kept + "…"
    return (kept.rpartition(" ")[0] or line[: boundary(line, len(kept))]) + "…"


def boundary(text: str, at: int) -> int:
    """The last place up to `at` where the text may be cut: before no combining mark, inside no emoji and no flag (the rules of UAX #29
    that matter for what people write). Zero where there is none."""
    while 0 < at < len(text) and not _may_cut(text, at):
        at -= 1
    return at


def _may_cut(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if unicodedata.category(after)[0] == "M" or _JOINER in {before, after} or _modifies(after):
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        halves = 0
        while halves < at and _is_flag_half(text[at - 1 - halves]):
            halves += 1
        return halves % 2 == 0
    return True


def _modifies(character: str) -> bool:
    """A skin tone, or a letter of the name that some flags carry."""
    return "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def patterns(q: str) -> list[str]:
    """The words of a search as patterns for LIKE, each once, composed (NFC) as nearly all text is, with wildcards taken literally."""
    words = dict.fromkeys(unicodedata.normalize("NFC", q).split())
    return ["%" + re.sub(r"([\\%_])", r"\\\1", word) + "%" for word in words]


def snippet(text: str, q: str) -> str:
    """The part of a text around the first place where a word of the search stands, on one line, marked where it was cut."""
    line = one_line(text)
    at = _first(line, q.split())
    start = boundary(line, max(at - BEFORE, 0))
    end = boundary(line, min(at + AFTER, len(line)))
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")


def _first(line: str, words: Sequence[str]) -> int:
    """Where the first of the words stands, whatever its case; zero where it stands there in another form only."""
    places = [found.start() for word in words if (found := re.search(re.escape(word), line, re.IGNORECASE))]
    return min(places, default=0)
