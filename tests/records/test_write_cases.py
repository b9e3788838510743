"""Writes on the databases that broke other systems: D01, D09, D11, D13, D15; and what a team's own database expects."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from askbus.access.model import Principal
from askbus.errors import InvalidInput
from askbus.records.apply import apply
from askbus.records.changes import Operation, Outcome, OutcomeState
from askbus.records.engine import Records, open_records
from askbus.records.propose import prepare
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase

FOLDER = Path(__file__).parent.parent / "cases" / "db"


def case(name: str) -> dict[str, Any]:
    """The case's setup, steps and expectations."""
    read: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return read


async def change(records: Records, member: Principal, collection: str, record: object, **values: object) -> Outcome:
    """One update, proposed and applied; a create without a record."""
    kind = "create" if record is None else "update"
    wanted = Operation.model_validate({"id": "a", "kind": kind, "collection": collection, "record": record, "values": values})
    return await apply(records, uuid4(), (await prepare(records, member, [wanted])).operations, member)


@pytest.mark.requirement("R10", "R17")
async def test_quoted_and_reserved_names_are_written_and_undone(team: TeamDatabase, records: Records, member: Principal) -> None:
    """D01."""
    await team.run(*case("D01")["setup"])
    values: dict[str, object] = {"user": "b", "select": 3, 'Total "net"': "4.5", "naïve 😀": "y"}
    updated = await change(records, member, "Sales Dept.Order", 1, **values)
    created = await change(records, member, "Sales Dept.Order", None, id=2, **values)
    assert await team.rows('SELECT * FROM "Sales Dept"."Order" ORDER BY id') == [
        (number, "b", 3, Decimal("4.5"), "y") for number in (1, 2)
    ]
    for done in (created, updated):
        assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    assert await team.rows('SELECT id, "user", "select" FROM "Sales Dept"."Order"') == [(1, "a", 2)]


@pytest.mark.requirement("R17")
async def test_a_row_that_moves_between_partitions_moves_back(team: TeamDatabase, records: Records, member: Principal) -> None:
    """D09. The update changes the primary key itself; undo finds the record under its new key."""
    await team.run(*case("D09")["setup"], "INSERT INTO m9 VALUES (1, '2026-01-02')")
    moved = await change(records, member, "m9", {"id": 1, "ts": "2026-01-02"}, ts="2026-08-01")
    assert (moved.images[0].key_before, moved.images[0].key) == ({"id": "1", "ts": "2026-01-02"}, {"id": "1", "ts": "2026-08-01"})
    assert await team.value("SELECT tableoid::regclass::text FROM m9") == "m9_b"
    back = await undo(records, uuid4(), moved.id, member)
    assert (back.state, back.images[0].key) == (OutcomeState.UNDONE, {"id": "1", "ts": "2026-01-02"})
    assert await team.value("SELECT tableoid::regclass::text FROM m9") == "m9_a"
    with pytest.raises(InvalidInput, match="no primary key"):
        await change(records, member, "v9", 1, id=2)


@pytest.mark.requirement("R10", "R17")
async def test_identity_and_generated_columns_are_the_databases(team: TeamDatabase, records: Records, member: Principal) -> None:
    """D11. They are refused in a proposal; an update leaves them alone, and a created record is removed by its key."""
    await team.run(*case("D11")["setup"])
    for values in ({"id": 2}, {"total": 1}):
        with pytest.raises(InvalidInput, match="The database itself fills"):
            await change(records, member, "t11", 1, **values)
    changed = await change(records, member, "t11", 1, qty=3, created="2025-01-01T00:00:00Z")
    created = await change(records, member, "t11", None, qty=1, price="2")
    assert created.images[0].after["total"] == "2"
    assert await team.rows("SELECT id, total::int FROM t11 ORDER BY id") == [(1, 15), (2, 2)]
    for done in (created, changed):
        assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    assert await team.rows("SELECT id, qty, total::int, created::date::text FROM t11") == [(1, 2, 10, "2024-01-01")]


@pytest.mark.requirement("R17")
async def test_an_edit_after_the_action_is_never_lost_to_undo(team: TeamDatabase, records: Records, member: Principal) -> None:
    """D13. v edited to 3: untouched. Another column edited: only v goes back. A second undo is refused."""
    await team.run(*case("D13")["setup"][:2])
    done = await change(records, member, "t13", 1, v=2)
    edits = [step["sql"] for step in case("D13")["steps"] if step["s"] == "U"]
    await team.run(edits[0])
    assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.REFUSED
    assert await team.rows("SELECT v, w FROM t13") == [(3, 1)]
    await team.run(edits[1])
    assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    assert await team.rows("SELECT v, w FROM t13") == [(1, 9)]
    assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.REFUSED


@pytest.mark.requirement("R15")
async def test_a_proposal_on_an_old_shape_conflicts(team: TeamDatabase, records: Records, member: Principal) -> None:
    """D15. A renamed column is a conflict; a new one beside it is none."""
    await team.run(*case("D15")["setup"])
    wanted = [Operation.model_validate({"id": "a", "kind": "update", "collection": "t15", "record": 1, "values": {"a": 2}})]
    first, second = [(await prepare(records, member, wanted)).operations for _ in range(2)]
    await team.run("ALTER TABLE t15 ADD COLUMN b text DEFAULT 'new'")
    done = await apply(records, uuid4(), first, member)
    assert done.state is OutcomeState.APPLIED
    await undo(records, uuid4(), done.id, member)
    await team.run("ALTER TABLE t15 RENAME COLUMN a TO z")
    outcome = await apply(records, uuid4(), second, member)
    assert (outcome.state, outcome.mismatches[0].field) == (OutcomeState.CONFLICTED, "a")
    assert await team.rows("SELECT * FROM t15") == [(1, 1, "new")]


@pytest.mark.requirement("R15")
async def test_the_teams_own_settings_hold_for_its_defaults_and_triggers(team: TeamDatabase, member: Principal) -> None:
    """Defaults see the team's time zone, triggers read dates the team's way; images are spelled one way all the same."""
    await team.run(
        f"ALTER DATABASE \"{team.name}\" SET TimeZone = 'Pacific/Kiritimati'",
        f"ALTER DATABASE \"{team.name}\" SET DateStyle = 'SQL, DMY'",
        "CREATE TABLE t (day date PRIMARY KEY, zone text DEFAULT current_setting('TimeZone'), style text, at timestamptz)",
        "CREATE FUNCTION styled() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN NEW.style := to_char('02/03/2026'::date, 'MM'); RETURN NEW; END $$",
        "CREATE TRIGGER styled BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION styled()",
    )
    records = open_records(team.url)
    created = await change(records, member, "t", None, day="2026-11-30", at="2026-11-30T00:00:00Z")
    assert created.images[0].after == {
        "day": "2026-11-30", "zone": "Pacific/Kiritimati", "style": "03", "at": "2026-11-30 00:00:00+00",
    }  # fmt: skip
    changed = await change(records, member, "t", "2026-11-30", day="2026-12-01", at="2026-12-01T00:00:00Z")
    assert (changed.state, changed.images[0].key) == (OutcomeState.APPLIED, {"day": "2026-12-01"})
    for done in (changed, created):
        assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    await records.dispose()


@pytest.mark.requirement("R16", "R17")
async def test_images_are_what_triggers_left_however_late_they_ran(
    shop: TeamDatabase, records: Records, member: Principal
) -> None:
    """Before the write, after it, and at the commit: the after-image is the record as it is then, so that undo recognises it."""
    await shop.run(
        "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "UPDATE orders SET note = upper(note) || '!' WHERE id = NEW.id AND pg_trigger_depth() < 2; RETURN NULL; END $$",
        "CREATE TRIGGER after AFTER UPDATE ON orders FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION shout()",
        "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON orders DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
        "WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION shout()",
    )
    done = await change(records, member, "orders", 1, note="mine")
    assert done.images[0].after == {"note": await shop.value("SELECT note FROM orders WHERE id = 1")} == {"note": "MINE!!"}
    await shop.run("DROP FUNCTION shout() CASCADE")
    assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE


@pytest.mark.requirement("R17")
async def test_a_reference_to_one_partition_keeps_the_record(team: TeamDatabase, records: Records, member: Principal) -> None:
    """The foreign key points at the partition, the record was created in its parent."""
    await team.run(
        *case("D09")["setup"], "CREATE TABLE r (id int, ts date, FOREIGN KEY (id, ts) REFERENCES m9_a ON DELETE CASCADE)"
    )
    done = await change(records, member, "m9", None, id=1, ts="2026-01-02")
    await team.run("INSERT INTO r VALUES (1, '2026-01-02')")
    outcome = await undo(records, uuid4(), done.id, member)
    assert (outcome.state, outcome.mismatches[0].message) == (OutcomeState.REFUSED, "r refers to 1 2026-01-02 by now")


@pytest.mark.requirement("R4", "R17")
async def test_every_kind_of_value_survives_change_and_undo(team: TeamDatabase, records: Records, member: Principal) -> None:
    """Digit for digit, byte for byte: what undo puts back is what was there."""
    await team.run(
        "CREATE TABLE v (id int PRIMARY KEY, n numeric, f float8, r real, d date, ts timestamp, tz timestamptz, t time, "
        "i interval, u uuid, j json, jb jsonb, a text[], c char(5), b bool, m money, g int4range, p point, bits bit(4), x bytea)",
        "INSERT INTO v VALUES (1, 1.10000000000000000000000000000001, 0.1::float8 + 0.2, 0.1, 'infinity', '0044-03-15 12:00 BC', "
        "'2026-11-01 01:30-05', '17:45:00.123456', '1 mon 2 days -00:00:03', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', "
        "'{\"a\":  1.10}', '{\"a\": 12345678901234567890}', '{\"a,b\",NULL,\"\"}', 'ab', true, '$1,234.56', '[1,5)', '(1.5,2)', "
        "B'1010', '\\x00ff')",
    )
    before = await team.rows("SELECT v::text FROM v")
    new = {
        "n": "-2", "f": 2.5, "r": 2.5, "d": "2026-01-01", "ts": "2026-01-01", "tz": "2026-01-01T00:00:00Z", "t": "01:02:03",
        "i": "1 year", "u": "00000000-0000-0000-0000-000000000001", "j": [1], "jb": {"b": None}, "a": ["x"], "c": "xyz",
        "b": False, "m": "7.5", "g": "empty", "p": "(0,0)", "bits": "0001",
    }  # fmt: skip
    done = await change(records, member, "v", 1, **new)
    assert (done.state, len(done.images[0].after)) == (OutcomeState.APPLIED, len(new))
    assert await team.rows("SELECT n::text, i::text, c, m::numeric::text, bits::text FROM v") == [
        ("-2", "1 year", "xyz  ", "7.50", "0001")
    ]
    assert (await undo(records, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    assert await team.rows("SELECT v::text FROM v") == before
