"""CSV files as typed rows. Typed only where every value of a column agrees; where anything is unsure the text stays. Pure.

The format is RFC 4180 as the world writes it: other delimiters, other line breaks, rows of unequal length.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from askbus.attachments.csv_types import MOST_CELL, Typed, type_column
from askbus.errors import InvalidInput

DELIMITERS = (",", ";", "\t", "|")
SAMPLE = 200
"""Records by which the delimiter is chosen."""
MOST_COLUMNS = 500


@dataclass(frozen=True)
class Table:
    """A whole file. `notes` say what a reader should know of how it was read, a sentence each."""

    columns: tuple[Typed, ...]
    rows: Sequence[Sequence[str]]
    delimiter: str
    has_header: bool
    notes: tuple[str, ...] = field(default=())

    def window(self, offset: int, limit: int) -> list[list[JsonValue]]:
        """Rows from `offset` on, each cell as its column's type; what is missing or empty is null."""
        return [
            [column.value(row[place]) if place < len(row) else None for place, column in enumerate(self.columns)]
            for row in self.rows[offset : offset + limit]
        ]


def read_table(text: str) -> Table:
    """The file's table. Raises InvalidInput where it is none."""
    delimiter = delimiter_of(text)
    try:
        records = [
            record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(map(str.strip, record))
        ]
    except csv.Error as error:
        raise InvalidInput(f"This CSV file cannot be read: {error}.") from None
    if not records:
        raise InvalidInput("This CSV file has no rows.")
    width = max(map(len, records))
    if width > MOST_COLUMNS:
        raise InvalidInput(f"This CSV file has {width} columns; at most {MOST_COLUMNS} are read.")
    has_header = _is_header(records)
    names = _names(records[0] if has_header else [], width)
    rows = records[1:] if has_header else records
    columns = tuple(type_column(name, cells) for name, cells in zip(names, _columns(rows, width), strict=True))
    return Table(columns, rows, delimiter, has_header, _notes(rows, columns, has_header, width))


def looks_like_table(text: str) -> bool:
    """Whether text that nobody called a table is one beyond doubt: two columns or more, everywhere the same."""
    lines = _sample(text, delimiter_of(text))
    return len(lines) >= 2 and len({len(line) for line in lines}) == 1 and len(lines[0]) >= 3


def delimiter_of(text: str) -> str:
    """The delimiter that gives the most rows of one and the same length, with at least two columns; a comma where none does."""

    def fits(delimiter: str) -> tuple[int, int]:
        lengths = Counter(len(line) for line in _sample(text, delimiter))
        return max(((count, length) for length, count in lengths.items() if length > 1), default=(0, 0))

    return max(DELIMITERS, key=fits)


def _sample(text: str, delimiter: str) -> list[list[str]]:
    lines: list[list[str]] = []
    try:
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(map(str.strip, record)):
                lines.append(record)
            if len(lines) == SAMPLE:
                break
    except csv.Error:
        return lines
    return lines


def _is_header(records: Sequence[Sequence[str]]) -> bool:
    """A first row of different texts, none of which could be a value with a type. A file of nothing but texts has one, too: most do."""
    first = [cell.strip() for cell in records[0]]
    return all(first) and len(set(first)) == len(first) and all(type_column("", [cell]).is_text for cell in first)


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """The cells of each column, without those that short rows do not have: one long row among millions of short ones costs itself alone."""
    columns: list[list[str]] = [[] for _ in range(width)]
    for row in rows:
        for cells, cell in zip(columns, row, strict=False):
            cells.append(cell)
    return columns


def _names(header: Sequence[str], width: int) -> list[str]:
    return [
        header[place].strip()[:100] if place < len(header) and header[place].strip() else f"column_{place + 1}"
        for place in range(width)
    ]


def _notes(rows: Sequence[Sequence[str]], columns: Sequence[Typed], has_header: bool, width: int) -> tuple[str, ...]:
    notes = [] if has_header else ["The file has no header; the columns were given names."]
    short = sum(1 for row in rows if len(row) != width)
    if short:
        notes.append(f"{short} of {len(rows)} rows have fewer than {width} cells; the missing ones are null.")
    long = sum(1 for row in rows for cell in row if len(cell) > MOST_CELL)
    if long:
        notes.append(f"{long} cells were cut after {MOST_CELL} characters.")
    return (*notes, *(f"{column.name}: {column.note}" for column in columns if column.note))
