"""Which indexes reads of large tables lack, as the statements that make them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Text, func, literal, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.records.catalogue import statement
from askbus.records.engine import Records
from askbus.records.name_search import indexable_names
from askbus.records.schema import Abilities, Collection, Schema
from askbus.records.source import table_of

EXTENSION = "CREATE EXTENSION IF NOT EXISTS pg_trgm;"
LARGE = 50_000
"""Rows from which reading a whole table is felt."""
_DIALECT = postgresql.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
"""As the driver speaks it: in other styles of parameters an operator's % is doubled."""


@dataclass(frozen=True)
class Suggestion:
    """What reads lack. `why` is a sentence; `statements` are for whoever owns the table, in their order, and may be none where
    there is only something to know."""

    collection: str
    why: str
    statements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Large:
    """A table that is large. `row_security`: askbus's role sees it through policies."""

    collection: Collection
    rows: int
    partitioned: bool
    row_security: bool


async def suggested_indexes(records: Records, used: Mapping[str, Sequence[str]] | None = None) -> list[Suggestion]:
    """What large tables lack for finding names, for following references, and for the fields in `used`, by collection, that reads
    often filter, order or group by. Once the statements were run, nothing of it is suggested any more.

    Raises Unavailable and DBAPIError.
    """
    schema = await records.schema(look=True)
    async with records.reading() as connection:
        rows = (await connection.execute(statement("large_tables"), {"rows": LARGE})).all()
        large = [
            Large(schema.by_oid[oid], count, kind == "p", secured) for oid, kind, count, secured in rows if oid in schema.by_oid
        ]
        found = []
        for one in large:
            found += await _for_names(connection, one, schema.abilities)
        tables = {"tables": [one.collection.oid for one in large]}
        leading: dict[int, list[list[str]]] = {}
        for oid, columns in (await connection.execute(statement("leading_columns"), tables)).all():
            leading.setdefault(oid, []).append(columns)
    for one in large:
        have = leading.get(one.collection.oid, [])
        found += _for_references(one, schema, have)
        found += _for_used(one, (used or {}).get(one.collection.name, ()), have)
    return found


async def _for_names(connection: AsyncConnection, large: Large, abilities: Abilities) -> list[Suggestion]:
    collection = large.collection
    names = indexable_names(collection, abilities) if collection.key else []
    if not names:
        return []
    if large.row_security:
        return [
            Suggestion(
                collection.name,
                f"{collection.name} has {large.rows:,} rows and row-level security: Postgres asks the policies before it compares "
                "names, so no index on names can help. Index what the policies compare.",
            )
        ]
    lacking: list[str] = []
    trigrams = abilities.trigrams
    if trigrams is None and await connection.scalar(statement("may_have_trigrams")):
        lacking.append(EXTENSION)
    for name in names:
        if not await _serves(connection, collection, name == literal("x", Text())):
            # Hashes, because a long name would not fit into a B-tree and could then not be written.
            lacking.append(f"{_create(large)} USING hash (({sql(name)}));")
        if trigrams is None:
            lacking += [f"{_create(large)} USING gin (({sql(name)}) gin_trgm_ops);"] if lacking[:1] == [EXTENSION] else []
        elif not await _serves(connection, collection, name.op(f"OPERATOR({quoted(trigrams)}.%)", is_comparison=True)("xyz")):
            lacking.append(f"{_create(large)} USING gin (({sql(name)}) {quoted(trigrams)}.gin_trgm_ops);")
    if not lacking:
        return []
    why = f"finding one of {large.rows:,} {collection.name} by its name reads all of them"
    return [Suggestion(collection.name, why, (*lacking, f"ANALYZE {_table(collection)};"))]


async def _serves(connection: AsyncConnection, collection: Collection, condition: ColumnElement[bool]) -> bool:
    """Whether Postgres would find the records that meet the condition by an index."""
    question = select(func.count()).select_from(table_of(collection)).where(condition)
    await connection.execute(statement("prefer_indexes"))
    plan = (await connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {sql(question)}")).scalar_one()
    return "Index Cond" in str(plan)


def _for_references(large: Large, schema: Schema, have: Sequence[Sequence[str]]) -> Iterator[Suggestion]:
    collection = large.collection
    for key in schema.foreign_keys:
        if key.oid != collection.oid or any(set(columns[: len(key.columns)]) == set(key.columns) for columns in have):
            continue
        target = schema.by_oid.get(key.target_root) or schema.by_oid.get(key.target_oid)
        columns = ", ".join(map(quoted, key.columns))
        yield Suggestion(
            collection.name,
            f"from one of {target.name if target else 'the records'} to its {collection.name} Postgres reads all {large.rows:,} of them",
            (f"{_create(large)} ({columns});",),
        )


def _for_used(large: Large, used: Sequence[str], have: Sequence[Sequence[str]]) -> Iterator[Suggestion]:
    collection = large.collection
    for name in used:
        if name in collection.columns and not any(columns[:1] == [name] for columns in have):
            why = f"reads often filter, order or group {large.rows:,} {collection.name} by {name}, which has no index"
            yield Suggestion(collection.name, why, (f"{_create(large)} ({quoted(name)});",))


def _create(large: Large) -> str:
    # Beside writes, which a partitioned table does not offer.
    return f"CREATE INDEX {'' if large.partitioned else 'CONCURRENTLY '}ON {_table(large.collection)}"


def _table(collection: Collection) -> str:
    return f"{quoted(collection.schema)}.{quoted(collection.table)}"


def sql(clause: Any) -> str:
    """The clause as a statement of its own, every constant written out."""
    return str(clause.compile(dialect=_DIALECT, compile_kwargs={"literal_binds": True}))


def quoted(name: str) -> str:
    """The name as an identifier, in quotes where it needs them."""
    return str(_DIALECT.identifier_preparer.quote_identifier(name))
