"""Whatever was applied, and whatever people edited since: undone, the records are as before, and no edit is lost."""

from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.records.test_undo import snapshot

from askbus.access.model import Principal
from askbus.errors import InvalidInput
from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState
from askbus.records.engine import Records, open_records
from askbus.records.propose import prepare
from askbus.records.undo import rehearse, undo
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server

pytestmark = pytest.mark.requirement("R15", "R17")

NOTE, AMOUNT = 5, 2
"""Where these stand in a row of orders."""

RESET = """
UPDATE orders o SET customer_id = k.customer_id, amount = k.amount, stage = k.stage, placed = k.placed, note = k.note
  FROM kept.orders k WHERE k.id = o.id;
DELETE FROM orders WHERE id > 4;
DELETE FROM customers WHERE id > 3;
"""

values_of = st.fixed_dictionaries(
    {},
    optional={
        "note": st.none() | st.text("aé'\\ \n", max_size=5),
        "amount": st.sampled_from(["0", "1.5", "100.10", "9999999999.99"]),
        "stage": st.sampled_from(["lead", "won", "lost"]),
        "placed": st.none() | st.just("2026-10-25T02:30:00+02:00"),
        "customer_id": st.integers(1, 3),
    },
).filter(bool)
updates = st.dictionaries(st.integers(1, 4), values_of, max_size=4)
action_of = st.tuples(updates, st.booleans(), st.booleans())
edits_of = st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=3, unique=True)


def operations_of(changed: dict[int, dict[str, Any]], creates: bool, refers: bool) -> list[Operation]:  # drawn
    """Updates of orders; with `creates` also a new customer with an order, to which with `refers` an old order goes too."""
    made: list[dict[str, Any]] = []
    if creates:
        made += [
            {"id": "c", "kind": "create", "collection": "customers", "values": {"name": "Neu"}},
            {"id": "n", "kind": "create", "collection": "orders", "values": {"customer_id": "$ref:c", "amount": "3.30"}},
        ]
    for record, values in changed.items():
        given = {**values, "customer_id": "$ref:c"} if creates and refers else values
        made.append({"id": f"o{record}", "kind": "update", "collection": "orders", "record": record, "values": given})
    return [Operation.model_validate(one) for one in made]


@pytest.fixture(scope="module")
async def shop_and_way(postgres_server: Server) -> AsyncIterator[tuple[TeamDatabase, Records]]:
    """A shop, put back after each example by its first rows, and askbus's way into it."""
    async with team_database(postgres_server.url, ledger=True) as team:
        await team.run(SHOP, "CREATE SCHEMA kept; CREATE TABLE kept.orders AS TABLE orders")
        records = open_records(team.url)
        yield team, records
        await records.dispose()


async def applied(records: Records, member: Principal, actions: Sequence[Any]) -> list[UUID]:
    done = []
    for changed, creates, refers in actions:
        operations = operations_of(changed, creates, refers)
        try:
            prepared = await prepare(records, member, operations)
        except InvalidInput:
            continue  # nothing in it, or the record has these values already
        done.append(uuid4())
        outcome = await apply(records, done[-1], prepared.operations, member)
        assert outcome.state is OutcomeState.APPLIED, outcome
    return done


@given(actions=st.lists(action_of, min_size=1, max_size=4), edits=edits_of, rest=st.booleans())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_any_actions_undone_leave_the_records_as_they_were_but_for_what_people_edited(
    shop_and_way: tuple[TeamDatabase, Records], member: Principal, actions: Sequence[Any], edits: Sequence[Any], rest: bool
) -> None:
    """Undone the last one first. What was edited by hand keeps its value; with `rest` all else goes back, without it nothing of an
    action that is in its way. The dry run says the same before."""
    shop, records = shop_and_way
    before = await snapshot(shop)
    done = await applied(records, member, actions)
    for place, (record, note) in enumerate(edits):
        changed = f"note = 'by hand {place}'" if note else f"amount = 777.{place}"
        await shop.run(f"UPDATE orders SET {changed} WHERE id = {record:d}")
    expected = [tuple(row) for row in before[1]]
    newest_first = list(reversed(done))
    said = [one.state for one in await rehearse(records, newest_first, member, rest=rest)] if done else []
    states = []
    for action in newest_first:
        states.append((await undo(records, uuid4(), action, member, rest=rest)).state)
        if states[-1] is OutcomeState.REFUSED and not rest:
            break
    assert said == states
    after = await snapshot(shop)
    for record, note in edits:
        column = NOTE if note else AMOUNT
        (now,) = [row for row in after[1] if row[0] == record]
        assert str(now[column]).startswith("by hand") if note else str(now[column]).startswith("777."), now
        overlaid = list(expected[record - 1])
        overlaid[column] = now[column]
        expected[record - 1] = tuple(overlaid)
    if rest or not edits:
        assert after == [before[0], expected, before[2]]
    await shop.run(RESET)
