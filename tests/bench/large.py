"""A workspace over a large schema: four hundred tables, and one of millions of rows, before and after the indexes that are suggested."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from time import perf_counter

import asyncpg
from tests.bench.report import Measure

from askbus.access.model import Principal
from askbus.errors import TimedOut
from askbus.records.describe import describe
from askbus.records.engine import Records, open_records
from askbus.records.indexes import suggested_indexes
from askbus.records.model import QueryPlan
from askbus.records.names import ResolveRequest
from askbus.records.query import query
from askbus.records.resolve import resolve
from askbus.testing.records import somebody

Ask = Callable[[Records, Principal], Awaitable[object]]

SECOND = 1000.0
"""Milliseconds that a question about five million records may take, once the suggested indexes are there."""
TABLES = 400

SCHEMA = """
CREATE TABLE teams (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE people (
    id int PRIMARY KEY, name text NOT NULL, team_id int NOT NULL REFERENCES teams, joined date NOT NULL, city text NOT NULL,
    amount numeric(10, 2) NOT NULL
);
"""
ROWS = """
INSERT INTO teams SELECT n, 'Team ' || n FROM generate_series(0, 4999) AS n;
ALTER TABLE people DISABLE TRIGGER ALL;
INSERT INTO people
SELECT n,
       initcap(s[1 + n % 90] || s[1 + n / 90 % 90] || s[1 + n * 7 % 90]) || ' '
           || initcap(s[1 + n / 8100 % 90] || s[1 + n * 13 % 90] || 'r'),
       n % 5000, date '2020-01-01' + n % 2000, 'City ' || n % 50, (n % 100000) / 100.0
  FROM generate_series(1, {rows}) AS n,
       (SELECT array_agg(consonant || vowel ORDER BY consonant, vowel) AS s
          FROM unnest(string_to_array('b c d f g h j k l m n p r s t v w z', ' ')) AS consonant,
               unnest(string_to_array('a e i o u', ' ')) AS vowel) AS syllables;
ALTER TABLE people ENABLE TRIGGER ALL;
ANALYZE;
"""

USED = {"people": ["joined"]}
"""What `askbus doctor` finds in the plans of models: here reads by a stretch of days."""

ONE_TEAM = QueryPlan.model_validate({
    "collection": "people", "where": {"field": "team_id", "value": 77}, "group_by": [{"field": "joined", "unit": "year"}],
    "aggregates": [{"op": "count"}, {"op": "sum", "field": "amount"}],
})  # fmt: skip
A_WEEK = QueryPlan.model_validate({
    "collection": "people", "where": {"field": "joined", "op": "between", "value": ["2024-03-04", "2024-03-10"]},
    "group_by": ["city"], "aggregates": [{"op": "count"}, {"op": "sum", "field": "amount"}, {"op": "percent_of_total"}],
})  # fmt: skip
EVERYONE = QueryPlan.model_validate({"collection": "people", "group_by": ["city"], "aggregates": [{"op": "count"}]})


async def measures(url: str, rows: int) -> list[Measure]:
    """Fills the empty database at `url` with so many rows, and asks what people ask."""
    await _fill(url, rows)
    name = str(await _value(url, f"SELECT name FROM people WHERE id = {rows // 2 + 77}"))
    asks: dict[str, Ask] = {
        "resolve: a name that somebody has": _resolving(name.upper()),
        "resolve: a misspelt name": _resolving(name[:4] + "y" + name[5:]),
        "grouped: of one reference": lambda records, by: query(records, by, ONE_TEAM),
        "grouped: of one week": lambda records, by: query(records, by, A_WEEK),
        "grouped: everything, counted": lambda records, by: query(records, by, EVERYONE),
    }
    before: dict[str, float] = {}
    async with _records(url) as records:
        for name, ask in asks.items():
            before[name] = await _once(records, ask)
        statements = [one for suggestion in await suggested_indexes(records, USED) for one in suggestion.statements]
        began = perf_counter()
        await _run(url, statements)
        made = perf_counter() - began
        left = [one for suggestion in await suggested_indexes(records, USED) for one in suggestion.statements]
        if left:
            raise AssertionError(f"still suggested after they were made: {left}")
    found = []
    async with _records(url) as records:
        began = perf_counter()
        schema = await records.schema()
        found.append(
            Measure("describe_records: the catalogue, read anew", "ms", _ms(began), also=f"{len(schema.collections)} tables")
        )
        began = perf_counter()
        size = len(describe(await records.schema(), search="people teams").model_dump_json())
        found.append(Measure("describe_records: a search in it, kept", "ms", _ms(began), also=f"{size / 1000:.1f} kB"))
        for name, ask in asks.items():
            times = [await _once(records, ask) for _ in range(3)]
            target = None if ask is asks["grouped: everything, counted"] else SECOND
            found.append(Measure(name, "ms", sorted(times)[1], most=target, also=f"{before[name]:.0f} ms before the indexes"))
    found.append(Measure("making what is suggested", "ms", made * 1000, also=f"{len(statements)} statements for {rows:,} rows"))
    return found


def _resolving(text: str) -> Ask:
    return lambda records, by: resolve(records, by, ResolveRequest(collection="people", text=text))


async def _once(records: Records, ask: Ask) -> float:
    """Milliseconds; as long as the limit where it was reached."""
    began = perf_counter()
    with suppress(TimedOut):
        await ask(records, somebody())
    return _ms(began)


def _ms(began: float) -> float:
    return (perf_counter() - began) * 1000


@asynccontextmanager
async def _records(url: str) -> AsyncIterator[Records]:
    records = open_records(url)
    try:
        yield records
    finally:
        await records.dispose()


async def _fill(url: str, rows: int) -> None:
    columns = ", ".join(f"field_{n} text" for n in range(12))
    tables = [f"CREATE TABLE module_{n}_entries (id int PRIMARY KEY, {columns})" for n in range(TABLES)]
    await _run(url, ["; ".join(tables), SCHEMA, ROWS.format(rows=rows)])


async def _value(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def _run(url: str, statements: list[str]) -> None:
    """One after the other, with memory and workers as somebody would who makes indexes."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET maintenance_work_mem = '512MB'; SET synchronous_commit = off")
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
