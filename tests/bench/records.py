"""Reads and applies a second, beside plain asyncpg running the same SQL and a bare transaction with the same change."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter
from uuid import uuid4

import asyncpg
from sqlalchemy.dialects import postgresql
from tests.bench.report import Measure

from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState
from askbus.records.compile import compile_plan
from askbus.records.display import PLAIN
from askbus.records.engine import Records, open_records
from askbus.records.model import QueryPlan
from askbus.records.propose import prepare
from askbus.records.query import query
from askbus.testing.records import SHOP, somebody, team_database

ROWS = 20_000
PLANS = {
    "one record by its key": {"collection": "orders", "where": {"field": "id", "value": 4711}},
    "a page of twenty, through a reference": {
        "collection": "orders", "fields": ["amount", "stage", "placed", "customer.name"], "where": {"field": "customer_id", "value": 2},
        "limit": 20,
    },
    "figures by month, of 200 records": {
        "collection": "orders", "where": {"field": "customer_id", "value": 3}, "group_by": [{"field": "placed", "unit": "month"}],
        "aggregates": [{"op": "count"}, {"op": "sum", "field": "amount"}],
    },
}  # fmt: skip
AT_ONCE = 8
DIALECT = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

Step = Callable[[int], Awaitable[object]]


async def measures(server_url: str, count: int) -> list[Measure]:
    """So many of each; `server_url` is the administrator's of a server with fsync."""
    async with team_database(server_url) as team:
        await team.run(
            SHOP,
            "INSERT INTO customers (name) SELECT 'Customer ' || n FROM generate_series(1, 100) AS n",
            "INSERT INTO orders (customer_id, amount, placed) "
            f"SELECT 1 + n % 100, n / 7.0, timestamptz '2025-01-01' + n * interval '10 min' FROM generate_series(1, {ROWS}) AS n",
            "CREATE INDEX ON orders (customer_id); ANALYZE",
        )
        records = open_records(team.url, pool_size=AT_ONCE)
        async with asyncpg.create_pool(team.url, min_size=AT_ONCE, max_size=AT_ONCE) as pool:
            found = [
                await _reads(records, pool, name, QueryPlan.model_validate(parts), count, at_once)
                for name, parts in PLANS.items()
                for at_once in (1, AT_ONCE)
            ]
            found.append(await _applies(records, pool, count))
        await records.dispose()
    return found


async def _reads(
    records: Records, pool: "asyncpg.Pool[asyncpg.Record]", name: str, plan: QueryPlan, count: int, at_once: int
) -> Measure:
    by = somebody()
    rows = compile_plan(plan, await records.schema(), PLAIN).rows
    sql = str(rows.compile(dialect=DIALECT, compile_kwargs={"literal_binds": True}))

    async def ours(_number: int) -> object:
        return await query(records, by, plan)

    async def plain(_number: int) -> object:
        return await pool.fetch(sql)

    mine, theirs = await _a_second(ours, count, at_once), await _a_second(plain, count, at_once)
    return Measure(f"{name}, {at_once} at once", "1/s", mine, floor=theirs)


async def _applies(records: Records, pool: "asyncpg.Pool[asyncpg.Record]", count: int) -> Measure:
    by = somebody()

    def change(number: int) -> Operation:
        parts = {
            "id": "o",
            "kind": "update",
            "collection": "orders",
            "record": 100 + number,
            "values": {"amount": f"{number}.25"},
        }
        return Operation.model_validate(parts)

    prepared = [(await prepare(records, by, [change(number)])).operations for number in range(2 * count)]

    async def ours(number: int) -> object:
        outcome = await apply(records, uuid4(), prepared[number], by)
        assert outcome.state is OutcomeState.APPLIED
        return outcome

    async def bare(number: int) -> object:
        async with pool.acquire() as connection, connection.transaction():
            return await connection.execute("UPDATE orders SET amount = $1 WHERE id = $2", number, 10_000 + number)

    return Measure("one changed record, applied", "1/s", await _a_second(ours, count, 1), floor=await _a_second(bare, count, 1))


async def _a_second(step: Step, count: int, at_once: int) -> float:
    """How many of these were done a second, after a tenth of them to warm up."""
    for number in range(count, count + count // 10 + 1):
        await step(number)
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await step(number)

    began = perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(worker())
    return count / (perf_counter() - began)
