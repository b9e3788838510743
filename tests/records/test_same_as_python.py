"""Any plan over any schema and rows equals the same computation here, with fractions and no database."""

from collections.abc import AsyncIterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.records.any_plan import as_sent, plans, typed
from tests.records.any_schema import CHECKS, DDL, UNSHRUNK, Data, data
from tests.records.by_python import Plan, Reader

from askbus.access.model import Principal
from askbus.records.engine import Records, open_records
from askbus.records.model import QueryPlan, Rows
from askbus.records.query import query
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R1", "R2", "R4")

PLANS = 6
"""How many plans are tried on each schema."""


@st.composite
def cases(draw: Any) -> tuple[Data, list[tuple[int, Plan]]]:
    made = draw(data())
    places = st.integers(0, len(made.tables) - 1)
    tried = st.lists(places.flatmap(lambda place: st.tuples(st.just(place), plans(made, place))), min_size=1, max_size=PLANS)
    return made, draw(tried)


@pytest.fixture(scope="module")
async def team(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """A database with the types, which each example fills with tables of its own."""
    async with team_database(postgres_server.url, ledger=False) as made:
        await made.run(DDL)
        yield made


async def check(team: TeamDatabase, member: Principal, case: tuple[Data, list[tuple[int, Plan]]]) -> None:
    made, tried = case
    statements = made.statements()
    note(";\n".join(statements))
    await team.run(";".join(statements))
    records = open_records(team.url)
    try:
        for place, plan in tried:
            note(repr(as_sent(plan)))
            await equal(records, member, Reader(made, place), plan)
    finally:
        await records.dispose()
        await team.run(";".join(made.drops()))


async def equal(records: Records, member: Principal, reader: Reader, plan: Plan) -> None:
    """Page after page."""
    expected = reader.records(plan) if "fields" in plan else reader.figures(plan)
    sent = as_sent(plan)
    page = await query(records, member, QueryPlan.model_validate(sent))
    seen = list(cells(page))
    assert page.total == len(expected)
    while len(seen) < page.total:
        assert page.truncated
        assert page.rows
        paged = "fields" in plan and "top" not in plan
        further = {"cursor": page.next_cursor} if paged else {"offset": page.next_offset}
        page = await query(records, member, QueryPlan.model_validate({**sent, **further}))
        assert page.total == len(expected)
        seen += cells(page)
    assert page.next_cursor is None
    averages = {one["as"] for one in plan.get("aggregates", ()) if one["op"] == "avg"}
    names = [column.name for column in page.columns]
    for mine, theirs in zip(expected, seen, strict=True):
        for name, one, other in zip(names, mine, theirs, strict=True):
            if name in averages and isinstance(one, Fraction):
                assert abs(one - other) <= max(abs(one), Fraction(1)) / 10**15
            else:
                assert one == other, (name, expected, seen)


def cells(page: Rows) -> list[tuple[Any, ...]]:
    kinds = [column.kind.value for column in page.columns]
    return [tuple(typed(cell, kind) for cell, kind in zip(row, kinds, strict=True)) for row in page.rows]


@settings(CHECKS, max_examples=10, derandomize=True, database=None)
@given(case=cases())
async def test_plans_equal_what_is_computed_here(team: TeamDatabase, member: Principal, case: Any) -> None:
    """Filters through references, groups by stretches of time, every figure, conditions on them, orders, the first of each, pages."""
    await check(team, member, case)


@pytest.mark.drill
@settings(CHECKS, max_examples=1000, phases=UNSHRUNK)
@given(case=cases())
async def test_many_plans_equal_what_is_computed_here(team: TeamDatabase, member: Principal, case: Any) -> None:
    """The same, wide."""
    await check(team, member, case)
