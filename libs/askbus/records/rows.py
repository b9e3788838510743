"""Single records by their key: read, locked, written. Values go in and come out as Postgres spells them."""

from collections.abc import Mapping, Sequence
from itertools import chain

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    TableClause,
    Text,
    and_,
    cast,
    column,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    table,
    text,
    update,
)  # fmt: skip
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.elements import quoted_name

from askbus.records.changes import Key
from askbus.records.failures import NotDone
from askbus.records.schema import Collection, ForeignKey
from askbus.records.source import bound, own, spelled, table_of

Values = dict[str, str | None]

CHECK_NOW = text("SET CONSTRAINTS ALL IMMEDIATE")
"""Constraints and constraint triggers that wait for the commit run here instead, where their failure can still be told."""

CHECK_LATER = text("SET CONSTRAINTS ALL DEFERRED")
"""Back to waiting, where several changes are tried in one transaction."""


async def read(
    connection: AsyncConnection, collection: Collection, key: Key, names: Sequence[str], *, lock: bool = False
) -> Values | None:
    """The named columns of one record, or None. With `lock` nobody else changes it until the transaction ends."""
    source = table_of(collection)
    wanted = select(*(spelled(source.c[name]).label(f"c{place}") for place, name in enumerate(names)))
    wanted = wanted.select_from(source).where(is_record(source, collection, key))
    row = (await connection.execute(wanted.with_for_update() if lock else wanted)).one_or_none()
    return None if row is None else dict(zip(names, row, strict=True))


async def read_sealed(connection: AsyncConnection, collection: Collection, key: Key) -> Values:
    """SHA-256 of the columns on the deny list: enough to see whether they changed, and no more."""
    denied = [found.name for found in collection.all_columns if found.denied]
    if not denied:
        return {}
    source = table_of(collection)
    hashes = (func.encode(func.sha256(func.convert_to(spelled(source.c[name]), "UTF8")), "hex") for name in denied)
    wanted = select(*(one.label(f"c{place}") for place, one in enumerate(hashes))).where(is_record(source, collection, key))
    row = (await connection.execute(wanted)).one_or_none()
    return {} if row is None else dict(zip(denied, row, strict=True))


async def create(connection: AsyncConnection, collection: Collection, values: Mapping[str, str | None]) -> Values:
    """The columns that identify the new record, of every unique key. Raises NotDone when a trigger or policy kept it out."""
    source = table_of(collection)
    identifying = chain(collection.key, *collection.keys)
    names = [name for name in dict.fromkeys(identifying) if name in collection.columns]
    made = (
        insert(source)
        .values(_assigned(source, collection, values))
        .returning(*_labelled(source, names), *_stays(source, collection))
    )
    row = (await connection.execute(made)).one_or_none()
    if row is None:
        raise NotDone("the database did not store the record")
    _check_stays(row[len(names) :])
    return dict(zip(names, row, strict=False))


async def change(connection: AsyncConnection, collection: Collection, key: Key, values: Mapping[str, str | None]) -> Key:
    """The record's key afterwards. Raises NotDone when a trigger or policy kept it from being changed."""
    source = table_of(collection)
    made = update(source).where(is_record(source, collection, key)).values(_assigned(source, collection, values))
    row = (
        await connection.execute(made.returning(*_labelled(source, collection.key), *_stays(source, collection)))
    ).one_or_none()
    if row is None:
        raise NotDone("the database did not change the record")
    _check_stays(row[len(collection.key) :])
    return dict(zip(collection.key, row, strict=False))


async def take_back(connection: AsyncConnection, collection: Collection, key: Key) -> None:
    """Removes a record that an action created: the one removal there is. Raises NotDone when the database kept it."""
    source = table_of(collection)
    made = await connection.execute(delete(source).where(is_record(source, collection, key)))
    if made.rowcount != 1:
        raise NotDone("the database did not remove the record")


async def is_referred_to(connection: AsyncConnection, collection: Collection, key: ForeignKey, record: Values) -> bool:
    """Whether a row of the foreign key's table refers to `record`, which holds the referred columns."""
    referring: TableClause = table(
        quoted_name(key.table, quote=True),
        *(column(quoted_name(name, quote=True)) for name in key.columns),
        schema=quoted_name(key.schema, quote=True),
    )
    by_name = {found.name: found for found in collection.all_columns}
    pairs = zip(key.columns, key.target_columns, strict=True)
    same = and_(*(referring.c[one] == bound(record[other], by_name[other]) for one, other in pairs))
    return bool(await connection.scalar(select(exists(select(literal(1)).select_from(referring).where(same)))))


def is_record(source: TableClause, collection: Collection, key: Key) -> ColumnElement[bool]:
    same = (source.c[name] == bound(key[name], collection.columns[name]) for name in collection.key)
    return and_(*same, *own(source, collection))


def _stays(source: TableClause, collection: Collection) -> list[ColumnElement[str]]:
    """Whether the written record is one of the project for which it was written, triggers and defaults included."""
    return [spelled(held).label("stays") for held in own(source, collection)]


def _check_stays(answers: Sequence[str | None]) -> None:
    if any(answer != "true" for answer in answers):
        raise NotDone("the record would belong to another project")


def _assigned(source: TableClause, collection: Collection, values: Mapping[str, str | None]) -> dict[ColumnElement[str], object]:
    return {source.c[name]: bound(value, collection.columns[name]) for name, value in values.items()}


def _labelled(source: TableClause, names: Sequence[str]) -> list[ColumnElement[str]]:
    """As JSON spells values: dates in ISO 8601 whatever the session's own style is."""
    texts = (func.to_jsonb(source.c[name]).op("#>>", return_type=Text())(cast([], ARRAY(Text()))) for name in names)
    return [one.label(f"c{place}") for place, one in enumerate(texts)]
