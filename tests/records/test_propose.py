"""A proposal is checked against the live schema before anybody sees it, and each error says what to correct."""

from collections.abc import Awaitable, Callable

import pytest
from pydantic import ValidationError

from askbus.access.model import Principal, Role
from askbus.errors import InvalidInput, PermissionDenied
from askbus.records.changes import Change, Operation, PreparedAction, PreparedOperation, digest_of
from askbus.records.deny import Policy
from askbus.records.display import Presentation
from askbus.records.engine import Records, open_records
from askbus.records.propose import prepare
from askbus.records.record_catalogue import RecordCatalogue
from askbus.testing.records import TeamDatabase, somebody

pytestmark = pytest.mark.requirement("R10")

Propose = Callable[..., Awaitable[PreparedAction]]


def operation(**parts: object) -> Operation:
    return Operation.model_validate({"id": "a", "kind": "update", **parts})


@pytest.fixture
def propose(kept_records: Records, member: Principal) -> Propose:
    """`prepare` on the kept shop, where nothing is ever applied."""

    async def run(*operations: Operation) -> PreparedAction:
        return await prepare(kept_records, member, operations)

    return run


async def problems(propose: Propose, *operations: Operation) -> list[tuple[str, str, str]]:
    """The operation, field and words of everything that is wrong."""
    with pytest.raises(InvalidInput) as refused:
        await propose(*operations)
    listed = refused.value.details["problems"]
    assert isinstance(listed, list)
    return [(str(one["operation"]), str(one["field"]), str(one["message"])) for one in listed if isinstance(one, dict)]


@pytest.mark.requirement("R9", "R13", "R14")
async def test_a_proposal_carries_the_card_and_the_snapshot(propose: Propose) -> None:
    """Record label, field, old value, new value, from data; the digest covers all that is shown."""
    action = await propose(
        operation(collection="orders", record=1, values={"amount": "99.5", "customer_id": 2, "note": "first"}),
        operation(id="b", kind="create", collection="customers", values={"name": "Neu"}),
    )
    update, create = action.operations
    assert (update.key, update.label, update.fields) == ({"id": "1"}, "1", ("amount", "customer_id"))
    shown = [(one.before, one.after, one.before_display, one.after_display) for one in update.changes]
    assert shown == [("100.10", "99.50", "100.10", "99.50"), ("1", "2", "Ada Lovelace (1)", "Émile Zola (2)")]
    assert (create.key, create.label, create.changes[0].before, create.changes[0].after) == ({}, "Neu", None, "Neu")
    assert action.digest == digest_of(action.operations)


@pytest.mark.requirement("R14")
async def test_the_digest_changes_with_anything_that_was_shown(propose: Propose) -> None:
    """And stays through JSON, whatever the order of its keys."""
    action = await propose(operation(collection="orders", record=1, values={"amount": "99.5"}))
    first = action.operations[0]
    stored = [PreparedOperation.model_validate_json(first.model_dump_json())]
    assert digest_of(stored) == action.digest
    for part in ({"key": {"id": "2"}}, {"label": "x"}, {"changes": (first.changes[0].model_copy(update={"before": "100.11"}),)}):
        assert digest_of([first.model_copy(update=part)]) != action.digest


async def test_money_on_the_card_has_its_currency(kept_shop: TeamDatabase, member: Principal) -> None:
    """In the language of whoever is going to read it."""
    wanted = [operation(collection="orders", record=1, values={"amount": "99.5"})]
    listed = RecordCatalogue.model_validate({"collections": {"orders": {"fields": {"amount": {"currency": "EUR"}}}}})
    records = open_records(kept_shop.url, listed=listed)
    action = await prepare(records, member, wanted, Presentation(locale="de"))
    await records.dispose()
    assert action.operations[0].changes[0].after_display == "99,50\xa0€"


@pytest.mark.parametrize(
    ("parts", "field", "says"),
    [
        ({"collection": "order", "record": 1, "values": {"note": "x"}}, "", "orders"),
        ({"collection": "orders", "record": 99, "values": {"note": "x"}}, "record", "no such record"),
        ({"collection": "orders", "record": {"nr": 1}, "values": {"note": "x"}}, "record", "name the record by id"),
        ({"collection": "orders", "record": "one", "values": {"note": "x"}}, "id", "whole number"),
        ({"collection": "orders", "record": 1, "values": {"notes": "x"}}, "notes", "note"),
        ({"collection": "orders", "record": 1, "values": {"amount": "1.234"}}, "amount", "2 decimal places"),
        ({"collection": "orders", "record": 1, "values": {"amount": None}}, "amount", "must have a value"),
        ({"collection": "orders", "record": 1, "values": {"stage": "closed"}}, "stage", "lead, won, lost"),
        ({"collection": "orders", "record": 1, "values": {"customer_id": 77}}, "customer_id", "no such customers"),
        ({"collection": "orders", "record": 1, "values": {"id": 2}}, "id", "already has this id"),
        ({"collection": "customers", "record": 1, "values": {"id": 9}}, "id", "fills 'id'"),
        ({"collection": "customers", "record": 3, "values": {"email": "ada@example.org"}}, "email", "already has this email"),
        ({"collection": "customers", "record": 1, "values": {"email": "x" * 61}}, "email", "at most 60 characters"),
        ({"collection": "customers", "record": 1, "values": {"name": "Ada Lovelace"}}, "", "already has these values"),
        ({"collection": "orders", "record": 1, "values": {"amount": "100.1000"}}, "", "already has these values"),
        ({"collection": "orders", "kind": "create", "values": {"note": "x"}}, "customer_id", "needs it"),
        ({"collection": "orders", "kind": "create", "values": {"customer_id": 1, "amount": True}}, "amount", "plain decimal"),
        ({"collection": "logins", "record": 1, "values": {"email": "x"}}, "", "accounts or credentials"),
        ({"collection": "pg_class", "record": 1, "values": {"relname": "x"}}, "", "no collection"),
        ({"collection": "askbus_ledger.outcomes", "record": 1, "values": {"state": "x"}}, "", "no collection"),
        ({"collection": "orders", "record": 1, "values": {"customer_id": "$ref:z"}}, "customer_id", "no earlier operation"),
    ],
)  # fmt: skip
async def test_what_cannot_stand_is_refused_by_operation_and_field(
    propose: Propose, parts: dict[str, object], field: str, says: str
) -> None:
    """Collection, field, type, size, enum, NULL, references, uniqueness, generated and identity columns, accounts."""
    found = await problems(propose, operation(**parts))
    assert found[0][:2] == ("a", field)
    assert any(says in message for _, at, message in found if at == field)


async def test_everything_that_is_wrong_is_told_at_once(propose: Propose) -> None:
    """So that one correction is enough."""
    found = await problems(
        propose,
        operation(collection="orders", record=1, values={"nope": 1, "amount": "x", "stage": "y"}),
        operation(id="b", kind="create", collection="lines", values={"qty": 1}),
    )
    assert [(one, at) for one, at, _ in found] == [
        ("a", "nope"),
        ("a", "amount"),
        ("a", "stage"),
        ("b", "order_id"),
        ("b", "product"),
    ]


async def test_a_record_that_is_changed_twice_is_refused(propose: Propose) -> None:
    """Two operations on one record would each be judged against the same snapshot."""
    twice = [
        operation(id=name, collection="orders", record=record, values={"note": name}) for name, record in (("a", 1), ("b", "01"))
    ]
    assert await problems(propose, *twice) == [("b", "", "another operation changes this record too: put both into one")]
    same_id = [operation(collection="orders", record=record, values={"note": "x"}) for record in (1, 2)]
    assert await problems(propose, *same_id) == [("a", "", "another operation has this id")]


@pytest.mark.requirement("R12")
async def test_a_reference_stands_for_a_record_created_earlier(propose: Propose) -> None:
    """Only for one that is created before it, in a field that refers to it."""
    customer = operation(id="c", kind="create", collection="customers", values={"name": "Neu"})
    order = operation(id="o", kind="create", collection="orders", values={"customer_id": "$ref:c", "amount": 1})
    action = await propose(customer, order)
    change = action.operations[1].changes[0]
    assert (change.ref, change.after, change.after_display) == ("c", None, "the new record of c")
    assert (await problems(propose, order, customer))[0] == (
        "o",
        "customer_id",
        "no earlier operation called 'c' creates a record",
    )
    line = operation(id="l", kind="create", collection="lines", values={"order_id": "$ref:c", "product": "x", "qty": 1})
    assert await problems(propose, customer, line) == [("l", "order_id", "it does not refer to customers")]


async def test_what_the_database_alone_can_check_is_checked_there(
    team: TeamDatabase, records: Records, member: Principal
) -> None:
    """Domains, ranges, intervals: the value is tried, not written, and the field is named."""
    await team.run(
        "CREATE DOMAIN grade AS varchar(3) CHECK (VALUE IN ('A', 'B'))",
        "CREATE TABLE t (id int PRIMARY KEY, g grade, span interval, r int4range, at inet, tags int[])",
        "INSERT INTO t (id) VALUES (1)",
    )
    good = operation(
        collection="t", record=1, values={"g": "A", "span": "36 hours", "r": "[1,5)", "at": "10.0.0.1", "tags": [1, 2]}
    )
    action = await prepare(records, member, [good])
    assert [one.after for one in action.operations[0].changes] == ["A", "PT36H", "[1,5)", "10.0.0.1/32", "{1,2}"]
    for field, value in {"g": "C", "span": "soon", "r": "[5,1)", "at": "10.0.0.999", "tags": ["x"]}.items():
        bad = operation(collection="t", record=1, values={"g": "B", field: value})
        with pytest.raises(InvalidInput) as refused:
            await prepare(records, member, [bad])
        assert f"'field': '{field}'" in str(refused.value.details["problems"])
    with pytest.raises(InvalidInput, match="at most 3 characters"):
        await prepare(records, member, [operation(collection="t", record=1, values={"g": "ABCD"})])


async def test_a_proposal_sees_ddl_of_a_moment_ago(shop: TeamDatabase, records: Records, member: Principal) -> None:
    """The schema is compared with the catalogue at each proposal; a cached one would be stale."""
    wanted = [operation(collection="orders", record=1, values={"note": "x"})]
    await prepare(records, member, wanted)
    await shop.run("ALTER TABLE orders RENAME COLUMN note TO remark", "ALTER TYPE stage ADD VALUE 'paused'")
    with pytest.raises(InvalidInput, match="remark"):
        await prepare(records, member, wanted)
    action = await prepare(records, member, [operation(collection="orders", record=1, values={"stage": "paused"})])
    assert action.operations[0].changes[0].after == "paused"


@pytest.mark.requirement("R11")
@pytest.mark.parametrize("who", [somebody(Role.VIEWER), somebody(demo=True)])
async def test_who_may_change_nothing_proposes_nothing(kept_records: Records, who: Principal) -> None:
    """Viewers and demo users are refused before anything is looked at."""
    with pytest.raises(PermissionDenied, match="change nothing"):
        await prepare(kept_records, who, [operation(collection="orders", record=1, values={"note": "x"})])


@pytest.mark.requirement("R6", "R11")
async def test_a_denied_column_is_not_written_even_in_a_table_that_was_freed(kept_shop: TeamDatabase, member: Principal) -> None:
    """Freeing an account table leaves its secrets alone; a record that needs one cannot be made here."""
    records = open_records(kept_shop.url, Policy(writable_accounts=frozenset({"logins"})))
    action = await prepare(records, member, [operation(collection="logins", record=1, values={"email": "new@example.org"})])
    assert action.operations[0].fields == ("email",)
    with pytest.raises(InvalidInput, match="may not be read or written"):
        await prepare(records, member, [operation(collection="logins", record=1, values={"password_hash": "x"})])
    await records.dispose()


@pytest.mark.requirement("R9")
@pytest.mark.parametrize(
    "parts",
    [
        {"kind": "delete", "record": 1},
        {"kind": "update"},
        {"kind": "create", "record": 1},
        {"kind": "update", "record": 1, "values": {}},
        {"kind": "update", "record": 1, "sql": "x"},
        {"kind": "update", "record": 1, "id": "a b"},
    ],
)
def test_an_operation_is_a_create_or_an_update_and_nothing_else(parts: dict[str, object]) -> None:
    """Deletion does not exist in the type."""
    with pytest.raises(ValidationError):
        Operation.model_validate({"id": "a", "collection": "orders", "values": {"note": "x"}, **parts})
    assert [kind.value for kind in Change] == ["create", "update"]


@pytest.mark.requirement("R9")
async def test_an_action_has_1_to_100_operations(propose: Propose) -> None:
    """None is nothing to decide, more is nothing that a person reads."""
    many = [operation(id=f"o{place}", kind="create", collection="customers", values={"name": "N"}) for place in range(101)]
    for wrong in ([], many):
        with pytest.raises(InvalidInput, match="1 to 100"):
            await propose(*wrong)
    assert len((await propose(*many[:100])).operations) == 100
