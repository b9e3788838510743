"""Plans of any shape over any schema: every field by every path, and what may be done with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from tests.records.any_schema import MOODS, UP, ZONES, Data, Field
from tests.records.by_python import Mood, Plan, as_compared, comparable, is_many

COMPARED = ("eq", "ne", "lt", "lte", "gt", "gte", "between", "in", "not_in")
NUMBERS = frozenset({"integer", "decimal", "float"})
UNITS = ("day", "week", "month", "quarter", "year")
MOST_HOPS = 3


@dataclass(frozen=True)
class Path:
    """A field by its path from a table. `many`: it leads to any number of records; `apart`: figures over them can be computed."""

    name: str
    field: Field
    many: bool
    apart: bool

    @property
    def kind(self) -> str:
        return self.field.type.kind


def paths(data: Data, place: int) -> list[Path]:
    """Every path of at most so many hops."""
    return list(_paths(data, place, "", [], MOST_HOPS))


def _paths(data: Data, place: int, before: str, hops: list[bool], left: int) -> Iterator[Path]:
    first_one = hops.index(False) if False in hops else len(hops)
    for field in data.tables[place].fields:
        yield Path(before + field.name, field, any(hops), not any(hops[first_one:]))
    if left and place:
        yield from _paths(data, place - 1, f"{before}{UP}.", [*hops, False], left - 1)
    if left and place + 1 < len(data.tables):
        after = data.tables[place + 1]
        yield from _paths(data, place + 1, f"{before}{after.name}.", [*hops, is_many(after)], left - 1)


def as_json(value: Any) -> Any:
    """As a caller sends it."""
    if isinstance(value, Decimal | UUID):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value


@st.composite
def condition(draw: Callable[..., Any], path: Path, name: str = "") -> dict[str, Any]:
    """One condition, with what its value means beside it."""
    kind, values = path.kind, path.field.type.values
    ops = ["is_null"]
    if kind == "array":
        ops += ["contains"]
    else:
        ops += COMPARED
        ops += ["contains", "starts_with"] if kind in {"text", "enum"} else []
    op = draw(st.sampled_from(ops))
    leaf: dict[str, Any] = {"field": name or path.name, "op": op}
    if op == "is_null":
        meant = draw(st.booleans())
        return {**leaf, "value": meant, "meant": meant}
    if op in {"contains", "starts_with"} and kind != "array":
        part = draw(st.sampled_from(["a", "É", "é", "%", "_", "\\", "oo", "B", " ", "ß"]))
        return {**leaf, "value": part, "meant": part}
    if kind == "array":
        part = draw(st.sampled_from(["a", "b c", ["a", "b"], ['q"']]))
        return {**leaf, "value": part, "meant": part if isinstance(part, list) else [part]}
    if op in {"in", "not_in", "between"}:
        listed = draw(st.lists(values, min_size=2 if op == "between" else 1, max_size=2 if op == "between" else 3))
        return {**leaf, "value": [sent(one, kind) for one in listed], "meant": [as_compared(one, kind) for one in listed]}
    value = draw(values)
    return {**leaf, "value": sent(value, kind), "meant": as_compared(value, kind)}


def sent(value: Any, kind: str) -> Any:
    return float(value) if kind == "float" else as_json(value)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=3))
            | st.builds(lambda parts: {"or": parts}, st.lists(inner, min_size=1, max_size=3))
            | st.builds(lambda part: {"not": part}, inner)
        ),
        max_leaves=4,
    )


@st.composite
def plans(draw: Callable[..., Any], data: Data, place: int) -> Plan:
    """A plan over the table at `place`."""
    every = paths(data, place)
    single = [one for one in every if not one.many]
    sortable = [one for one in single if one.kind != "array"]
    plan: Plan = {"collection": data.tables[place].name, "limit": draw(st.integers(1, 5)), "zone": draw(st.sampled_from(ZONES))}
    if draw(st.booleans()):
        plan["where"] = draw(st.lists(nested(st.sampled_from(every).flatmap(condition)), min_size=1, max_size=2))
    if draw(st.booleans()):
        plan["fields"] = [one.name for one in draw(st.lists(st.sampled_from(single), min_size=1, max_size=4, unique=True))]
        plan["order_by"] = draw(orders([one.name for one in sortable]))
        if draw(st.integers(0, 3)) == 0:
            per = draw(st.lists(st.sampled_from(sortable), min_size=1, max_size=2, unique=True))
            plan["top"] = {"per": [one.name for one in per], "limit": draw(st.integers(1, 2))}
        return plan
    figures: Plan = draw(_figures(plan, every, sortable))
    return figures


@st.composite
def _figures(draw: Callable[..., Any], plan: Plan, every: list[Path], sortable: list[Path]) -> Plan:
    grouped = draw(st.lists(st.sampled_from(sortable), max_size=2))
    aggregates = draw(st.lists(st.sampled_from(every).flatmap(_aggregate), min_size=0 if grouped else 1, max_size=4))
    named: dict[str, Path] = {}
    plan["group_by"], plan["aggregates"] = [], []
    for number, path in enumerate(grouped):
        name = f"g{number}"
        group = {"field": path.name, "as": name}
        if path.kind in {"date", "timestamp", "timestamptz"} and draw(st.integers(0, 3)):
            units = UNITS if path.kind == "date" else ("hour", *UNITS)
            group["unit"] = draw(st.sampled_from(units))
        else:
            named[name] = path
        plan["group_by"].append(group)
    for number, (aggregate, path) in enumerate(aggregates):
        name = f"f{number}"
        plan["aggregates"].append({**aggregate, "as": name})
        if aggregate["op"] in {"min", "max"} and path is not None:
            named[name] = path
    plan["aggregates"].append({"op": "count", "as": "n"})
    if aggregates and draw(st.integers(0, 2)) == 0:
        plan["over"] = {"order_by": draw(orders([one.name for one in sortable], least=1)), "limit": draw(st.integers(1, 4))}
        if draw(st.booleans()):
            plan["over"]["per"] = [draw(st.sampled_from(sortable)).name]
    if draw(st.integers(0, 2)) == 0:
        count = st.integers(0, 3).map(lambda least: {"field": "n", "op": "gte", "value": least, "meant": least})
        leaves = [count, *(condition(path, name) for name, path in named.items())]
        plan["having"] = draw(st.lists(nested(st.one_of(leaves)), min_size=1, max_size=2))
    exact = [one["as"] for one in plan["aggregates"] if one["op"] != "avg"]
    plan["order_by"] = draw(orders([*(one["as"] for one in plan["group_by"]), *exact]))
    if plan["group_by"] and draw(st.integers(0, 2)) == 0:
        plan["top"] = {"per": [draw(st.sampled_from(plan["group_by"]))["as"]], "limit": draw(st.integers(1, 2))}
    return plan


@st.composite
def _aggregate(draw: Callable[..., Any], path: Path) -> tuple[dict[str, Any], Path | None]:
    ops = ["count"] if path.apart or not path.many else []
    if not path.many and path.kind != "array":
        ops += ["count_distinct"]
    if path.kind in NUMBERS:
        ops += ["sum"] if path.apart else []
        ops += [] if path.many else ["sum", "avg", "median", "percent_of_total"]
    if path.kind not in {"array", "boolean", "uuid"} and path.apart:
        ops += ["min", "max"]
    if not ops:
        return {"op": draw(st.sampled_from(["count", "percent_of_total"]))}, None
    return {"op": draw(st.sampled_from(ops)), "field": path.name}, path


def orders(names: list[str], least: int = 0) -> st.SearchStrategy[Any]:
    direction = st.sampled_from(["asc", "desc"])
    one = st.builds(lambda name, way: {"field": name, "direction": way}, st.sampled_from(names), direction)
    return st.lists(one, min_size=least, max_size=2, unique_by=lambda order: order["field"])


def as_sent(plan: Any) -> Any:
    """The plan without what its values mean."""
    if isinstance(plan, dict):
        return {name: as_sent(value) for name, value in plan.items() if name != "meant"}
    return [as_sent(one) for one in plan] if isinstance(plan, list) else plan


def typed(cell: Any, kind: str) -> Any:
    """A cell of a result, as it is compared here."""
    if cell is None:
        return None
    match kind:
        case "integer" | "decimal" | "float":
            return comparable(Decimal(str(cell)))
        case "date":
            return date.fromisoformat(cell)
        case "timestamp" | "timestamp with time zone":
            return datetime.fromisoformat(cell)
        case "enum":
            return Mood(MOODS.index(cell))
        case "uuid":
            return UUID(cell)
        case "array":
            return tuple(cell)
    return cell
