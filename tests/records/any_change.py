"""Changes of any shape to any schema, and the records as they are at a moment, to be compared."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
from hypothesis import strategies as st
from tests.records.any_plan import as_json, sent
from tests.records.any_schema import Data, Table, listed, literal, quoted

from askbus.access.model import Principal
from askbus.errors import InvalidInput
from askbus.records.changes import Operation, PreparedOperation
from askbus.records.engine import Records
from askbus.records.propose import prepare
from askbus.testing.records import TeamDatabase

Key = tuple[tuple[str, str], ...]
Snapshot = Mapping[tuple[str, Key], Mapping[str, str | None]]
"""Every record by its table and key, its fields as Postgres spells them."""


@st.composite
def operations(draw: Callable[..., Any], data: Data, also: Mapping[int, Sequence[str]] = {}) -> list[dict[str, Any]]:
    """A few creates and updates, some of which refer to one before. `also`: more integer columns, by the place of the table."""
    made: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(data.tables) - 1))
        table, rows = data.tables[place], data.rows[place]
        creates = not rows or draw(st.integers(0, 2)) == 0
        before = [
            one["id"] for one in made if one["kind"] == "create" and place and one["collection"] == data.tables[place - 1].name
        ]
        values = draw(_values(data, place, creates=creates, created=before))
        for name in also.get(place, ()):
            if draw(st.integers(0, 3)) == 0:
                values[name] = draw(st.integers(0, 9))
        operation = {"id": f"o{number}", "kind": "create", "collection": table.name, "values": values}
        if not creates:
            row = draw(st.sampled_from(rows))
            operation |= {"kind": "update", "record": {name: as_json(row[name]) for name in table.key}}
        if values:
            made.append(operation)
    return made


@st.composite
def _values(draw: Callable[..., Any], data: Data, place: int, *, creates: bool, created: list[str]) -> dict[str, Any]:
    table = data.tables[place]
    values: dict[str, Any] = {}
    for field in table.fields:
        if field.name in table.reference:
            continue
        if (creates and not field.nullable) or draw(st.integers(0, 2)) == 0:
            value = draw(st.none() | field.type.values if field.nullable else field.type.values)
            values[field.name] = (
                None if value is None else list(value) if isinstance(value, tuple) else sent(value, field.type.kind)
            )
    if table.reference and (creates or draw(st.booleans())):
        before, rows = data.tables[place - 1], data.rows[place - 1]
        if created and len(table.reference) == 1 and draw(st.booleans()):
            values[table.reference[0]] = f"$ref:{draw(st.sampled_from(created))}"
        elif rows:
            row = draw(st.sampled_from(rows))
            values |= {name: as_json(row[other]) for name, other in zip(table.reference, before.key, strict=True)}
    return values


async def prepared(records: Records, member: Principal, wanted: list[dict[str, Any]]) -> tuple[PreparedOperation, ...]:
    """What is shown to whoever confirms; nothing where the proposal is refused."""
    if not wanted:
        return ()
    try:
        return (await prepare(records, member, [Operation.model_validate(one) for one in wanted])).operations
    except InvalidInput:
        return ()


async def snapshot(
    team: TeamDatabase,
    data: Data,
    also: Mapping[int, Sequence[str]] = {},
    connection: "asyncpg.Connection[asyncpg.Record] | None" = None,
) -> Snapshot:
    """As everybody sees them, or as the transaction of `connection` does."""
    seeing = connection or await asyncpg.connect(team.url)
    found: dict[tuple[str, Key], Mapping[str, str | None]] = {}
    for place, table in enumerate(data.tables):
        names = [*(field.name for field in table.fields), *also.get(place, ())]
        cells = ", ".join(f"{quoted(name)}::text" for name in names)
        for row in await seeing.fetch(f"SELECT {cells} FROM {quoted(table.name)}"):
            values: dict[str, Any] = dict(zip(names, row.values(), strict=True))
            found[table.name, key_of(table, values)] = values
    if connection is None:
        await seeing.close()
    return found


def key_of(table: Table, values: Mapping[str, Any]) -> Key:
    return tuple((name, values[name]) for name in table.key)


@dataclass(frozen=True)
class Edit:
    """What a person does beside askbus: one statement."""

    table: str
    sql: str


@st.composite
def edits(draw: Callable[..., Any], data: Data) -> Edit:
    """An update of one field, a removal, or a copy of a record under another key; the database may refuse it."""
    place = draw(st.sampled_from([place for place, rows in enumerate(data.rows) if rows]))
    table, row = data.tables[place], draw(st.sampled_from(data.rows[place]))
    name = quoted(table.name)
    where = " AND ".join(f"{quoted(key)} = {literal(row[key], table.field(key).type)}" for key in table.key)
    kind = draw(st.sampled_from(["update", "update", "update", "delete", "insert"]))
    if kind == "delete":
        return Edit(table.name, f"DELETE FROM {name} WHERE {where}")
    field = table.field(draw(st.sampled_from([one.name for one in table.fields])))
    value = literal(draw(field.type.values), field.type)
    if kind == "update":
        return Edit(table.name, f"UPDATE {name} SET {quoted(field.name)} = {value} WHERE {where}")
    key = table.key[-1]
    other = literal(draw(table.field(key).type.values), table.field(key).type)
    names = [one.name for one in table.fields]
    cells = ", ".join(other if one == key else quoted(one) for one in names)
    return Edit(table.name, f"INSERT INTO {name} ({listed(tuple(names))}) SELECT {cells} FROM {name} WHERE {where}")
