"""Reads the live schema out of Postgres's catalogue."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from pydantic import BaseModel
from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.records.deny import Policy
from askbus.records.record_catalogue import RecordCatalogue
from askbus.records.schema import Abilities, Collection, Column, ForeignKey, Relation, Schema

RELKINDS = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}


class _Relation(BaseModel):
    """One document of relations.sql."""

    oid: int
    schema_: str
    table: str
    visible: bool
    relkind: str
    comment: str
    insertable: bool
    updatable: bool
    columns: tuple[Column, ...]
    keys: tuple[tuple[str, ...], ...]


class _ForeignKey(BaseModel):
    """One document of foreign_keys.sql."""

    name: str
    oid: int
    schema_: str
    table: str
    columns: tuple[str, ...]
    target_oid: int
    target_root: int
    target_columns: tuple[str, ...]

    def as_seen(self) -> ForeignKey:
        return ForeignKey(
            name=self.name,
            oid=self.oid,
            schema=self.schema_,
            table=self.table,
            columns=self.columns,
            target_oid=self.target_oid,
            target_root=self.target_root,
            target_columns=self.target_columns,
        )


@cache
def statement(name: str) -> TextClause:
    """The statement in sql/<name>.sql; `:parameter` is bound."""
    return text(files("askbus.records").joinpath(f"sql/{name}.sql").read_text("utf-8"))


async def fingerprint(connection: AsyncConnection) -> str:
    """A number that moves with every DDL statement that the schema depends on; a millisecond on a hundred tables."""
    return str(await connection.scalar(statement("fingerprint")))


async def read_schema(connection: AsyncConnection, policy: Policy, listed: RecordCatalogue) -> Schema:
    """The schema as it is now. The fingerprint is taken first: DDL in between is noticed by the next look, not missed."""
    mark = await fingerprint(connection)
    documents = (await connection.scalars(statement("relations"))).all()
    relations = [_Relation.model_validate_json(document) for document in documents]
    documents = (await connection.scalars(statement("foreign_keys"))).all()
    keys = [_ForeignKey.model_validate_json(document) for document in documents]
    foreign_keys = tuple(key.as_seen() for key in keys)
    abilities = (await connection.execute(statement("abilities"))).one()
    return Schema(mark, Abilities(*abilities), build(relations, foreign_keys, policy, listed), foreign_keys)


def build(
    relations: Sequence[_Relation], foreign_keys: Sequence[ForeignKey], policy: Policy, listed: RecordCatalogue
) -> dict[str, Collection]:
    """Collections by name: the bare name where the search path finds it, else with its schema; a clash keeps the schema."""
    visible = Counter(relation.table if relation.visible else f"{relation.schema_}.{relation.table}" for relation in relations)
    names = {}
    for relation in relations:
        qualified = f"{relation.schema_}.{relation.table}"
        names[relation.oid] = relation.table if relation.visible and visible[relation.table] == 1 else qualified
    made = {}
    for relation in relations:
        name = names[relation.oid]
        columns = tuple(
            column.model_copy(update={"denied": True}) if policy.denies(name, column.name) else column
            for column in relation.columns
        )
        seen = Collection(
            name=name,
            oid=relation.oid,
            schema=relation.schema_,
            table=relation.table,
            kind=RELKINDS[relation.relkind],
            comment=relation.comment,
            all_columns=columns,
            keys=relation.keys,
            insertable=relation.insertable,
            updatable=relation.updatable,
            never_write=policy.never_write(name, columns),
        )
        marked = listed.marked(seen)
        ways = _relations(relation.oid, names, marked.all_columns, relations, foreign_keys)
        made[name] = replace(marked, relations=ways)
    return made


def _relations(
    oid: int, names: dict[int, str], columns: Sequence[Column], relations: Sequence[_Relation], foreign_keys: Sequence[ForeignKey]
) -> dict[str, Relation]:
    """The ways out of one collection, each under one name.

    A reference is called by its column without `_id` (customer_id is `customer`), and by the table it points at where only one
    does; the way back is called by the table that refers, with `_by_<reference>` where several could be meant.
    """
    unique = {relation.oid: [set(key) for key in relation.keys] for relation in relations}
    denied = {column.name for column in columns if column.denied}
    found: dict[str, Relation] = {}
    out = [key for key in foreign_keys if key.oid == oid and key.target_oid in names and denied.isdisjoint(key.columns)]
    pointed = Counter(key.target_oid for key in out)
    for key in out:
        name = stem(key) if stem(key) not in found else key.name
        found[name] = Relation(name, key.columns, names[key.target_oid], key.target_columns, many=False)
        if pointed[key.target_oid] == 1:
            found.setdefault(names[key.target_oid], found[name])
    back = [key for key in foreign_keys if key.target_oid == oid and key.oid in names]
    referring = Counter(key.oid for key in back)
    for key in back:
        name = names[key.oid]
        if referring[key.oid] > 1 or name in found:
            name = f"{name}_by_{stem(key)}"
        many = not any(columns <= set(key.columns) for columns in unique[key.oid])
        found.setdefault(name, Relation(name, key.target_columns, names[key.oid], key.columns, many))
    return found


def stem(key: ForeignKey) -> str:
    """What a reference is called: its column without a trailing id; the constraint's name when it has several columns."""
    if len(key.columns) != 1:
        return key.name
    [column] = key.columns
    for ending in ("_id", "Id", "ID", "_uuid"):
        if column.endswith(ending) and column != ending:
            return column.removesuffix(ending)
    return column
