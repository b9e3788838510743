"""Reads computed here, with fractions and no database: what the database's answers are held against.

It shares nothing with the compiler but the plan, and follows docs/records.md.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from operator import itemgetter
from statistics import median
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from tests.records.any_schema import MOODS, UP, Data, Row, Table

Plan = dict[str, Any]
T = TypeVar("T")


class Reader:
    """Reads of one collection of `data`."""

    def __init__(self, data: Data, place: int) -> None:
        self.data, self.place = data, place
        self.table = data.tables[place]

    def records(self, plan: Plan) -> list[tuple[Any, ...]]:
        """Every record that the plan asks for, in its order, without limit: the key, then the fields."""
        left = self._ordered(self._left(plan), plan.get("order_by", ()))
        if top := plan.get("top"):
            left = self._first_of_each(left, top["per"], top["limit"])
        names = list(dict.fromkeys((*self.table.key, *plan["fields"])))
        return [tuple(comparable(self.value(row, name)) for name in names) for row in left]

    def figures(self, plan: Plan) -> list[tuple[Any, ...]]:
        """Every row of figures, in its order, without limit."""
        left = self._left(plan)
        if over := plan.get("over"):
            left = self._ordered(left, over["order_by"])
            left = self._first_of_each(left, over["per"], over["limit"]) if over.get("per") else left[: over["limit"]]
        groups = plan.get("group_by", ())
        grouped: dict[tuple[Any, ...], list[Row]] = {} if groups else {(): []}
        for row in left:
            grouped.setdefault(tuple(self._group(row, one, plan["zone"]) for one in groups), []).append(row)
        names = [*(one["as"] for one in groups), *(one["as"] for one in plan.get("aggregates", ()))]
        made = []
        for key, rows in grouped.items():
            computed = (self._figure(one, rows, left) for one in plan.get("aggregates", ()))
            made.append(dict(zip(names, (*key, *computed), strict=True)))
        made = [row for row in made if all(holds(part, partial(among, row)) for part in plan.get("having", ()))]
        order = [(one["field"], one["direction"] == "desc") for one in plan.get("order_by", ())]
        for name, descending in reversed([*order, *((one["as"], False) for one in groups)]):
            made = missing_last(made, itemgetter(name), descending)
        if top := plan.get("top"):
            made = first_of_each(made, [itemgetter(name) for name in top["per"]], top["limit"])
        return [tuple(row.values()) for row in made]

    def value(self, row: Row, path: str) -> Any:
        """Through references that lead to at most one record."""
        (found,) = self.reached(row, path)
        return found

    def reached(self, row: Row, path: str) -> list[Any]:
        """The values of the field in every record that the path leads to; a missing one where a reference to one leads nowhere."""
        rows: list[Row | None] = [row]
        place = self.place
        while path not in {field.name for field in self.data.tables[place].fields}:
            up = bool(place) and path.startswith(f"{UP}.")
            after = place - 1 if up else place + 1
            hop = UP if up else self.data.tables[after].name
            assert path.startswith(f"{hop}."), path
            follow, many = (self._up, False) if up else (self._down, is_many(self.data.tables[after]))
            found = [follow(one, place) if one is not None else [] for one in rows]
            nowhere: list[Row | None] = [] if many else [None]
            rows = [one for of in found for one in (of or nowhere)]
            path, place = path.removeprefix(f"{hop}."), after
        field = self.data.tables[place].field(path)
        return [as_compared(one[path], field.type.kind) if one is not None else None for one in rows]

    def _up(self, row: Row, place: int) -> list[Row]:
        held = [row[name] for name in self.data.tables[place].reference]
        return [one for one in self.data.rows[place - 1] if [one[name] for name in self.data.tables[place - 1].key] == held]

    def _down(self, row: Row, place: int) -> list[Row]:
        return [one for one in self.data.rows[place + 1] if row in self._up(one, place + 1)]

    def _left(self, plan: Plan) -> list[Row]:
        return [row for row in self.data.rows[self.place] if all(self._meets(row, part) for part in plan.get("where", ()))]

    def _meets(self, row: Row, wanted: Any) -> bool:
        """A condition through a reference to many holds when any of them meets it."""
        return holds(wanted, lambda leaf: any(compared(value, leaf) for value in self.reached(row, leaf["field"])))

    def _ordered(self, rows: list[Row], order: Sequence[Any]) -> list[Row]:
        whole = [*((one["field"], one["direction"] == "desc") for one in order), *((name, False) for name in self.table.key)]
        for path, descending in reversed(whole):
            rows = missing_last(rows, partial(self.value, path=path), descending)
        return rows

    def _first_of_each(self, rows: list[Row], per: Sequence[str], most: int) -> list[Row]:
        return first_of_each(rows, [partial(self.value, path=path) for path in per], most)

    def _group(self, row: Row, group: Any, zone: str) -> Any:
        found = self.value(row, group["field"])
        return comparable(begins(found, group["unit"], zone) if "unit" in group else found)

    def _figure(self, wanted: Any, rows: list[Row], everyone: list[Row]) -> Any:
        field, op = wanted.get("field"), wanted["op"]
        if op == "percent_of_total":
            return share(*(self._added(field, of) for of in (rows, everyone)))
        if field is None:
            return Fraction(len(rows))
        values = [comparable(value) for row in rows for value in self.reached(row, field) if value is not None]
        match op:
            case "count":
                return Fraction(len(values))
            case "count_distinct":
                return Fraction(len(set(values)))
        return COMPUTED[op](values) if values else None

    def _added(self, field: str | None, rows: list[Row]) -> Fraction | None:
        if field is None:
            return Fraction(len(rows)) if rows else None
        values = [Fraction(value) for row in rows if (value := self.value(row, field)) is not None]
        return sum(values, Fraction()) if values else None


COMPUTED: dict[str, Callable[[list[Any]], Any]] = {
    "sum": lambda values: sum(values, Fraction()),
    "avg": lambda values: sum(values, Fraction()) / len(values),
    "median": median,
    "min": min,
    "max": max,
}


def is_many(table: Table) -> bool:
    """Whether several of its records may refer to one: unless the key itself is the reference."""
    return not set(table.key) <= set(table.reference)


def among(row: Row, leaf: Any) -> bool:
    """A condition on one of a row's own figures."""
    return compared(row[leaf["field"]], leaf)


def holds(wanted: Any, one: Callable[[Any], bool]) -> bool:
    match wanted:
        case {"and": parts}:
            return all(holds(part, one) for part in parts)
        case {"or": parts}:
            return any(holds(part, one) for part in parts)
        case {"not": part}:
            return not holds(part, one)
    return one(wanted)


def compared(found: Any, leaf: Any) -> bool:
    """A missing value differs from every value, and nothing is unknown. `meant` is the value as `found` would hold it."""
    op, value = leaf["op"], leaf["meant"]
    if op == "is_null":
        return (found is None) is value
    if found is None:
        return op in {"ne", "not_in"}
    match op:
        case "in" | "not_in":
            return (found in value) is (op == "in")
        case "between":
            return bool(value[0] <= found <= value[1])
        case "contains" if isinstance(found, tuple):
            return set(value) <= set(found)
        case "contains":
            return value.lower() in str(found).lower()
        case "starts_with":
            return str(found).lower().startswith(value.lower())
    met: bool = {
        "eq": found == value, "ne": found != value, "lt": found < value, "lte": found <= value, "gt": found > value, "gte": found >= value,
    }[op]  # fmt: skip
    return met


class Mood(int):
    """Compares by its place in the type, and reads as its label."""

    def __str__(self) -> str:
        return MOODS[self]


def as_compared(value: Any, kind: str) -> Any:
    return Mood(MOODS.index(value)) if kind == "enum" and value is not None else value


def comparable(value: Any) -> Any:
    """Numbers as fractions, so that none is rounded."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool | Mood):
        return Fraction(value)
    return value


def begins(moment: Any, unit: str, zone: str) -> Any:
    """Where the stretch begins that a moment lies in; what has no zone stays as it is."""
    if moment is None:
        return None
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        local = moment.astimezone(ZoneInfo(zone))
        if unit == "hour":
            return moment - timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        day = first_day(local.date(), unit)
        return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if unit == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    return first_day(moment.date() if isinstance(moment, datetime) else moment, unit)


def first_day(day: date, unit: str) -> date:
    match unit:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    return day.replace(month=1, day=1)


def share(part: Fraction | None, total: Fraction | None) -> Fraction | None:
    """Rounded half away from zero at four places, as it is documented."""
    if part is None or not total:
        return None
    scaled = abs(part * 100 / total) * 10**4
    rounded = Fraction(int(scaled + Fraction(1, 2)), 10**4)
    return rounded if part * total >= 0 else -rounded


def missing_last(rows: Iterable[T], value: Callable[[T], Any], descending: bool) -> list[T]:
    listed = list(rows)
    present = [row for row in listed if value(row) is not None]
    present.sort(key=value, reverse=descending)
    return present + [row for row in listed if value(row) is None]


def first_of_each(rows: list[T], each: Sequence[Callable[[T], Any]], most: int) -> list[T]:
    """The first of each, group by group."""
    kept: dict[tuple[Any, ...], list[T]] = {}
    for row in rows:
        kept.setdefault(tuple(value(row) for value in each), []).append(row)
    chosen = [row for group in kept.values() for row in group[:most]]
    for value in reversed(each):
        chosen = missing_last(chosen, value, descending=False)
    return chosen
