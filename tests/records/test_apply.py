"""A confirmed action is applied whole or not at all, exactly once, and never over somebody's edit."""

import asyncio
import re
from collections.abc import Sequence
from uuid import uuid4

import asyncpg
import pytest

from askbus.access.model import Principal
from askbus.records.apply import apply
from askbus.records.changes import Operation, Outcome, OutcomeState, PreparedOperation
from askbus.records.engine import Records, open_records
from askbus.records.propose import prepare
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R15")


UNIQUE = "CREATE UNIQUE INDEX ON orders (note)"
TRIGGER = (
    "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {} END $$; "
    "CREATE {} UPDATE ON orders {} FOR EACH ROW EXECUTE FUNCTION no()"
)


async def prepared(records: Records, member: Principal, *operations: dict[str, object]) -> tuple[PreparedOperation, ...]:
    listed = [Operation.model_validate({"id": f"o{place}", "kind": "update", **parts}) for place, parts in enumerate(operations)]
    return (await prepare(records, member, listed)).operations


def update(record: object = 1, collection: str = "orders", /, **values: object) -> dict[str, object]:
    return {"collection": collection, "record": record, "values": values}


def create(collection: str, /, **values: object) -> dict[str, object]:
    return {"collection": collection, "kind": "create", "values": values}


@pytest.mark.requirement("R12", "R16")
async def test_operations_are_applied_in_order_with_their_images(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """An update, a create, and a create that refers to it: one transaction, before- and after-images in the ledger beside it."""
    operations = await prepared(
        records, member,
        update(amount="99.5", note=None),
        create("customers", name="Neu") | {"id": "c"},
        create("orders", customer_id="$ref:c", amount="1.00"),
    )  # fmt: skip
    action = uuid4()
    outcome = await apply(records, action, operations, member)
    assert (outcome.state, outcome.id, outcome.action_id, outcome.problem) == (OutcomeState.APPLIED, action, action, None)
    changed, customer, order = outcome.images
    assert (changed.key, changed.before) == ({"id": "1"}, {"amount": "100.10", "note": "first"})
    assert changed.after == {"amount": "99.50", "note": None}
    assert customer.after == {"id": "4", "name": "Neu", "email": None, "country": None}
    assert (order.after["customer_id"], order.after["amount"], order.after["stage"]) == ("4", "1.00", "lead")
    assert await shop.rows("SELECT amount::text, note FROM orders WHERE id = 1") == [("99.50", None)]
    assert await shop.rows(
        "SELECT o.amount::text, c.name FROM orders o JOIN customers c ON c.id = customer_id WHERE o.id > 4"
    ) == [("1.00", "Neu")]
    row = await shop.rows("SELECT kind, state, user_id, images->0->'after'->>'amount' FROM askbus_ledger.outcomes")
    assert row == [("apply", "applied", member.user_id, "99.50")]


@pytest.mark.requirement("R16")
async def test_the_same_action_again_gives_the_recorded_outcome(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Delivered twice, also after somebody edited: nothing is done again."""
    operations, action = await prepared(records, member, update(note="once")), uuid4()
    first = await apply(records, action, operations, member)
    await shop.run("UPDATE orders SET note = 'by hand' WHERE id = 1")
    assert await apply(records, action, operations, member) == first
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "by hand"


@pytest.mark.requirement("R16")
async def test_two_applies_at_once_make_one_row_and_one_change(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Twenty callers on two engines: one does it, the others are told what it did."""
    other = open_records(shop.url)
    operations, action = await prepared(records, member, update(note="x"), create("customers", name="Neu")), uuid4()
    outcomes = await asyncio.gather(*(apply(who, action, operations, member) for who in (records, other) * 10))
    assert {outcome.state for outcome in outcomes} == {OutcomeState.APPLIED}
    assert len({outcome.at for outcome in outcomes}) == 1
    assert await shop.rows("SELECT count(*) FROM customers WHERE name = 'Neu'") == [(1,)]
    assert await shop.value("SELECT count(*) FROM askbus_ledger.outcomes") == 1
    await other.dispose()


@pytest.mark.requirement("R16")
async def test_whoever_comes_second_does_not_even_begin(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """The others wait for the first outcome: not so much as an identity value is used up, and no trigger runs twice."""
    other = open_records(shop.url)
    operations, action = await prepared(records, member, create("customers", name="Neu")), uuid4()
    await asyncio.gather(*(apply(who, action, operations, member) for who in (records, other) * 10))
    assert await shop.value("INSERT INTO customers (name) VALUES ('next') RETURNING id") == 5
    await other.dispose()


async def conflict(records: Records, member: Principal, operations: Sequence[PreparedOperation]) -> Outcome:
    outcome = await apply(records, uuid4(), operations, member)
    assert (outcome.state, outcome.images) == (OutcomeState.CONFLICTED, ())
    return outcome


async def test_a_field_that_was_edited_since_makes_it_conflicted(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """Both values are told, the other operation is not applied either, and an edit of another field does not matter."""
    operations = await prepared(records, member, update(2, note="x"), update(note="mine"))
    await shop.run("UPDATE orders SET note = 'theirs', amount = 1 WHERE id = 1; UPDATE orders SET amount = 2 WHERE id = 2")
    outcome = await conflict(records, member, operations)
    assert [(one.operation, one.label, one.field, one.expected, one.found) for one in outcome.mismatches] == [
        ("o1", "1", "note", "first", "theirs")
    ]
    assert "'first'" in outcome.mismatches[0].message
    assert "'theirs'" in outcome.mismatches[0].message
    assert await shop.value("SELECT count(*) FROM orders WHERE note IN ('x', 'mine')") == 0


async def test_an_edit_in_progress_is_waited_for_and_wins(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """A person's open transaction holds the record; when it commits, the action finds another value and writes nothing."""
    operations = await prepared(records, member, update(note="mine"))
    person = await asyncpg.connect(shop.url)
    edit = person.transaction()
    await edit.start()
    await person.execute("UPDATE orders SET note = 'theirs' WHERE id = 1")
    applying = asyncio.create_task(apply(records, uuid4(), operations, member))
    while not await shop.value("SELECT count(*) FROM pg_locks WHERE NOT granted"):
        assert not applying.done()
    await edit.commit()
    assert (await applying).state is OutcomeState.CONFLICTED
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "theirs"
    await person.close()


async def test_what_is_gone_is_a_conflict(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """A record, a field, a type, a table, a primary key that is not what it was when the change was proposed."""
    for wanted, ddl, says in (
        (update(4, note="x"), "DELETE FROM orders WHERE id = 4", "not in orders any more"),
        (update(note="x"), "ALTER TABLE orders RENAME COLUMN note TO remark", "has no note any more"),
        (update(amount=7), "ALTER TABLE orders ALTER COLUMN amount TYPE numeric(14,2)", r"is numeric\(14,2\) now"),
        (update(1, "lines", qty=7), "ALTER TABLE lines DROP CONSTRAINT lines_pkey, ADD PRIMARY KEY (id, product)", "primary key"),
        (create("logs", text="x"), "ALTER TABLE logs RENAME TO log", "logs is not there any more"),
    ):
        if "logs" in ddl:
            await shop.run("CREATE TABLE logs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text)")
        operations = await prepared(records, member, wanted)
        await shop.run(ddl)
        outcome = await conflict(records, member, operations)
        assert any(re.search(says, one.message) for one in outcome.mismatches), (ddl, outcome.mismatches)


@pytest.mark.requirement("R16")
@pytest.mark.parametrize(
    ("values", "setup", "says"),
    [
        ({"amount": "-1"}, "ANALYZE orders", "rule of the database does not allow this value \\(orders_amount_check\\)"),
        ({"note": "x"}, "ALTER TABLE orders ADD CHECK (note <> 'x')", "rule of the database"),
        ({"customer_id": 3}, "DELETE FROM customers WHERE id = 3", "record that does not exist"),
        ({"note": "taken"}, f"{UNIQUE}; UPDATE orders SET note = 'taken' WHERE id = 3", "already has this value"),
        ({"note": "x"}, TRIGGER.format("RAISE 'not on sundays';", "TRIGGER no BEFORE", ""), "not on sundays"),
        ({"note": "x"}, TRIGGER.format("RETURN NULL;", "TRIGGER no BEFORE", ""), "did not change the record"),
        (
            {"note": "x"},
            TRIGGER.format("RAISE 'at the end';", "CONSTRAINT TRIGGER no AFTER", "DEFERRABLE INITIALLY DEFERRED"),
            "at the end",
        ),
    ],
)  # fmt: skip
async def test_what_the_database_refuses_is_recorded_as_failed(
    shop: TeamDatabase, records: Records, member: Principal, values: dict[str, object], setup: str, says: str
) -> None:
    """In a second transaction, with its reason; nothing is written, and the same action again is not tried again."""
    operations = await prepared(records, member, update(2, note="before"), update(**values))
    await shop.run(setup)
    action = uuid4()
    outcome = await apply(records, action, operations, member)
    assert outcome.state is OutcomeState.FAILED
    assert outcome.problem is not None
    assert re.search(says, outcome.problem.message), outcome.problem.message
    assert await shop.value("SELECT count(*) FROM orders WHERE note = 'before'") == 0
    assert await shop.rows("SELECT state FROM askbus_ledger.outcomes") == [("failed",)]
    assert await apply(records, action, operations, member) == outcome
