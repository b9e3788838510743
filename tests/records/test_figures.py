"""Figures are the database's: exact, over the right records, never multiplied by a join."""

from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from askbus.access.model import Principal
from askbus.errors import InvalidInput
from askbus.records.engine import Records, open_records
from askbus.records.model import DEEPEST_FILTER, Filter, QueryPlan, Rows
from askbus.records.query import query
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server

Ask = Callable[..., Awaitable[Rows]]


@pytest.mark.requirement("R2", "R4")
async def test_the_combined_value_of_the_top_two_is_one_read(ask: Ask) -> None:
    """An aggregate over a limited, ordered selection: neither over everything nor over the page."""
    found = await ask(
        "orders",
        aggregates=[{"op": "sum", "field": "amount", "as": "value"}, {"op": "count"}],
        over={"order_by": [{"field": "amount", "direction": "desc"}], "limit": 2},
    )
    assert (found.rows, found.display, found.total) == ((("600.60", 2),), (("600.60", "2"),), 1)


@pytest.mark.requirement("R2")
async def test_a_selection_is_taken_after_the_filter_and_before_the_groups(ask: Ask) -> None:
    """The two largest won orders, by the customer's country; with ties the key decides."""
    found = await ask(
        "orders",
        where={"field": "customer.country", "op": "ne", "value": "DE"},
        group_by=["customer.country"],
        aggregates=[{"op": "sum", "field": "amount"}, {"op": "count", "field": "note"}],
        over={"order_by": [{"field": "amount"}], "limit": 3},
    )
    assert found.rows == (("FR", "0.05", 1), ("UK", "300.30", 1))


@pytest.mark.requirement("R2")
async def test_groups_can_be_ordered_by_a_figure_and_cut(ask: Ask) -> None:
    """The total is the number of groups, not of records."""
    found = await ask(
        "orders",
        group_by=["stage"],
        aggregates=[{"op": "sum", "field": "amount", "as": "value"}, {"op": "avg", "field": "amount"}],
        order_by=[{"field": "value", "direction": "desc"}],
        limit=2,
    )
    assert [row[:2] for row in found.rows] == [("won", "500.50"), ("lead", "200.20")]
    assert found.display[0] == ("won", "500.50", "250.25")
    assert (found.total, found.next_offset, found.truncated) == (3, 2, True)


@pytest.mark.requirement("R2")
@pytest.mark.parametrize(
    ("aggregate", "value"),
    [
        ({"op": "count"}, 4),
        ({"op": "count", "field": "note"}, 2),
        ({"op": "count_distinct", "field": "stage"}, 3),
        ({"op": "count_distinct", "field": "customer.name"}, 2),
        ({"op": "sum", "field": "id"}, 10),
        ({"op": "avg", "field": "id"}, "2.5000000000000000"),
        ({"op": "min", "field": "amount"}, "0.05"),
        ({"op": "max", "field": "amount"}, "400.40"),
        ({"op": "max", "field": "placed"}, "2026-03-01T00:00:00+00:00"),
        ({"op": "max", "field": "stage"}, "lost"),
        ({"op": "min", "field": "note"}, "100% off_"),
    ],
)
async def test_each_aggregate_gives_its_figure(ask: Ask, aggregate: dict[str, str], value: object) -> None:
    """Over records with missing values, which count for nothing."""
    assert (await ask("orders", aggregates=aggregate)).rows == ((value,),)


async def test_a_sum_over_nothing_is_missing_and_not_zero(ask: Ask) -> None:
    """Nobody is told 0.00 where there is nothing to add."""
    found = await ask(
        "orders", where={"field": "id", "value": 99}, aggregates=[{"op": "sum", "field": "amount"}, {"op": "count"}]
    )
    assert (found.rows, found.display) == (((None, 0),), (("—", "0"),))


@pytest.mark.requirement("R2")
async def test_what_a_record_has_many_of_never_multiplies_it(ask: Ask) -> None:
    """Order 1 has three lines, two of them tea: it counts once in a filter; what would count it thrice is refused."""
    tea = {"field": "lines.product", "value": "tea"}
    found = await ask("orders", where=tea, aggregates=[{"op": "sum", "field": "amount"}, {"op": "count"}])
    assert found.rows == (("300.30", 2),)
    assert (await ask("customers", where={"field": "orders.lines.qty", "op": "gte", "value": 3}, fields=["id"])).rows == ((1,),)
    assert (
        await ask("customers", where={"not": {"field": "orders.id", "op": "is_null", "value": False}}, fields=["id"])
    ).rows == ((3,),)
    assert (await ask("lines", where={"field": "order.customer.orders.stage", "value": "lost"}, fields=["id"])).rows == ((5,),)
    for parts in (
        {"fields": ["lines.qty"]},
        {"order_by": {"field": "lines.qty"}},
        {"group_by": ["lines.product"]},
        {"aggregates": {"op": "avg", "field": "lines.qty"}},
        {"aggregates": {"op": "percent_of_total", "field": "lines.qty"}},
    ):
        with pytest.raises(InvalidInput, match=r"count(ed)? (a record )?more than once"):
            await ask("orders", **parts)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"aggregates": {"op": "sum", "field": "note"}}, "text field has no sum"),
        ({"aggregates": {"op": "avg", "field": "placed"}}, "has no avg"),
    ],
)
async def test_a_figure_that_makes_no_sense_is_refused(ask: Ask, parts: dict[str, object], says: str) -> None:
    """With the field and the operator named."""
    with pytest.raises(InvalidInput, match=says):
        await ask("orders", **parts)


@pytest.fixture(scope="module")
async def numbers(postgres_server: Server) -> AsyncIterator[tuple[TeamDatabase, Records]]:
    """A table of one number of each type, filled by the tests."""
    async with team_database(postgres_server.url, ledger=False) as team:
        await team.run("CREATE TABLE n (id bigint PRIMARY KEY, exact numeric, cents numeric(30,2), whole bigint, rough float8)")
        records = open_records(team.url)
        yield team, records
        await records.dispose()


@pytest.mark.requirement("R4")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    amounts=st.lists(st.decimals(min_value=-(10**27), max_value=10**27, places=2), min_size=1, max_size=12),
    exact=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**40), max_value=10**40, places=20),
    whole=st.integers(-(2**63), 2**63 - 1),
)
async def test_numbers_come_back_digit_for_digit(
    numbers: tuple[TeamDatabase, Records], member: Principal, amounts: list[Decimal], exact: Decimal, whole: int
) -> None:
    """Thirty digits of money, whole numbers beyond 2^53, and sums that Python's decimals agree with."""
    team, records = numbers
    rows = ", ".join(f"({place}, {exact:f}, {amount:f}, {whole}, 0.1)" for place, amount in enumerate(amounts))
    await team.run(f"TRUNCATE n; INSERT INTO n VALUES {rows}")
    found = await query(records, member, QueryPlan(collection="n", fields=("cents", "exact", "whole")))
    assert [Decimal(str(row[1])) for row in found.rows] == amounts
    assert Decimal(str(found.rows[0][2])) == exact
    assert found.rows[0][3] == (whole if abs(whole) < 2**53 else str(whole))
    plan = {"collection": "n", "aggregates": [{"op": "sum", "field": name} for name in ("cents", "whole", "rough")]}
    ((cents, sum_whole, rough),) = (await query(records, member, QueryPlan.model_validate(plan))).rows
    assert Fraction(str(cents)) == sum(map(Fraction, amounts))
    assert int(str(sum_whole)) == whole * len(amounts)
    assert Decimal(str(rough)) == Decimal("0.1") * len(amounts)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.recursive(
    st.builds(Filter, field=st.just("note"), op=st.sampled_from(["eq", "ne", "contains", "lt"]), value=st.just("first"))
    | st.builds(Filter, field=st.just("lines.qty"), op=st.sampled_from(["gt", "ne"]), value=st.integers(0, 4))
    | st.builds(Filter, field=st.just("placed"), op=st.just("is_null"), value=st.booleans()),
    lambda inner: st.builds(Filter, and_=st.lists(inner, min_size=1, max_size=3).map(tuple))
    | st.builds(Filter, or_=st.lists(inner, min_size=1, max_size=3).map(tuple))
    | st.builds(Filter, not_=inner),
    max_leaves=6,
))  # fmt: skip
async def test_a_filter_and_its_negation_share_the_records_out(kept_records: Records, member: Principal, wanted: Filter) -> None:
    """Each record is in exactly one of the two: no value is unknown, and nothing is lost to NULL."""
    assume(wanted.size()[1] < DEEPEST_FILTER)
    halves = [
        await query(kept_records, member, QueryPlan(collection="orders", where=(one,), fields=("id",)))
        for one in (wanted, Filter.model_validate({"not": wanted}))
    ]
    assert sorted(row[0] for half in halves for row in half.rows) == [1, 2, 3, 4]  # type: ignore[type-var]  # whole numbers


async def test_special_values_come_out_as_they_are(team: TeamDatabase, records: Records, member: Principal) -> None:
    """Infinity and NaN as text, JSON exactly, a long text cut with a word about it, binary as its length."""
    await team.run(
        "CREATE TABLE s (id int PRIMARY KEY, f float8, n numeric, d date, j jsonb, a numeric[], t text, b bytea, i interval, "
        "m money)",
        "INSERT INTO s VALUES (1, 'NaN', 'Infinity', '-infinity', '{\"big\": 12345678901234567890, \"x\": 0.1}', '{1.10,NULL}', "
        "repeat('x', 5000), 'abc', '1 year 2 days', '1234.5')",
    )
    found = await query(records, member, QueryPlan(collection="s"))
    assert found.rows[0][1:6] == ("NaN", "Infinity", "-infinity", {"big": "12345678901234567890", "x": 0.1}, [1.1, None])
    assert found.rows[0][6] == "x" * 4000
    assert found.rows[0][7:] == (3, "P1Y2D", "1234.50")
    assert found.truncated
    assert found.cut == ("t was cut after 4000 characters in 1 of the rows.",)
    assert found.display[0][7] == "3 bytes"


async def test_a_result_that_would_be_too_large_stops_and_says_where(
    team: TeamDatabase, records: Records, member: Principal
) -> None:
    """The next page goes on from there; nothing is skipped."""
    await team.run(
        "CREATE TABLE big (id int PRIMARY KEY, t text)",
        "INSERT INTO big SELECT n, repeat('x', 3000) FROM generate_series(1, 200) AS n",
    )
    first = await query(records, member, QueryPlan(collection="big", limit=200))
    assert 0 < len(first.rows) < 200
    assert (first.total, first.next_offset, first.truncated) == (200, len(first.rows), True)
    assert "too large" in first.cut[0]
    rest = await query(records, member, QueryPlan(collection="big", limit=1, offset=first.next_offset or 0))
    assert rest.rows[0][0] == len(first.rows) + 1
