"""Undo puts back what the action changed, and only that, while it is as the action left it; else it says what is in the way."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal
from askbus.errors import Conflict
from askbus.records.apply import apply
from askbus.records.changes import Operation, Outcome, OutcomeState
from askbus.records.deny import Policy
from askbus.records.engine import Records, open_records
from askbus.records.propose import prepare
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R17")

Done = Callable[..., Awaitable[UUID]]


async def applied(records: Records, member: Principal, *operations: dict[str, object]) -> UUID:
    """The id of an action with these operations, applied."""
    listed = [Operation.model_validate({"id": f"o{place}", "kind": "update", **parts}) for place, parts in enumerate(operations)]
    action = uuid4()
    outcome = await apply(records, action, (await prepare(records, member, listed)).operations, member)
    assert outcome.state is OutcomeState.APPLIED, outcome
    return action


@pytest.fixture
def done(shop: TeamDatabase, records: Records, member: Principal) -> Done:
    """`applied` on the shop."""

    async def run(*operations: dict[str, object]) -> UUID:
        return await applied(records, member, *operations)

    return run


def update(record: object = 1, collection: str = "orders", /, **values: object) -> dict[str, object]:
    return {"collection": collection, "record": record, "values": values}


def create(collection: str, /, **values: object) -> dict[str, object]:
    return {"collection": collection, "kind": "create", "values": values}


def in_the_way(outcome: Outcome) -> list[tuple[str, str, str | None, str | None]]:
    assert outcome.state is OutcomeState.REFUSED, outcome
    return [(one.operation, one.field, one.expected, one.found) for one in outcome.mismatches]


async def snapshot(shop: TeamDatabase) -> list[list[tuple[object, ...]]]:
    return [await shop.rows(f"SELECT * FROM {table} ORDER BY id") for table in ("customers", "orders", "lines")]


async def test_everything_is_as_it_was(shop: TeamDatabase, records: Records, member: Principal, done: Done) -> None:
    """Fields restored, created records gone in reverse order, and the ledger holds what the undo did."""
    before = await snapshot(shop)
    action = await done(
        update(amount="99.5", note=None, placed=None),
        create("customers", name="Neu") | {"id": "c"},
        create("orders", customer_id="$ref:c", amount=1) | {"id": "o"},
        create("lines", order_id="$ref:o", product="tea", qty=1),
        update(2, customer_id="$ref:c"),
    )
    outcome = await undo(records, undo_id := uuid4(), action, member)
    assert (outcome.state, outcome.id, outcome.action_id, outcome.mismatches) == (OutcomeState.UNDONE, undo_id, action, ())
    assert await snapshot(shop) == before
    restored = next(image for image in outcome.images if image.operation == "o0")
    assert restored.before == {"amount": "99.50", "note": None, "placed": None}
    assert restored.after == {"amount": "100.10", "note": "first", "placed": "2026-01-01 00:00:00+00"}
    assert await shop.rows("SELECT kind, state FROM askbus_ledger.outcomes ORDER BY at") == [
        ("apply", "applied"),
        ("undo", "undone"),
    ]


async def test_edits_of_other_fields_stay(shop: TeamDatabase, records: Records, member: Principal, done: Done) -> None:
    """Only what the action changed goes back."""
    action = await done(update(note="mine", amount="100.10", stage="lost"))
    await shop.run("UPDATE orders SET amount = 9, customer_id = 2 WHERE id = 1")
    assert (await undo(records, uuid4(), action, member)).state is OutcomeState.UNDONE
    assert await shop.rows("SELECT note, amount::text, stage::text, customer_id FROM orders WHERE id = 1") == [
        ("first", "9.00", "won", 2)
    ]


async def test_what_was_edited_since_is_not_overwritten(
    shop: TeamDatabase, records: Records, member: Principal, done: Done
) -> None:
    """All or nothing, with a list of everything in the way; once that is gone, a new undo works."""
    action = await done(update(note="a"), update(2, note="b"), update(3, note="c"), update(4, note="d"))
    await shop.run("UPDATE orders SET note = 'theirs' WHERE id = 2; DELETE FROM orders WHERE id = 3")
    outcome = await undo(records, uuid4(), action, member)
    assert in_the_way(outcome) == [("o2", "", None, None), ("o1", "note", "b", "theirs")]
    assert await shop.rows("SELECT note FROM orders ORDER BY id") == [("a",), ("theirs",), ("d",)]
    await shop.run("UPDATE orders SET note = 'b' WHERE id = 2; INSERT INTO orders VALUES (3, 2, 1, 'won', NULL, 'c')")
    assert (await undo(records, uuid4(), action, member)).state is OutcomeState.UNDONE


async def test_a_created_record_that_was_edited_or_is_used_stays(
    shop: TeamDatabase, records: Records, member: Principal, done: Done
) -> None:
    """Also where a delete would cascade and take along what somebody added."""
    action = await done(create("customers", name="Neu"), create("orders", customer_id=1, amount=1))
    await shop.run(
        "INSERT INTO lines (order_id, product, qty) VALUES (5, 'tea', 1)", "UPDATE customers SET country = 'DE' WHERE id = 4"
    )
    outcome = await undo(records, uuid4(), action, member)
    assert in_the_way(outcome) == [("o0", "country", None, "DE"), ("o1", "", None, None)]
    assert outcome.mismatches[1].message == "lines refers to 5 by now"
    assert await shop.rows("SELECT count(*) FROM lines WHERE order_id = 5") == [(1,)]
    await shop.run("DELETE FROM lines WHERE order_id = 5", "UPDATE customers SET country = NULL WHERE id = 4")
    assert (await undo(records, uuid4(), action, member)).state is OutcomeState.UNDONE
    assert await shop.rows("SELECT count(*) FROM customers WHERE id = 4") == [(0,)]


async def test_a_secret_that_was_set_since_keeps_its_record(shop: TeamDatabase, member: Principal) -> None:
    """A denied column is compared by its hash, which stays in the ledger, and is named nowhere."""
    records = open_records(shop.url, Policy(writable_accounts=frozenset({"logins"})))
    action = await applied(records, member, create("logins", id=2, email="neu@example.org"))
    await shop.run("UPDATE logins SET password_hash = 'argon2id' WHERE id = 2")
    outcome = await undo(records, uuid4(), action, member)
    assert outcome.mismatches[0].message == "a field that may not be read was edited since"
    assert "password" not in outcome.model_dump_json()
    await shop.run("UPDATE logins SET password_hash = NULL WHERE id = 2")
    assert (await undo(records, uuid4(), action, member)).state is OutcomeState.UNDONE
    await records.dispose()


async def test_undo_is_done_once(shop: TeamDatabase, records: Records, member: Principal, done: Done) -> None:
    """Delivered twice it answers the same; asked for twice, the second request is refused; ten at once make one."""
    action = await done(update(note="mine"))
    requests = [uuid4() for _ in range(10)]
    outcomes = await asyncio.gather(*(undo(records, request, action, member) for request in requests))
    assert sorted(outcome.state for outcome in outcomes) == ["refused"] * 9 + ["undone"]
    first = next(outcome for outcome in outcomes if outcome.state is OutcomeState.UNDONE)
    await shop.run("UPDATE orders SET note = 'later' WHERE id = 1")
    assert await undo(records, first.id, action, member) == first
    again = await undo(records, uuid4(), action, member)
    assert (again.state, again.problem and again.problem.message) == (OutcomeState.REFUSED, "This action was undone already.")
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "later"


async def test_only_what_was_applied_can_be_undone(shop: TeamDatabase, records: Records, member: Principal, done: Done) -> None:
    """Neither an unknown action nor one that conflicted; nor an undo."""
    with pytest.raises(Conflict, match="not there"):
        await undo(records, uuid4(), uuid4(), member)
    operations = (
        await prepare(records, member, [Operation.model_validate({"id": "a", "kind": "update", **update(note="x")})])
    ).operations
    await shop.run("UPDATE orders SET note = 'theirs' WHERE id = 1")
    await apply(records, conflicted := uuid4(), operations, member)
    with pytest.raises(Conflict, match="conflicted"):
        await undo(records, uuid4(), conflicted, member)
    action = await done(update(2, note="x"))
    outcome = await undo(records, uuid4(), action, member)
    with pytest.raises(Conflict, match="undone"):
        await undo(records, uuid4(), outcome.id, member)


async def test_a_dry_run_tells_and_changes_nothing(shop: TeamDatabase, records: Records, member: Principal, done: Done) -> None:
    """The same answer as the real one, and no row in the ledger."""
    action = await done(update(note="mine"), create("customers", name="Neu"))
    before = await snapshot(shop)
    shown = await undo(records, uuid4(), action, member, dry_run=True)
    assert (shown.state, shown.dry_run, [image.operation for image in shown.images]) == (OutcomeState.UNDONE, True, ["o1", "o0"])
    await shop.run("INSERT INTO orders (customer_id, amount) VALUES (4, 1)")
    refused = await undo(records, uuid4(), action, member, dry_run=True)
    assert (refused.state, refused.dry_run, len(refused.mismatches)) == (OutcomeState.REFUSED, True, 1)
    await shop.run("DELETE FROM orders WHERE customer_id = 4")
    assert await snapshot(shop) == before
    assert await shop.value("SELECT count(*) FROM askbus_ledger.outcomes") == 1
    assert (await undo(records, uuid4(), action, member)).state is OutcomeState.UNDONE


async def test_what_the_database_refuses_refuses_the_undo(
    shop: TeamDatabase, records: Records, member: Principal, done: Done
) -> None:
    """A rule that came since forbids the old value: recorded, with the reason, and nothing is half undone."""
    action = await done(update(2, note="b"), update(note="a"))
    await shop.run("ALTER TABLE orders ADD CONSTRAINT no_first CHECK (note <> 'first')")
    outcome = await undo(records, uuid4(), action, member)
    assert outcome.state is OutcomeState.REFUSED
    assert outcome.problem is not None
    assert (outcome.problem.operation, "no_first" in outcome.problem.message) == ("o1", True)
    assert await shop.rows("SELECT note FROM orders WHERE id < 3 ORDER BY id") == [("a",), ("b",)]


async def test_a_change_of_shape_since_is_in_the_way(shop: TeamDatabase, records: Records, member: Principal, done: Done) -> None:
    """A field or a table that is gone cannot be put back; a column that came since and is empty does not matter."""
    created = await done(create("customers", name="Neu"))
    changed = await done(update(note="a"))
    await shop.run("ALTER TABLE customers ADD COLUMN vat text", "ALTER TABLE orders DROP COLUMN note")
    assert in_the_way(await undo(records, uuid4(), changed, member)) == [("o0", "note", None, None)]
    assert (await undo(records, uuid4(), created, member)).state is OutcomeState.UNDONE
    await shop.run("ALTER TABLE orders RENAME TO sales")
    assert in_the_way(await undo(records, uuid4(), changed, member)) == [("o0", "", None, None)]


COUNTED = """
ALTER TABLE customers ADD COLUMN orders int NOT NULL DEFAULT 0;
UPDATE customers c SET orders = (SELECT count(*) FROM orders WHERE customer_id = c.id);
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE customers SET orders = orders - 1 WHERE id = OLD.customer_id;
    UPDATE customers SET orders = orders + 1 WHERE id = NEW.customer_id;
    RETURN NULL;
END $$;
CREATE TRIGGER counted AFTER UPDATE OF customer_id ON orders FOR EACH ROW EXECUTE FUNCTION counted();
"""


async def test_what_triggers_count_along_is_put_back_too(
    shop: TeamDatabase, records: Records, member: Principal, done: Done
) -> None:
    """The action moved an order and set the count that a trigger keeps; undone, the trigger counts on what was put back."""
    await shop.run(COUNTED)
    before = await snapshot(shop)
    action = await done(update(1, customer_id=3), update(3, "customers", orders=7))
    assert await shop.value("SELECT orders FROM customers WHERE id = 3") == 7
    assert (await undo(records, uuid4(), action, member)).state is OutcomeState.UNDONE
    assert await snapshot(shop) == before


async def test_what_the_database_changes_again_is_not_called_undone(
    shop: TeamDatabase, records: Records, member: Principal, done: Done
) -> None:
    """A trigger that came since keeps the old value from coming back: refused with both, or done as far as it goes, and said."""
    action = await done(update(1, note="mine"), update(2, note="yours"))
    await shop.run(
        "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := upper(NEW.note); RETURN NEW; END $$",
        "CREATE TRIGGER shout BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION shout()",
    )
    outcome = await undo(records, uuid4(), action, member)
    assert in_the_way(outcome) == [("o0", "note", "first", "FIRST")]
    assert await shop.rows("SELECT note FROM orders WHERE id < 3 ORDER BY id") == [("mine",), ("yours",)]
    rest = await undo(records, uuid4(), action, member, rest=True)
    assert [(image.operation, image.after) for image in rest.images] == [("o1", {"note": None}), ("o0", {"note": "FIRST"})]
    assert [(one.operation, one.message) for one in rest.mismatches] == [("o0", "the database itself changes note again")]
    assert await shop.rows("SELECT note FROM orders WHERE id < 3 ORDER BY id") == [("FIRST",), (None,)]
