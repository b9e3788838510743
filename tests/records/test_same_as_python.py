"""Any plan over any rows equals the same computation here, with fractions and no database."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.records.by_hand import NEW_YORK, Row, figure, group_value, holds, last_if_missing, typed

from askbus.access.model import Principal
from askbus.records.engine import Records, open_records
from askbus.records.model import QueryPlan
from askbus.records.query import query
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R2", "R4")

AUTUMN = datetime(2026, 10, 31, 20, tzinfo=UTC)

rows_of = st.lists(
    st.tuples(
        st.sampled_from([None, "a", "b", "É"]),
        st.none() | st.decimals(-(10**20), 10**20, places=2) | st.sampled_from([Decimal("0.10"), Decimal("0.20")]),
        st.none() | st.integers(-(2**62), 2**62) | st.integers(0, 3),
        st.none() | st.integers(0, 60 * 60).map(lambda minutes: AUTUMN + timedelta(minutes=minutes)),
        st.lists(st.integers(0, 5), max_size=3).map(tuple),
    ),
    min_size=2,
    max_size=12,
).map(lambda made: [Row(place, *one) for place, one in enumerate(made)])

compared = st.sampled_from(["eq", "ne", "lt", "lte", "gt", "gte"])
one_filter = (
    st.builds(lambda op, value: {"field": "kind", "op": op, "value": value}, compared, st.sampled_from(["a", "b"]))
    | st.builds(lambda op, value: {"field": "amount", "op": op, "value": value}, compared, st.sampled_from(["0.10", "0", "7"]))
    | st.builds(lambda op, value: {"field": "whole", "op": op, "value": value}, compared, st.integers(0, 3))
    | st.builds(
        lambda name, value: {"field": name, "op": "is_null", "value": value}, st.sampled_from(["amount", "at"]), st.booleans()
    )
)
filters = st.recursive(
    one_filter,
    lambda inner: (
        st.builds(lambda parts: {"and": parts}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda parts: {"or": parts}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(lambda part: {"not": part}, inner)
    ),
    max_leaves=4,
)
groups_of = st.lists(
    st.sampled_from(
        [{"field": "kind"}, {"field": "at", "unit": "day"}, {"field": "at", "unit": "hour"}, {"field": "at", "unit": "week"}]
    ),
    max_size=2,
    unique_by=str,
)
FIGURES = [
    ("count", ""), ("count", "amount"), ("count_distinct", "kind"), ("sum", "amount"), ("sum", "whole"), ("avg", "amount"),
    ("min", "at"), ("max", "amount"), ("median", "amount"), ("median", "whole"), ("percent_of_total", ""),
    ("percent_of_total", "whole"), ("sum", "lines.qty"), ("count", "lines.qty"), ("max", "lines.qty"),
]  # fmt: skip
"""All of them at once, so that none disturbs another."""


@pytest.fixture(scope="module")
async def tables(postgres_server: Server) -> AsyncIterator[tuple[TeamDatabase, Records]]:
    """Records with lines, filled by the test."""
    async with team_database(postgres_server.url, ledger=False) as team:
        await team.run(
            "CREATE TABLE r (id int PRIMARY KEY, kind text, amount numeric, whole bigint, at timestamptz)",
            "CREATE TABLE lines (id serial PRIMARY KEY, r_id int NOT NULL REFERENCES r, qty int NOT NULL)",
        )
        records = open_records(team.url)
        yield team, records
        await records.dispose()


async def fill(team: TeamDatabase, rows: list[Row]) -> None:
    def spelled(value: object) -> str:
        return "NULL" if value is None else f"'{value}'"

    made = ["TRUNCATE r, lines"]
    for row in rows:
        cells = ", ".join(map(spelled, (row.id, row.kind, row.amount, row.whole, row.at)))
        made.append(f"INSERT INTO r VALUES ({cells})")
        made += [f"INSERT INTO lines (r_id, qty) VALUES ({row.id}, {qty})" for qty in row.lines]
    await team.run("; ".join(made))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=rows_of,
    where=st.none() | filters,
    groups=groups_of,
    most=st.none() | st.integers(1, 4),
    least=st.integers(0, 2),
)
async def test_figures_equal_those_computed_here(
    tables: tuple[TeamDatabase, Records],
    member: Principal,
    rows: list[Row],
    where: dict[str, object] | None,
    groups: list[dict[str, str]],
    most: int | None,
    least: int,
) -> None:
    """Filters, stretches of time, every aggregate, over all or over the first by amount, and a condition on how many there are."""
    team, records = tables
    await fill(team, rows)
    named = [{"op": op, "as": f"f{place}", **({"field": field} if field else {})} for place, (op, field) in enumerate(FIGURES)]
    plan: dict[str, object] = {
        "collection": "r", "group_by": groups, "zone": NEW_YORK, "aggregates": [*named, {"op": "count", "as": "n"}],
        "having": [{"field": "n", "op": "gte", "value": least}], "limit": 500,
    }  # fmt: skip
    left = [row for row in rows if where is None or holds(row, where)]
    if where is not None:
        plan["where"] = [where]
    if most is not None:
        plan["over"] = {"order_by": [{"field": "amount", "direction": "desc"}], "limit": most}
        left = sorted(left, key=lambda row: (row.amount is None, -(row.amount or 0), row.id))[:most]
    found = await query(records, member, QueryPlan.model_validate(plan))

    grouped: dict[tuple[object, ...], list[Row]] = {} if groups else {(): []}
    for row in left:
        grouped.setdefault(tuple(group_value(row, group) for group in groups), []).append(row)
    expected = [
        (*key, *(figure(op, field, of, left) for op, field in FIGURES), Fraction(len(of)))
        for key, of in sorted(grouped.items(), key=lambda one: last_if_missing(one[0]))
        if len(of) >= least
    ]
    columns = [column.name for column in found.columns]
    actual = [tuple(typed(cell, name) for cell, name in zip(row, columns, strict=True)) for row in found.rows]
    assert len(actual) == len(expected) == found.total
    for mine, theirs in zip(expected, actual, strict=True):
        for op, one, other in zip([*("" for _ in groups), *(op for op, _ in FIGURES), ""], mine, theirs, strict=True):
            if op == "avg" and one is not None:
                assert isinstance(one, Fraction)
                assert isinstance(other, Fraction)
                assert abs(one - other) <= max(abs(one), Fraction(1)) / 10**15
            else:
                assert one == other, (op, plan)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=rows_of,
    where=st.none() | filters,
    order=st.lists(
        st.tuples(st.sampled_from(["kind", "amount", "whole", "at"]), st.booleans()), max_size=2, unique_by=lambda one: one[0]
    ),
    size=st.integers(1, 4),
    top=st.none() | st.integers(1, 2),
)
async def test_records_equal_those_sorted_here(
    tables: tuple[TeamDatabase, Records],
    member: Principal,
    rows: list[Row],
    where: dict[str, object] | None,
    order: list[tuple[str, bool]],
    size: int,
    top: int | None,
) -> None:
    """Page after page, by cursor, or by offset where only the first of each kind are wanted."""
    team, records = tables
    await fill(team, rows)
    left = sorted((row for row in rows if where is None or holds(row, where)), key=lambda row: row.id)
    for name, descending in reversed(order):
        present = [row for row in left if getattr(row, name) is not None]
        present.sort(key=lambda row: getattr(row, name), reverse=descending)  # used within the loop
        left = present + [row for row in left if getattr(row, name) is None]
    plan: dict[str, object] = {
        "collection": "r", "fields": ["id"], "limit": size,
        "order_by": [{"field": name, "direction": "desc" if descending else "asc"} for name, descending in order],
    }  # fmt: skip
    if where is not None:
        plan["where"] = [where]
    if top is not None:
        plan["top"] = {"per": ["kind"], "limit": top}
        kinds = sorted({row.kind for row in left}, key=lambda kind: (kind is None, kind or ""))
        left = [row for kind in kinds for row in [row for row in left if row.kind == kind][:top]]
    seen: list[object] = []
    page = await query(records, member, QueryPlan.model_validate(plan))
    seen += [row[0] for row in page.rows]
    while page.truncated and page.rows and len(seen) < page.total:
        further = {"offset": page.next_offset} if top is not None else {"cursor": page.next_cursor}
        page = await query(records, member, QueryPlan.model_validate({**plan, **further}))
        seen += [row[0] for row in page.rows]
    assert seen == [row.id for row in left]
    assert page.total == len(left)
