"""Reads: what is asked for and nothing else, in a stable order, with the true total."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic import JsonValue, ValidationError

from askbus.access.model import Principal, Role, Scope
from askbus.errors import AskbusError, InvalidInput, NotFound, PermissionDenied, TimedOut
from askbus.records.engine import Records, Timeouts, open_records
from askbus.records.model import QueryPlan, Rows
from askbus.records.query import query
from askbus.testing.records import TeamDatabase, somebody

pytestmark = pytest.mark.requirement("R2", "R3")


Ask = Callable[..., Awaitable[Rows]]


def listed(error: AskbusError) -> list[JsonValue]:
    """The permitted names that the error gives."""
    names = error.details["permitted"]
    assert isinstance(names, list)
    return names


def ids(found: Rows) -> list[object]:
    return [row[0] for row in found.rows]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"field": "amount", "value": "100.1"}, [1]),
        ({"field": "amount", "op": "eq", "value": 100.1}, [1]),
        ({"field": "amount", "op": "ne", "value": "100.10"}, [2, 3, 4]),
        ({"field": "note", "op": "ne", "value": "first"}, [2, 3, 4]),
        ({"field": "amount", "op": "lt", "value": "100.10"}, [4]),
        ({"field": "amount", "op": "lte", "value": "100.10"}, [1, 4]),
        ({"field": "amount", "op": "gt", "value": 200}, [2, 3]),
        ({"field": "amount", "op": "gte", "value": "200.20"}, [2, 3]),
        ({"field": "amount", "op": "between", "value": ["100.10", "200.20"]}, [1, 2]),
        ({"field": "stage", "op": "in", "value": ["won", "lost"]}, [1, 3, 4]),
        ({"field": "note", "op": "not_in", "value": ["first"]}, [2, 3, 4]),
        ({"field": "note", "op": "is_null", "value": True}, [2, 3]),
        ({"field": "note", "op": "is_null"}, [2, 3]),
        ({"field": "note", "op": "is_null", "value": False}, [1, 4]),
        ({"field": "note", "op": "contains", "value": "FIR"}, [1]),
        ({"field": "note", "op": "contains", "value": "%"}, [4]),
        ({"field": "note", "op": "starts_with", "value": "100% O"}, [4]),
        ({"field": "note", "op": "contains", "value": "off_"}, [4]),
        ({"field": "note", "op": "starts_with", "value": "_"}, []),
        ({"field": "stage", "op": "starts_with", "value": "l"}, [2, 4]),
        ({"field": "placed", "op": "gte", "value": "2026-01-31T19:00:00-05:00"}, [2, 3]),
        ({"field": "customer.name", "value": "Émile Zola"}, [3, 4]),
        ({"field": "customer.country", "op": "is_null"}, []),
        ({"not": {"field": "note", "value": "first"}}, [2, 3, 4]),
        ({"or": [{"field": "id", "value": 1}, {"field": "stage", "value": "lost"}]}, [1, 4]),
        ({"and": [{"field": "stage", "value": "won"}, {"field": "amount", "op": "gt", "value": 200}]}, [3]),
        ({"not": {"or": [{"field": "id", "value": 1}, {"not": {"field": "stage", "value": "won"}}]}}, [3]),
        ([{"field": "stage", "value": "won"}, {"field": "customer.country", "value": "FR"}], [3]),
    ],
)
async def test_a_filter_finds_exactly_what_meets_it(ask: Ask, condition: object, expected: list[int]) -> None:
    """Every operator, and/or/not; a record without a value differs from each value and never vanishes from a negation."""
    found = await ask("orders", where=condition, fields=["id"])
    assert (ids(found), found.total) == (expected, len(expected))


@pytest.mark.parametrize(
    ("field", "op", "value", "says"),
    [
        ("amount", "eq", "$100", "plain decimal"),
        ("amount", "eq", None, "is_null"),
        ("amount", "in", "100", "list of 1 to 200"),
        ("amount", "in", [], "list of 1 to 200"),
        ("amount", "between", ["1"], "two values"),
        ("amount", "contains", "1", "text field"),
        ("stage", "eq", "one", "won"),
        ("id", "eq", "1 OR 1=1", "whole number"),
        ("id", "eq", 2**31, "whole number from"),
        ("id", "is_null", "yes", "true or false"),
        ("placed", "lt", "2026-01-01T00:00:00", "time zone"),
        ("placed", "lt", "yesterday", "2026-11-30"),
        ("note", "eq", "a\0b", "NUL"),
        ("note", "contains", "\ud83d", "surrogate"),
    ],
)
async def test_a_value_that_does_not_fit_is_refused_with_what_to_send(
    ask: Ask, field: str, op: str, value: object, says: str
) -> None:
    """The error names the field, and the model can correct itself."""
    with pytest.raises(InvalidInput, match=says) as refused:
        await ask("orders", where={"field": field, "op": op, "value": value})
    assert refused.value.details["field"] == field


async def test_values_are_bound_and_never_spliced(ask: Ask, kept_shop: TeamDatabase) -> None:
    """Text that would end a literal is a value like any other."""
    nasty = "x'); DROP TABLE lines; --"
    assert (await ask("orders", where={"field": "note", "value": nasty})).rows == ()
    assert (await ask("orders", where={"field": "note", "op": "in", "value": [nasty, "first"]}, fields=["id"])).rows == ((1,),)
    with pytest.raises(NotFound):
        await ask("orders", fields=['id", (SELECT 1) AS "x'])
    assert await kept_shop.value("SELECT count(*) FROM lines") == 5


async def test_fields_through_references_do_not_change_what_is_counted(ask: Ask) -> None:
    """The customer's name comes along; an order without one would stay."""
    found = await ask("orders", fields=["customer.name", "amount"], order_by={"field": "amount", "direction": "desc"}, limit=2)
    assert [column.name for column in found.columns] == ["id", "customer.name", "amount"]
    assert found.rows == ((3, "Émile Zola", "400.40"), (2, "Ada Lovelace", "200.20"))
    assert (found.total, found.truncated, found.next_offset) == (4, True, 2)
    assert "2 of 4" in found.cut[0]


async def test_pages_without_an_order_are_stable_by_the_primary_key(
    shop: TeamDatabase, records: Records, member: Principal
) -> None:
    """An update moves the row in the table and not in the pages; ties of an order are broken by the key as well."""
    await shop.run("UPDATE orders SET note = 'touched' WHERE id = 1; UPDATE orders SET stage = 'won'")

    async def page(**parts: object) -> Rows:
        return await query(records, member, QueryPlan.model_validate({"collection": "orders", **parts}))

    assert [ids(await page(limit=1, offset=offset)) for offset in range(5)] == [[1], [2], [3], [4], []]
    ordered = [ids(await page(order_by={"field": "stage"}, limit=2, offset=offset)) for offset in (0, 2)]
    assert ordered == [[1, 2], [3, 4]]
    past = await page(offset=9)
    assert (past.rows, past.total, past.next_offset) == ((), 4, None)


async def test_missing_values_come_last_in_both_directions(ask: Ask) -> None:
    """Postgres puts NULL first when descending, where it would be the top of a top three."""
    for direction, expected in (("desc", [3, 2, 1, 4]), ("asc", [1, 2, 3, 4])):
        assert ids(await ask("orders", order_by={"field": "placed", "direction": direction})) == expected


@pytest.mark.parametrize(
    ("parts", "named", "permitted"),
    [
        ({"collection": "order"}, "order", "orders"),
        ({"collection": "orders", "fields": ["amout"]}, "amout", "amount"),
        ({"collection": "orders", "where": [{"field": "client.name", "value": "x"}]}, "client", "customer"),
        ({"collection": "orders", "where": [{"field": "customer.nam", "value": "x"}]}, "nam", "name"),
        ({"collection": "orders", "order_by": [{"field": "totl"}]}, "totl", "note"),
        ({"collection": "orders", "group_by": ["stag"]}, "stag", "stage"),
        ({"collection": "orders", "aggregates": [{"op": "sum", "field": "amt"}]}, "amt", "amount"),
        ({"collection": "orders", "aggregates": [{"op": "count"}], "order_by": [{"field": "amount"}]}, "amount", "count"),
    ],
)
async def test_an_unknown_name_is_refused_with_the_nearest(
    kept_records: Records, member: Principal, parts: dict[str, object], named: str, permitted: str
) -> None:
    """Never an empty answer: the error names it, and the permitted names that are most like it."""
    with pytest.raises(NotFound) as refused:
        await query(kept_records, member, QueryPlan.model_validate(parts))
    assert refused.value.details["name"] == named
    assert permitted in listed(refused.value)


@pytest.mark.requirement("R6")
@pytest.mark.parametrize(
    "parts",
    [
        {"fields": ["password_hash"]},
        {"where": {"field": "reset_token", "value": "secret"}},
        {"order_by": {"field": "password_hash"}},
        {"group_by": ["password_hash"]},
        {"aggregates": {"op": "max", "field": "reset_token"}},
        {"aggregates": {"op": "count"}, "over": {"order_by": [{"field": "password_hash"}], "limit": 1}},
    ],
)
async def test_a_denied_column_cannot_be_read_in_any_way(ask: Ask, parts: dict[str, object]) -> None:
    """Not as a field, not through a filter or an order that would tell it bit by bit, not as a figure."""
    with pytest.raises(PermissionDenied, match="may not be read") as refused:
        await ask("logins", **parts)
    assert set(map(str, listed(refused.value))) == {"id", "email"}
    assert [column.name for column in (await ask("logins")).columns] == ["id", "email"]


async def test_reading_needs_the_scope_for_it(shop: TeamDatabase, records: Records) -> None:
    """A viewer reads; a token without data:read does not."""
    plan = QueryPlan(collection="orders")
    assert (await query(records, somebody(Role.VIEWER), plan)).total == 4
    with pytest.raises(PermissionDenied, match="data:read"):
        await query(records, somebody(scopes=frozenset({Scope.CHAT})), plan)


@pytest.mark.requirement("R6")
async def test_a_read_cannot_write_and_cannot_last(shop: TeamDatabase, member: Principal) -> None:
    """A view that hides a write fails in the read-only transaction; one that is slow is stopped."""
    await shop.run(
        "CREATE FUNCTION sneak() RETURNS int LANGUAGE sql VOLATILE AS $$ INSERT INTO lines (order_id, product, qty) "
        "VALUES (1, 'x', 1) RETURNING id $$",
        "CREATE VIEW sneaky AS SELECT sneak() AS id",
        "CREATE VIEW slow AS SELECT 1 AS id, pg_sleep(60)::text AS s",
    )
    records = open_records(shop.url, timeouts=Timeouts(read=0.2))
    with pytest.raises(InvalidInput, match="read-only"):
        await query(records, member, QueryPlan(collection="sneaky"))
    with pytest.raises(TimedOut, match="Narrow the filter"):
        await query(records, member, QueryPlan(collection="slow"))
    assert await shop.value("SELECT count(*) FROM lines") == 5
    await records.dispose()


@pytest.mark.requirement("R6")
async def test_row_level_security_sees_who_asks(shop: TeamDatabase, member: Principal) -> None:
    """Policies read the acting user's id; the next transaction on the same connection has another."""
    role = f"tenant_{shop.url[-8:]}"
    await shop.run(
        f"CREATE TABLE own (id int PRIMARY KEY, holder text); INSERT INTO own VALUES (1, '{member.user_id}'), (2, 'nobody')",
        "ALTER TABLE own ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY mine ON own USING (holder = current_setting('askbus.user_id', true))",
        f"CREATE ROLE {role} LOGIN PASSWORD 'tenant'; GRANT SELECT ON own TO {role}",
    )
    records = open_records(f"postgresql://{role}:tenant@{shop.url.partition('@')[2]}", pool_size=1)
    other = somebody(user=member.workspace_id)
    assert [ids(await query(records, who, QueryPlan(collection="own"))) for who in (member, other, member)] == [[1], [], [1]]
    await records.dispose()
    await shop.run(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize(
    "parts",
    [
        {"where": [{}]},
        {"where": [{"field": "id", "and": [{"field": "id"}]}]},
        {"where": [{"field": "id", "op": "like"}]},
        {"limit": 0},
        {"limit": 5000},
        {"sql": "SELECT 1"},
        {"fields": ["id"], "aggregates": [{"op": "count"}]},
        {"over": {"order_by": [{"field": "id"}], "limit": 3}},
        {"aggregates": [{"op": "sum"}]},
        {"aggregates": [{"op": "count"}, {"op": "count"}]},
        {"where": [{"field": "id", "value": 1}] * 101},
    ],
)
def test_a_plan_that_means_nothing_is_no_plan(parts: dict[str, object]) -> None:
    """The types themselves refuse it, before anything is read."""
    with pytest.raises(ValidationError):
        QueryPlan.model_validate({"collection": "orders", **parts})
