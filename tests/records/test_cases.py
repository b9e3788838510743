"""Databases that broke other systems (tests/cases/db), read by askbus. What they say of writes is in test_write_cases."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from askbus.access.model import Principal
from askbus.errors import InvalidInput, NotFound
from askbus.records.engine import Records
from askbus.records.model import QueryPlan, Rows
from askbus.records.names import Resolution, ResolveRequest
from askbus.records.query import query
from askbus.records.resolve import resolve
from askbus.testing.records import TeamDatabase

FOLDER = Path(__file__).parent.parent / "cases" / "db"

Read = Callable[..., Awaitable[Rows]]


def case(name: str) -> dict[str, Any]:
    """The case's setup, probes and expectations."""
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return read


@pytest.fixture
def read(records: Records, member: Principal) -> Read:
    """`query`, with the plan's parts as keywords."""

    async def run(collection: str, **parts: object) -> Rows:
        return await query(records, member, QueryPlan.model_validate({"collection": collection, **parts}))

    return run


@pytest.mark.parametrize("name", ["D01", "D05", "D07", "D09", "D11", "D17"])
async def test_the_server_behaves_as_the_case_says(team: TeamDatabase, name: str) -> None:
    """The probes: naive ways go wrong exactly like this, so the tests below show something."""
    found = case(name)
    await team.run(*found["setup"])
    for probe in found["probes"]:
        if "error" in probe:
            with pytest.raises(asyncpg.PostgresError, match=probe["error"]):
                await team.rows(probe["sql"])
        else:
            rows = [
                [str(cell) if not isinstance(cell, bool | int) else cell for cell in row] for row in await team.rows(probe["sql"])
            ]
            assert rows == probe["rows"], probe["name"]


async def test_quoted_mixed_case_and_reserved_names_are_read(team: TeamDatabase, read: Read) -> None:
    """D01. `user` is the column and not the role; names with quotes, blanks, dots, emoji, and 63 bytes of them."""
    await team.run(
        *case("D01")["setup"],
        f'ALTER TABLE "Sales Dept"."Order" ADD COLUMN "{"ü" * 31}x" text DEFAULT \'long\', ADD COLUMN "a.b%:c" int DEFAULT 3, '
        "ADD COLUMN xmin2 int DEFAULT 4",
    )
    found = await read("Sales Dept.Order", where={"field": "user", "value": "a"}, order_by={"field": 'Total "net"'})
    assert found.rows == ((1, "a", 2, "3.5", "x", "long", 3, 4),)
    assert [column.name for column in found.columns][1:5] == ["user", "select", 'Total "net"', "naïve 😀"]
    for name, value in {"a.b%:c": 3, "naïve 😀": "x", "ü" * 31 + "x": "long", "select": 2}.items():
        assert (await read("Sales Dept.Order", where={"field": name, "value": value}, fields=[name])).rows == ((1, value),)
        assert (await read("Sales Dept.Order", group_by=[name], aggregates={"op": "count"})).rows == ((value, 1),)


@pytest.mark.requirement("R2")
async def test_a_filter_on_lines_does_not_inflate_orders(team: TeamDatabase, read: Read) -> None:
    """D05. By region with a condition or a measure on order lines: 400 and 300, where a join says 700; what cannot be had is refused."""
    await team.run(*case("D05")["setup"])
    value = {"op": "sum", "field": "amount"}
    lines = {"field": "l5.qty", "value": 1}
    assert (await read("o5", where=lines, group_by=["region"], aggregates=value)).rows == (("EMEA", "400"), ("NA", "300"))
    assert (await read("o5", where=lines, aggregates=value)).rows == (("700",),)
    both = [value, {"op": "sum", "field": "l5.qty"}, {"op": "count", "field": "l5.id"}]
    assert (await read("o5", group_by=["region"], aggregates=both)).rows == (("EMEA", "400", 1, 1), ("NA", "300", 5, 5))
    with pytest.raises(InvalidInput, match="Query l5 instead"):
        await read("o5", group_by=["region"], aggregates=[value, {"op": "median", "field": "l5.qty"}])


async def test_a_partitioned_table_is_one_and_views_are_read(team: TeamDatabase, records: Records, read: Read) -> None:
    """D09. The partitions are hidden behind their parent; aggregate and materialised views are read like tables."""
    await team.run(
        *case("D09")["setup"], "INSERT INTO m9 VALUES (1, '2026-01-02'), (2, '2026-08-01')", "REFRESH MATERIALIZED VIEW mv9"
    )
    assert sorted((await records.schema()).collections) == ["agg9", "m9", "mv9", "v9"]
    assert (await read("m9")).rows == ((1, "2026-01-02"), (2, "2026-08-01"))
    assert (await read("mv9")).rows == ((2,),)
    assert (await read("agg9", order_by={"field": "ts", "direction": "desc"}, limit=1)).rows == (("2026-08-01", 1),)
    schema = await records.schema()
    assert all(schema.collections[name].read_only for name in ("agg9", "mv9", "v9"))


async def test_alter_table_while_running_breaks_no_read(team: TeamDatabase, read: Read) -> None:
    """D15. The next read works, sees the new column, and refuses the dropped one with the names that there are."""
    found = case("D15")
    await team.run(*found["setup"])
    assert (await read("t15")).rows == ((1, 1),)
    await team.run(next(step["sql"] for step in found["steps"] if step["s"] == "U"))
    assert (await read("t15", fields=["a"])).rows == ((1, 1),)
    assert (await read("t15", fields=["b"])).rows == ((1, "new"),)
    assert (await read("t15")).rows == ((1, 1, "new"),)
    await team.run("ALTER TABLE t15 DROP COLUMN a")
    with pytest.raises(NotFound, match="Permitted: id, b"):
        await read("t15", fields=["a"])
    assert (await read("t15")).rows == ((1, "new"),)


@pytest.mark.requirement("R5")
async def test_names_that_look_alike_are_never_picked(team: TeamDatabase, records: Records, member: Principal) -> None:
    """D17, line by line."""
    await team.run(*case("D17")["setup"], "ALTER TABLE t17 ADD PRIMARY KEY (id)")

    async def find(text: str) -> tuple[Resolution, list[object], list[object]]:
        found = await resolve(records, member, ResolveRequest(collection="t17", text=text))
        sure = [found.match] if found.match else list(found.candidates)
        return found.outcome, [one.key["id"] for one in sure], [(one.key["id"], one.difference) for one in found.near]

    assert await find("René") == (Resolution.AMBIGUOUS, [1, 2], [])
    assert await find("Rene\u0301") == (Resolution.AMBIGUOUS, [2, 1], [])
    assert await find("weiss") == (Resolution.AMBIGUOUS, [6, 5], [])
    assert await find("istanbul") == (Resolution.AMBIGUOUS, [4, 3], [])
    assert await find("Anna") == (
        Resolution.MATCH,
        [9],
        [
            (7, "it begins or ends with a blank"),
            (8, "it holds an invisible ZERO WIDTH SPACE"),
            (11, "CYRILLIC SMALL LETTER A instead of LATIN SMALL LETTER A"),
        ],
    )
    assert (await find("anna"))[:2] == (Resolution.AMBIGUOUS, [9, 7, 8, 11])
    assert await find("👩‍👩‍👧 Team") == (Resolution.MATCH, [10], [])
