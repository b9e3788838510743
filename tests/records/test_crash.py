"""The process dies between any two effects: the action is applied, or undone, once all the same."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from pydantic_core import to_json

from askbus.access.model import Principal
from askbus.records.apply import apply
from askbus.records.changes import Operation, PreparedOperation
from askbus.records.engine import Records
from askbus.records.propose import prepare
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("R16")

APPLIER = Path(__file__).with_name("applier.py")

WANTED = (
    {"id": "a", "kind": "update", "collection": "orders", "record": 1, "values": {"note": "mine"}},
    {"id": "b", "kind": "create", "collection": "customers", "values": {"name": "Neu"}},
)


async def killed(
    url: str, point: str, action: UUID, undo_id: UUID | None = None, operations: Sequence[PreparedOperation] = ()
) -> bool:
    """Whether a process that applies, or undoes, died at `point`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        APPLIER,
        url,
        str(action),
        str(undo_id or ""),
        to_json(operations).decode(),
        env={"ASKBUS_CRASH_AT": point},
    )
    return await process.wait() == 137


async def state(shop: TeamDatabase) -> tuple[object, object, list[tuple[object, ...]]]:
    """The note, how many new customers there are, and the ledger."""
    return (
        await shop.value("SELECT note FROM orders WHERE id = 1"),
        await shop.value("SELECT count(*) FROM customers WHERE name = 'Neu'"),
        await shop.rows("SELECT kind, state FROM askbus_ledger.outcomes ORDER BY at"),
    )


APPLIED = ("mine", 1, [("apply", "applied")])
UNTOUCHED: tuple[object, object, list[object]] = ("first", 0, [])
FAILED = ("first", 0, [("apply", "failed")])
UNDONE = ("first", 0, [("apply", "applied"), ("undo", "undone")])


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("records.apply.claimed", UNTOUCHED),
        ("records.apply.locked", UNTOUCHED),
        ("records.apply.operation", UNTOUCHED),
        ("records.apply.operation:2", UNTOUCHED),
        ("records.apply.written", UNTOUCHED),
        ("records.apply.before_ledger", UNTOUCHED),
        ("records.apply.before_commit", UNTOUCHED),
        ("records.apply.after_commit", APPLIED),
    ],
)
async def test_an_apply_that_died_is_finished_by_the_next(
    shop: TeamDatabase, records: Records, member: Principal, point: str, left: object
) -> None:
    """All of it or nothing was done, and the next delivery leaves it done once."""
    operations = (await prepare(records, member, [Operation.model_validate(one) for one in WANTED])).operations
    action = uuid4()
    assert await killed(shop.url, point, action, operations=operations)
    assert await state(shop) == left
    assert [(await apply(records, action, operations, member)).state for _ in range(2)] == ["applied"] * 2
    assert await state(shop) == APPLIED


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("records.apply.before_failure", UNTOUCHED),
        ("records.apply.before_failure_commit", UNTOUCHED),
        ("records.apply.after_failure", FAILED),
    ],
)
async def test_a_failure_that_was_not_recorded_is_found_again(
    shop: TeamDatabase, records: Records, member: Principal, point: str, left: object
) -> None:
    """The second transaction is one more gap: the refusal is the same the next time."""
    operations = (await prepare(records, member, [Operation.model_validate(one) for one in WANTED])).operations
    await shop.run("ALTER TABLE customers ADD CHECK (name <> 'Neu')")
    action = uuid4()
    assert await killed(shop.url, point, action, operations=operations)
    assert await state(shop) == left
    assert (await apply(records, action, operations, member)).state == "failed"
    assert await state(shop) == FAILED


@pytest.mark.requirement("R17")
@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("records.undo.claimed", APPLIED),
        ("records.undo.locked", APPLIED),
        ("records.undo.operation", APPLIED),
        ("records.undo.operation:2", APPLIED),
        ("records.undo.written", APPLIED),
        ("records.undo.before_ledger", APPLIED),
        ("records.undo.before_commit", APPLIED),
        ("records.undo.after_commit", UNDONE),
    ],
)
async def test_an_undo_that_died_is_finished_by_the_next(
    shop: TeamDatabase, records: Records, member: Principal, point: str, left: object
) -> None:
    """Under its own key in the ledger; the action stays applied until then."""
    operations = (await prepare(records, member, [Operation.model_validate(one) for one in WANTED])).operations
    action, undo_id = uuid4(), uuid4()
    assert (await apply(records, action, operations, member)).state == "applied"
    assert await killed(shop.url, point, action, undo_id)
    assert await state(shop) == left
    assert [(await undo(records, undo_id, action, member)).state for _ in range(2)] == ["undone"] * 2
    assert await state(shop) == UNDONE
