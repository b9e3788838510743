"""Reads computed here, with fractions and no database: what the database's answers are held against."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

NEW_YORK = "America/New_York"


@dataclass(frozen=True)
class Row:
    """A record, and the quantities of its lines."""

    id: int
    kind: str | None
    amount: Decimal | None
    whole: int | None
    at: datetime | None
    lines: tuple[int, ...]


def holds(row: Row, wanted: dict[str, Any]) -> bool:
    """A missing value differs from every value, and nothing is unknown."""
    match wanted:
        case {"and": [*parts]}:
            return all(holds(row, part) for part in parts)
        case {"or": [*parts]}:
            return any(holds(row, part) for part in parts)
        case {"not": dict(part)}:
            return not holds(row, part)
    found, value = getattr(row, str(wanted["field"])), wanted["value"]
    if wanted["op"] == "is_null":
        return bool((found is None) is value)
    if found is None:
        return bool(wanted["op"] == "ne")
    asked = Decimal(str(value)) if wanted["field"] == "amount" else value
    met: bool = {
        "eq": found == asked, "ne": found != asked, "lt": found < asked, "lte": found <= asked, "gt": found > asked,
        "gte": found >= asked,
    }[str(wanted["op"])]  # fmt: skip
    return met


def begins(moment: datetime | None, unit: str) -> datetime | None:
    """Where the stretch in New York begins."""
    if moment is None:
        return None
    local = moment.astimezone(ZoneInfo(NEW_YORK))
    if unit == "hour":
        return moment - timedelta(minutes=local.minute)
    day = local.date() - timedelta(days=local.weekday() if unit == "week" else 0)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(NEW_YORK)).astimezone(UTC)


def group_value(row: Row, group: dict[str, str]) -> object:
    found = getattr(row, group["field"])
    return begins(found, group["unit"]) if "unit" in group else found


def figure(op: str, field: str, rows: list[Row], everyone: list[Row]) -> object:
    if field == "lines.qty":
        values: list[Fraction | str | datetime] = [Fraction(qty) for row in rows for qty in row.lines]
    else:
        values = [as_value(getattr(row, field)) for row in rows if not field or getattr(row, field) is not None] if field else []
    match op:
        case "count":
            return Fraction(len(values) if field else len(rows))
        case "count_distinct":
            return Fraction(len(set(values)))
        case "percent_of_total":
            return share(field, rows, everyone)
    if not values:
        return None
    numbers = [value for value in values if isinstance(value, Fraction)]
    computed: dict[str, Callable[[], object]] = {
        "sum": lambda: sum(numbers),
        "avg": lambda: sum(numbers) / len(numbers),
        "median": lambda: median(numbers),
        "min": lambda: min(values),
        "max": lambda: max(values),
    }
    return computed[op]()


def share(field: str, rows: list[Row], everyone: list[Row]) -> Fraction | None:
    """Rounded half away from zero at four places, as it is documented."""
    part, total = (added(field, of) for of in (rows, everyone))
    if part is None or not total:
        return None
    scaled = abs(part * 100 / total) * 10**4
    rounded = Fraction(int(scaled + Fraction(1, 2)), 10**4)
    return rounded if part * total >= 0 else -rounded


def added(field: str, rows: Iterable[Row]) -> Fraction | None:
    if not field:
        return Fraction(n) if (n := len(list(rows))) else None
    values = [Fraction(value) for row in rows if (value := getattr(row, field)) is not None]
    return sum(values, Fraction()) if values else None


def as_value(value: object) -> Fraction | str | datetime:
    if isinstance(value, int | Decimal):
        return Fraction(value)
    assert isinstance(value, str | datetime)
    return value


def typed(cell: object, name: str) -> object:
    """A cell of the result, as the computation here has it."""
    if cell is None or name == "kind":
        return cell
    if isinstance(cell, str) and "T" in cell:
        return datetime.fromisoformat(cell).astimezone(UTC)
    return Fraction(str(cell))


def last_if_missing(values: Iterable[object]) -> list[tuple[bool, object]]:
    return [(value is None, value if value is not None else 0) for value in values]
