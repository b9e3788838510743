"""Whatever was applied in any schema, with triggers, defaults and computed columns: undone, the records are as before."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.records.any_change import operations, prepared, snapshot
from tests.records.any_schema import CHECKS, DDL, UNSHRUNK, Data, data, quoted

from askbus.access.model import Principal
from askbus.records.apply import apply
from askbus.records.changes import OutcomeState
from askbus.records.engine import open_records
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R15", "R17")

TRIMMED = """
CREATE FUNCTION trim_{number}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.{text} := btrim(NEW.{text}); RETURN NEW; END $$;
CREATE TRIGGER trim BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION trim_{number}();
"""
STAMPED = """
CREATE FUNCTION stamp_{number}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.changed := OLD.changed + 1; RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION stamp_{number}();
"""
COUNTED = """
CREATE FUNCTION count_{number}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF TG_OP <> 'INSERT' THEN UPDATE {before} SET total = {less} WHERE {old}; END IF;
    IF TG_OP <> 'DELETE' THEN UPDATE {before} SET total = {more} WHERE {new}; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION count_{number}();
"""
OWN = ("total", "made", "twice", "no")
"""Columns beyond those of the schema that have to be as they were. What a trigger counts up at each update does not."""


@dataclass(frozen=True)
class Case:
    data: Data
    operations: list[dict[str, Any]]
    counted: str
    """`anew` or `by steps`, where what refers to a record is counted in it."""
    trimmed: bool

    def statements(self) -> list[str]:
        made = self.data.statements()
        for number, table in enumerate(self.data.tables):
            name = quoted(table.name)
            made.append(
                f"ALTER TABLE {name} ADD COLUMN total integer NOT NULL DEFAULT 0, ADD COLUMN changed integer NOT NULL DEFAULT 0, "
                "ADD COLUMN made timestamptz DEFAULT clock_timestamp(), ADD COLUMN no integer GENERATED ALWAYS AS IDENTITY, "
                "ADD COLUMN twice integer GENERATED ALWAYS AS (total * 2) STORED"
            )
            texts = [
                one.name for one in table.fields if one.type.kind == "text" and one.name not in (*table.key, *table.reference)
            ]
            if texts and self.trimmed:
                made.append(TRIMMED.format(number=number, table=name, text=quoted(texts[0])))
            made.append(STAMPED.format(number=number, table=name))
            if number and self.counted:
                made += self._counting(number)
        return made

    def _counting(self, number: int) -> list[str]:
        table, before = self.data.tables[number], self.data.tables[number - 1]
        pairs = list(zip(table.reference, before.key, strict=True))
        old, new = (" AND ".join(f"{quoted(key)} = {row}.{quoted(one)}" for one, key in pairs) for row in ("OLD", "NEW"))
        here = " AND ".join(f"c.{quoted(one)} = p.{quoted(key)}" for one, key in pairs)
        anew = f"(SELECT count(*) FROM {quoted(table.name)} c WHERE {here})"
        less, more = ("total - 1", "total + 1") if self.counted == "by steps" else (anew, anew)
        named = {"table": quoted(table.name), "before": f"{quoted(before.name)} p"}
        trigger = COUNTED.format(number=number, **named, less=less, more=more, old=old, new=new)
        return [f"UPDATE {named['before']} SET total = {anew}, changed = 0", trigger]

    def drops(self) -> list[str]:
        functions = ", ".join(
            f"{kind}_{number}" for kind in ("trim", "stamp", "count") for number in range(len(self.data.tables))
        )
        return [*self.data.drops(), f"DROP FUNCTION IF EXISTS {functions}"]


@st.composite
def cases(draw: Callable[..., Any]) -> Case:
    made = draw(data())
    counted = draw(st.sampled_from(["", "anew", "by steps"]))
    wanted = draw(operations(made, {place: ["total"] for place in range(len(made.tables))} if counted else {}))
    return Case(made, wanted, counted, draw(st.booleans()))


@pytest.fixture(scope="module")
async def team(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """A database with the types and the ledger, which each example fills with tables of its own."""
    async with team_database(postgres_server.url) as made:
        await made.run(DDL, f"ALTER DATABASE \"{made.name}\" SET TimeZone = 'UTC'")
        yield made


async def check(team: TeamDatabase, member: Principal, case: Case) -> None:
    statements = case.statements()
    note(";\n".join(statements))
    note(repr(case.operations))
    await team.run(";".join(statements))
    records = open_records(team.url)
    also = dict.fromkeys(range(len(case.data.tables)), OWN)
    try:
        before = await snapshot(team, case.data, also)
        shown = await prepared(records, member, case.operations)
        if not shown:
            return
        outcome = await apply(records, uuid4(), shown, member)
        after = await snapshot(team, case.data, also)
        if outcome.state is not OutcomeState.APPLIED:
            assert after == before
            return
        rehearsed = await undo(records, uuid4(), outcome.id, member, dry_run=True)
        assert await snapshot(team, case.data, also) == after
        undone = await undo(records, uuid4(), outcome.id, member)
        assert (rehearsed.state, rehearsed.mismatches) == (undone.state, undone.mismatches)
        left = await snapshot(team, case.data, also)
        if undone.state is OutcomeState.REFUSED:
            note(repr(undone))
            assert case.trimmed
            assert left == after
        else:
            assert left == before
    finally:
        await records.dispose()
        await team.run(";".join(case.drops()))


@settings(CHECKS, max_examples=10, derandomize=True, database=None)
@given(case=cases())
async def test_what_is_applied_and_undone_leaves_the_records_as_they_were(
    team: TeamDatabase, member: Principal, case: Case
) -> None:
    """Or the undo is refused and changes nothing; but for what triggers count up at each update."""
    await check(team, member, case)


@pytest.mark.drill
@settings(CHECKS, max_examples=1000, phases=UNSHRUNK)
@given(case=cases())
async def test_many_that_are_applied_and_undone_leave_the_records_as_they_were(
    team: TeamDatabase, member: Principal, case: Case
) -> None:
    """The same, wide."""
    await check(team, member, case)
