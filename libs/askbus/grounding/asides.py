"""What stands in a text and is no figure: code, addresses, identifiers, dates, clock times, the numbers of a list. Pure.

Each is blanked out in place, so what is left keeps its position.
"""

import re
from collections.abc import Iterator

from babel.numbers import list_currencies

from askbus.grounding.words import DASHES, MONTHS, SHORT_MONTHS

_CODE = re.compile(
    r"^[ \t]{0,3}(?P<fence>`{3,}+|~{3,}+)[^\n]*+\n(?:(?![ \t]{0,3}(?P=fence))[^\n]*+(?:\n|\Z))*+[^\n]*+"
    r"|(?P<ticks>`{1,3}+)[^`\n]++(?P=ticks)",
    re.MULTILINE,
)
_ADDRESS = re.compile(
    r"https?://[^\s<>]++|www\.[^\s<>]++|\]\([^()\s]{0,2000}+(?:\([^()\s]{0,500}+\))?[^()\s]{0,500}+\)|@[\w.-]{1,255}+"
    r"|\[\^?\d{1,3}\]|&\#x?[0-9a-fA-F]{1,7};|\d{1,3}(?=(?:\.\d{1,3}){0,2}\.\d\d?(?!\d))(?:\.\d{1,3}){3}(?![.\d])"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?<![0-9a-fA-F-][0-9a-fA-F]{8})(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F-])")
_NAMED = re.compile(r"[^\W\d](?<![\w.,][^\W\d])(?:\w|[-/._](?=\w)){1,200}+")
"""A word with whatever hangs on it: INV-2024-001, Q3, v1.2, USD12."""
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]{3,12}")

_MONTH = f"(?:{'|'.join(MONTHS)})(?![^\\W_])\\.?"
_SHORT = rf"(?:{'|'.join(SHORT_MONTHS.split())})\.?(?=,?\s+(?:de\s+)?\d{{4}})"
_NAMES = frozenset((*MONTHS, *SHORT_MONTHS.split()))
_YEAR = r"(?:19|20)\d\d(?!\d)"
_MINUTES = r":\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
_MARK = r"(?:st|nd|rd|th|er|\.)?"
_DAY = rf"\d{{1,2}}{_MARK}"
_HALF = r"[AaPp]\.?[Mm]\b\.?"
_FROM_A_FIGURE = re.compile(
    rf"""\d(?<![\w.,]\d)(?:
      \d{{3}}-\d\d(?:-\d\d)?(?:[T ]\d\d{_MINUTES})?(?:Z|[ ]?[+-]\d\d(?::?\d\d)?)?(?![\d-])
    | \d{{3}}/\d{{1,2}}/\d{{1,2}}(?!\d)
    | \d?([./-])\d{{1,2}}\1(?:\d{{4}}|\d\d)(?![\d%])
    | \d?{_MARK}(?:\s?(?:[{DASHES}]|to|and|bis|und|au|et|al|y|e|a)\s?{_DAY})?[ \u00a0](?:of\s+|de\s+)?(?:{_MONTH}|{_SHORT})
      (?:,?\s+(?:de\s+)?{_YEAR})?
    | \d?{_MINUTES}(?:[ \u00a0\u202f]?{_HALF})?(?!\d)
    | \d?[ \u00a0\u202f]?(?:{_HALF}|Uhr\b)
    | \d?h\d\d\b
    )""",
    re.VERBOSE,
)
_FROM_A_MONTH = re.compile(
    rf"(?<![^\W_])(?:{_MONTH}|{_SHORT})[ \u00a0](?:{_DAY}(?!\d)(?:\s?[{DASHES}]\s?{_DAY})?(?:,?\s+{_YEAR})?|(?:de\s+)?{_YEAR})"
)
_OTHER_DATES = re.compile(r"(?:UTC|GMT)[ ]?[+-]\d{1,2}(?::?\d\d)?|\b(?:am|vom|zum|bis|ab|seit)[ ]\d{1,2}\.\d{1,2}\.")
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

_LIST_MARK = re.compile(
    r"^[ \t]*+(?:>[ \t]*+)*+(?:[-*+][ \t]++)?(?:\#{1,6}[ \t]++)?(?:\*\*|__)?\#?\d{1,3}(?:[.):]|\.\))(?:\*\*|__)?(?=\s)"
    r"|^[ \t]{0,3}\#{1,6}[ \t]+\d{1,3}(?=[ \t])",
    re.MULTILINE,
)
_FIRST_CELL = re.compile(r"^[ \t]*+(?:\|[ \t]*+)?\**+\#?(\d{1,4})[.)]?\**+[ \t]*+(?=\|)", re.MULTILINE)
_BRACKETED = re.compile(r"\((\d{1,2})\)")


def without_asides(text: str) -> str:
    """The text of the same length in which only figures are left as digits."""
    text = _blanked(_CODE, text) if "`" in text or "~~~" in text else text
    text = without_dates(_blanked(_ADDRESS, text))
    text = _blanked(_OTHER_DATES, text)
    text = _NAMED.sub(lambda match: match.group() if _is_amount(match.group()) else _blank(match), text)
    text = _blanked(_LIST_MARK, text)
    return _without_sequence(_BRACKETED, _without_sequence(_FIRST_CELL, text))


def without_dates(text: str) -> str:
    """The text of the same length without dates and clock times, as people and machines write them (ISO 8601, CLDR's medium and long
    forms), and without UUIDs.
    """
    text = _blanked(_FROM_A_FIGURE, _blanked(_UUID, text) if "-" in text else text)
    return text if _NAMES.isdisjoint(_WORD.findall(text)) else _blanked(_FROM_A_MONTH, text)


def years(text: str) -> Iterator[str]:
    """The years of the dates in a text."""
    for pattern in (_FROM_A_FIGURE, *(() if _NAMES.isdisjoint(_WORD.findall(text)) else (_FROM_A_MONTH,))):
        for date in pattern.finditer(text):
            yield from _YEARS.findall(date.group())


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"\S", " ", match.group())


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(_blank, text)


def _is_amount(word: str) -> bool:
    """Whether the word has no digits, or is a currency's code with its amount."""
    if not _DIGIT.search(word):
        return True
    return re.match(r"[A-Z]{3}\d[\d.]*$", word) is not None and word[:3] in list_currencies()


def _without_sequence(pattern: re.Pattern[str], text: str) -> str:
    """Blanks out what counts 1, 2, 3: the ranks of a table, the marks of a list in a line."""
    due, parts, at = 1, [], 0
    for match in pattern.finditer(text):
        number = int(match.group(1))
        due = due if number == due else 1
        if number == due:
            parts += [text[at : match.start()], _blank(match)]
            at = match.end()
            due += 1
    return "".join([*parts, text[at:]])
