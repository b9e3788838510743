"""What else a plan can ask for: stretches of time, medians and shares, conditions on figures, the first of each, cursors."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from askbus.access.model import Principal
from askbus.errors import AskbusError, InvalidInput, NotFound, PermissionDenied
from askbus.records.display import Presentation
from askbus.records.engine import Records
from askbus.records.model import QueryPlan, Rows
from askbus.records.query import query
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R2")

Ask = Callable[..., Awaitable[Rows]]
Read = Callable[..., Awaitable[Rows]]

NEW_YORK = "America/New_York"


@pytest.fixture
def read(records: Records, member: Principal) -> Read:
    """`query` on the team's database, with the plan's parts as keywords."""

    async def run(collection: str, **parts: object) -> Rows:
        return await query(records, member, QueryPlan.model_validate({"collection": collection, **parts}))

    return run


async def test_days_and_hours_are_those_of_the_zone(team: TeamDatabase, read: Read) -> None:
    """D03. A day of 25 hours, the hour that comes twice, a day of 23; the server's own zone makes no difference."""
    case = json.loads((Path(__file__).parent.parent / "cases" / "db" / "D03.json").read_text("utf-8"))
    await team.run(*case["setup"], f"ALTER DATABASE \"{team.name}\" SET timezone TO 'Asia/Tokyo'")
    days = await read("t3", group_by=[{"field": "ts", "unit": "day"}], aggregates={"op": "sum", "field": "n"}, zone=NEW_YORK)
    assert days.rows == (("2026-11-01T00:00:00-04:00", 111), ("2026-11-02T00:00:00-05:00", 1000))
    assert days.display == (("Nov 1, 2026", "111"), ("Nov 2, 2026", "1,000"))
    assert (days.columns[0].name, days.columns[0].type) == ("ts_day", f"day in {NEW_YORK}")
    hours = await read(
        "t3",
        group_by=[{"field": "ts", "unit": "hour"}],
        aggregates={"op": "sum", "field": "n"},
        where={"field": "n", "op": "lt", "value": 100},
        zone=NEW_YORK,
    )
    assert hours.rows == (("2026-11-01T01:00:00-04:00", 1), ("2026-11-01T01:00:00-05:00", 10))
    assert [row[0].replace("\u202f", " ") for row in hours.display] == ["11/1/26, 1:00 AM EDT", "11/1/26, 1:00 AM EST"]
    await team.run(
        "TRUNCATE t3; INSERT INTO t3 VALUES ('2026-03-08 04:59+00', 1), ('2026-03-08 05:00+00', 10), ('2026-03-09 03:59+00', 100), "
        "('2026-03-09 04:00+00', 1000), (NULL, 5), ('infinity', 7)"
    )
    spring = await read("t3", group_by=[{"field": "ts", "unit": "day"}], aggregates={"op": "sum", "field": "n"}, zone=NEW_YORK)
    assert spring.rows == (
        ("2026-03-07T00:00:00-05:00", 1),
        ("2026-03-08T00:00:00-05:00", 110),
        ("2026-03-09T00:00:00-04:00", 1000),
        ("infinity", 7),
        (None, 5),
    )


async def test_what_has_no_zone_is_not_shifted(team: TeamDatabase, records: Records, member: Principal) -> None:
    """A date or a timestamp without time zone is the same stretch everywhere; weeks begin on Monday."""
    await team.run("CREATE TABLE t (at timestamp, day date); INSERT INTO t VALUES ('2026-02-28 23:30', '2026-02-28')")
    for field, unit, value, shown in (
        ("at", "hour", "2026-02-28T23:00:00", "28.02.26, 23:00"),
        ("at", "day", "2026-02-28", "28.02.2026"),
        ("at", "week", "2026-02-23", "23. Feb.\u2009\u2013\u20091. März 2026"),
        ("day", "week", "2026-02-23", "23. Feb.\u2009\u2013\u20091. März 2026"),
        ("day", "month", "2026-02-01", "Feb. 2026"),
        ("day", "quarter", "2026-01-01", "Q1 2026"),
        ("day", "year", "2026-01-01", "2026"),
    ):
        group = {"field": field, "unit": unit, "as": "when"}
        plan = QueryPlan.model_validate({"collection": "t", "group_by": group, "zone": "Asia/Tokyo"})
        found = await query(records, member, plan, Presentation(locale="de"))
        assert (found.rows, found.columns[0].name, found.columns[0].type) == (((value,),), "when", unit)
        assert found.display[0][0] == shown


async def test_a_stretch_without_a_zone_is_the_persons_own(kept_records: Records, member: Principal) -> None:
    """And the answer says which that is; a group can be named, ordered by and filtered on."""
    plan = {
        "collection": "orders",
        "group_by": [{"field": "placed", "unit": "month", "as": "month"}],
        "aggregates": [{"op": "count"}],
        "having": {"field": "month", "op": "is_null", "value": False},
        "order_by": {"field": "month", "direction": "desc"},
    }
    found = await query(kept_records, member, QueryPlan.model_validate(plan), Presentation(zone=NEW_YORK))
    assert [row[0] for row in found.rows] == [f"{month}-01T00:00:00-05:00" for month in ("2026-02", "2026-01", "2025-12")]
    assert [row[0] for row in found.display] == ["Feb 2026", "Jan 2026", "Dec 2025"]
    assert found.columns[0].type == f"month in {NEW_YORK}"


@pytest.mark.parametrize(
    ("parts", "error", "says"),
    [
        ({"group_by": {"field": "note", "unit": "day"}}, InvalidInput, "text field has no days"),
        ({"group_by": {"field": "plac", "unit": "day"}}, NotFound, "placed"),
        ({"group_by": ["stage"], "having": {"field": "amount", "value": 1}}, NotFound, "among the figures"),
        ({"group_by": ["stage"], "having": {"field": "stage", "value": "won!"}}, InvalidInput, "lead, won, lost"),
        ({"group_by": ["stage"], "top": {"per": ["amount"], "limit": 1}}, NotFound, "stage"),
        ({"top": {"per": ["client"], "limit": 1}}, NotFound, "customer"),
        ({"aggregates": {"op": "median", "field": "note"}}, InvalidInput, "text field has no median"),
        ({"aggregates": {"op": "percent_of_total", "field": "placed"}}, InvalidInput, "has no percent_of_total"),
        (
            {"aggregates": {"op": "count"}, "over": {"order_by": [{"field": "id"}], "limit": 1, "per": ["x"]}},
            NotFound,
            "field 'x'",
        ),
    ],
)
async def test_a_wrong_part_is_refused_with_what_would_do(
    ask: Ask, parts: dict[str, object], error: type[AskbusError], says: str
) -> None:
    """The error names the part and what is permitted."""
    with pytest.raises(error, match=says):
        await ask("orders", **parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"group_by": {"field": "placed", "unit": "day"}, "zone": "Mars/Olympus"},
        {"having": {"field": "id", "value": 1}},
        {"cursor": "x", "offset": 1},
        {"cursor": "x", "group_by": ["stage"]},
        {"group_by": {"field": "placed", "unit": "fortnight"}},
        {"aggregates": {"op": "median"}},
    ],
)
def test_a_plan_that_means_nothing_is_no_plan(parts: dict[str, object]) -> None:
    """Before any database is asked."""
    with pytest.raises(ValidationError):
        QueryPlan.model_validate({"collection": "orders", **parts})


@pytest.mark.requirement("R4")
async def test_a_median_is_exact(team: TeamDatabase, read: Read) -> None:
    """Where percentile_cont would go through a float; missing values count for nothing."""
    cases = [
        (["100.10", "200.20", "400.40", "0.05"], "150.15"),
        (["0.01", "0.02"], "0.015"),
        (["12345678901234567890123456.78", "12345678901234567890123456.79"], "12345678901234567890123456.785"),
        (["1.10", "NULL", "3.30", "2.20"], "2.20"),
        (["0.1", "0.1", "0.1", "0.4"], "0.1"),
        (["NULL"], None),
        (["'NaN'", "1", "2"], "2"),
    ]
    listed = ", ".join(f"({place}, {value})" for place, (values, _) in enumerate(cases) for value in values)
    await team.run(f"CREATE TABLE m (g int, n numeric); INSERT INTO m VALUES {listed}")
    found = await read("m", group_by=["g"], aggregates={"op": "median", "field": "n"})
    assert found.rows == tuple((place, median) for place, (_, median) in enumerate(cases))


async def test_shares_are_of_everything_that_the_filter_leaves(ask: Ask, kept_records: Records, member: Principal) -> None:
    """Neither `having` nor `top` nor the limit changes what a hundred percent is; without a field records are counted."""
    plan = {
        "group_by": ["stage"],
        "aggregates": [
            {"op": "percent_of_total", "field": "amount", "as": "share"},
            {"op": "percent_of_total", "as": "of_records"},
            {"op": "sum", "field": "amount"},
        ],
        "order_by": {"field": "share", "direction": "desc"},
    }
    found = await ask("orders", **plan)
    assert found.rows == (
        ("won", "71.4235", "50.0000", "500.50"),
        ("lead", "28.5694", "25.0000", "200.20"),
        ("lost", "0.0071", "25.0000", "0.05"),
    )
    assert found.display[0][:3] == ("won", "71.42%", "50.00%")
    assert found.columns[1].type == "percent"
    assert (await ask("orders", **plan, having={"field": "share", "op": "lt", "value": 50}, limit=1)).rows == found.rows[1:2]
    nothing = await ask("orders", aggregates={"op": "percent_of_total", "field": "amount"}, where={"field": "id", "value": 0})
    assert nothing.rows == ((None,),)
    german = await query(
        kept_records, member, QueryPlan.model_validate({"collection": "orders", **plan}), Presentation(locale="de")
    )
    assert german.display[0][1] == "71,42\xa0%"


async def test_having_filters_figures_by_their_names(ask: Ask) -> None:
    """On aggregates and on groups, with and, or and not; the total counts what is left."""
    plan = {"group_by": ["customer.name"], "aggregates": [{"op": "sum", "field": "amount", "as": "value"}, {"op": "count"}]}
    large = {"field": "value", "op": "gt", "value": "300.30"}
    assert (await ask("orders", **plan, having=large)).rows == (("Émile Zola", "400.45", 2),)
    assert (await ask("orders", **plan, having={"not": large})).rows == (("Ada Lovelace", "300.30", 2),)
    both = await ask("orders", **plan, having={"or": [large, {"field": "customer.name", "op": "starts_with", "value": "ada"}]})
    assert both.total == 2
    assert (await ask("orders", aggregates={"op": "count"}, having={"field": "count", "op": "gt", "value": 4})).rows == ()


async def test_the_first_of_each_are_exactly_so_many(ask: Ask) -> None:
    """Records, figures, and figures over records; ties are broken by the key."""
    largest = {"order_by": {"field": "amount", "direction": "desc"}, "top": {"per": ["customer.name"], "limit": 1}}
    records = await ask("orders", fields=["customer.name", "amount"], **largest)
    assert (records.rows, records.total) == (((2, "Ada Lovelace", "200.20"), (3, "Émile Zola", "400.40")), 2)
    page = await ask("orders", fields=["amount"], **largest, limit=1)
    assert (page.total, page.next_offset, page.next_cursor) == (2, 1, None)
    figures = await ask(
        "lines",
        group_by=["order_id", "product"],
        aggregates={"op": "sum", "field": "qty", "as": "pieces"},
        order_by={"field": "pieces", "direction": "desc"},
        top={"per": ["order_id"], "limit": 1},
    )
    assert figures.rows == ((1, "pot", 3), (2, "tea", 2), (3, "pot", 1))
    over = {"order_by": [{"field": "amount", "direction": "desc"}], "limit": 1, "per": ["customer_id"]}
    assert (await ask("orders", aggregates={"op": "sum", "field": "amount"}, over=over)).rows == (("600.60",),)
    by_stage = await ask("orders", group_by=["stage"], aggregates={"op": "count"}, over=over)
    assert by_stage.rows == (("lead", 1), ("won", 1))


async def test_what_each_record_has_many_of_is_added_up_apart(ask: Ask) -> None:
    """Two to-many references in one read do not multiply each other, nor the records between."""
    found = await ask(
        "customers",
        group_by=["country"],
        aggregates=[
            {"op": "count"},
            {"op": "sum", "field": "orders.amount", "as": "value"},
            {"op": "sum", "field": "orders.lines.qty", "as": "pieces"},
            {"op": "count", "field": "orders.id", "as": "orders"},
            {"op": "max", "field": "orders.placed", "as": "latest"},
        ],
        order_by={"field": "value", "direction": "desc"},
    )
    assert found.rows == (
        ("FR", 1, "400.45", 1, 2, "2026-03-01T00:00:00+00:00"),
        ("UK", 1, "300.30", 7, 2, "2026-02-01T00:00:00+00:00"),
        (None, 1, None, None, 0, None),
    )
    with pytest.raises(InvalidInput, match="more than once"):
        await ask("orders", aggregates={"op": "sum", "field": "customer.orders.amount"})
    with pytest.raises(PermissionDenied):
        await ask("logins", aggregates={"op": "median", "field": "password_hash"})
