"""What type a column of text cells has, conservatively: all values agree, and nothing is lost by the reading. Pure.

Leading zeros, plus signs and more than fifteen digits are how numbers of articles, telephones and cards look: they stay text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from pydantic import JsonValue

MOST_CELL = 1_000
"""Characters of one cell that are shown."""

Reading = Callable[[str], JsonValue]

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_POINT = re.compile(r"-?(?:0|[1-9]\d{0,17}|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d{1,18})?", re.ASCII)
_COMMA = re.compile(r"-?(?:0|[1-9]\d{0,17}|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d{1,18})?", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_DOTS = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)


@dataclass(frozen=True)
class Typed:
    """A column: its name, the kind of its values in the words of the records (integer, decimal, date, …), and how a cell is read."""

    name: str
    kind: str
    read: Reading
    note: str = ""

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    def value(self, cell: str) -> JsonValue:
        """The cell as a JSON value; decimals as exact strings, dates as ISO 8601, nothing as null."""
        cell = cell.strip()
        return self.read(cell) if cell else None


def type_column(name: str, cells: Sequence[str]) -> Typed:
    """The column with the type that all its cells have."""
    values = [cell.strip() for cell in cells if cell.strip()]
    if not values:
        return Typed(name, "text", _text)
    for kind, reading in (("boolean", _boolean(values)), ("integer", _integer(values))):
        if reading is not None:
            return Typed(name, kind, reading)
    return _decimal(name, values) or _moment(name, values) or Typed(name, "text", _text)


def _text(cell: str) -> JsonValue:
    return cell[:MOST_CELL]


def _boolean(values: Sequence[str]) -> Reading | None:
    if all(value.lower() in {"true", "false"} for value in values):
        return lambda cell: cell.lower() == "true"
    return None


def _integer(values: Sequence[str]) -> Reading | None:
    return int if all(_INTEGER.fullmatch(value) for value in values) else None


def _decimal(name: str, values: Sequence[str]) -> Typed | None:
    """Numbers with a point or a comma. 1.234 alone may be either a thousand or a little more than one: it stays text, and says why."""
    if not any("." in value or "," in value for value in values):
        return None
    with_point = all(_POINT.fullmatch(value) for value in values)
    with_comma = all(_COMMA.fullmatch(value) for value in values)
    if with_point and with_comma:
        return Typed(name, "text", _text, "kept as text, since 1.234 and 1,234 may each be read in two ways.")
    if with_point:
        return Typed(name, "decimal", lambda cell: cell.replace(",", ""))
    if with_comma:
        return Typed(name, "decimal", lambda cell: cell.replace(".", "").replace(",", "."), "decimal comma.")
    return None


def _moment(name: str, values: Sequence[str]) -> Typed | None:
    if all(_ISO.fullmatch(value) and _date(value, 0, 1, 2, "-") for value in values):
        return Typed(name, "date", _text)
    if all(_ISO_TIME.fullmatch(value) and _time(value) for value in values):
        return Typed(name, "timestamp", lambda cell: _time(cell) or cell)
    if all(_DOTS.fullmatch(value) and _date(value, 2, 1, 0, ".") for value in values):
        return Typed(name, "date", lambda cell: _date(cell, 2, 1, 0, ".") or cell, "dates written day.month.year.")
    if all(_SLASHES.fullmatch(value) for value in values):
        return _slashed(name, values)
    return None


def _slashed(name: str, values: Sequence[str]) -> Typed | None:
    """Day and month are told apart only by a value that one of the two readings does not allow."""
    day_first = all(_date(value, 2, 1, 0, "/") for value in values)
    month_first = all(_date(value, 2, 0, 1, "/") for value in values)
    if day_first and month_first:
        return Typed(name, "text", _text, "kept as text, since day and month cannot be told apart.")
    if day_first:
        return Typed(name, "date", lambda cell: _date(cell, 2, 1, 0, "/") or cell, "dates written day/month/year.")
    if month_first:
        return Typed(name, "date", lambda cell: _date(cell, 2, 0, 1, "/") or cell, "dates written month/day/year.")
    return None


def _date(value: str, year: int, month: int, day: int, mark: str) -> str | None:
    parts = value.split(mark)
    try:
        return date(int(parts[year]), int(parts[month]), int(parts[day])).isoformat()
    except ValueError:
        return None


def _time(value: str) -> str | None:
    try:
        return datetime.fromisoformat(value).isoformat()
    except ValueError:
        return None
