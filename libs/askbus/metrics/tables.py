"""What was read, as a metric computes with it. Pure."""

from datetime import date, datetime
from decimal import Decimal

from pydantic import JsonValue

from askbus.errors import TooLarge
from askbus.metrics.model import Cell, Table
from askbus.records.model import Kind, Rows


def table(metric: str, rows: Rows) -> Table:
    """The rows with typed cells. Raises TooLarge where some of them are missing."""
    if rows.truncated:
        raise TooLarge(
            f"{metric} cannot be computed: it reads {rows.total} rows of {rows.collection}, and they do not come back whole. Ask for less, "
            "such as a shorter time; whoever registered it can let the database add up first.",
            {"collection": rows.collection, "total": rows.total},
        )
    kinds = [(column.name, column.kind) for column in rows.columns]
    return Table([{name: _cell(value, kind) for (name, kind), value in zip(kinds, row, strict=True)} for row in rows.rows])


def _cell(value: JsonValue, kind: Kind) -> Cell:
    """A float is the decimal number that it is written as."""
    if value is None:
        return None
    if kind.is_number:
        return Decimal(repr(value) if isinstance(value, float) else str(value))
    if kind is Kind.DATE and _in_calendar(value):
        return date.fromisoformat(str(value))
    if kind in {Kind.TIMESTAMP, Kind.TIMESTAMPTZ} and _in_calendar(value):
        return datetime.fromisoformat(str(value))
    return value


def _in_calendar(value: JsonValue) -> bool:
    """Whether Python's calendar holds it: infinity and years before Christ stay as Postgres spells them."""
    return isinstance(value, str) and value[:4].isdigit() and value[4:5] == "-" and not value.endswith("BC")
