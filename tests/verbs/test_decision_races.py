"""Partial decisions that come at the same moment over connections of their own: one wins, and the others learn which."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest

from askbus.actions import deciding, verbs
from askbus.actions.decisions import OperationDecision, decided_on
from askbus.actions.model import Action, ActionState, ConfirmAction, DecideAction
from askbus.db.pool import Pool
from askbus.errors import Conflict
from askbus.records.changes import PreparedAction, digest_of
from askbus.testing.actions import prepared_action, propose_command
from askbus.testing.people import Company


def two_operations() -> PreparedAction:
    (first,) = prepared_action().operations
    operations = (first, first.model_copy(update={"id": "b", "key": {"id": "2"}, "label": "Émile Zola"}))
    return PreparedAction(operations=operations, digest=digest_of(operations))


@pytest.mark.requirement("R14")
async def test_of_twenty_different_partial_decisions_one_wins(pool: Pool, company: Company) -> None:
    """Over several connections at once, beside a whole confirmation: what is stored is one of them, whole, and audited once."""
    mia, max_ = company["mia"].principal, company["max"].principal
    prepared = two_operations()
    action = await verbs.propose(pool, propose_command(mia, company.north), prepared, trace=None)

    async def decide(number: int) -> Action | Conflict:
        said = (
            OperationDecision(operation="a", confirm=number % 2 == 0, reason=None if number % 2 == 0 else f"r{number}"),
            OperationDecision(operation="b", confirm=number % 3 == 0, reason=None if number % 3 == 0 else f"r{number}"),
        )
        by = mia if number % 2 else max_
        command = DecideAction(command_id=uuid4(), by=by, action_id=action.id, digest=prepared.digest, decisions=said)
        try:
            return await deciding.decide(pool, command, decided_on(prepared.operations, said, ()), trace=None)
        except Conflict as lost:
            return lost

    async def confirm() -> Action | Conflict:
        command = ConfirmAction(command_id=uuid4(), by=mia, action_id=action.id, digest=prepared.digest)
        try:
            return await verbs.confirm(pool, command, trace=None)
        except Conflict as lost:
            return lost

    outcomes = await asyncio.gather(*(decide(number) for number in range(20)), confirm())
    assert Counter(type(outcome) for outcome in outcomes) == {Action: 1, Conflict: 20}
    (won,) = [outcome for outcome in outcomes if isinstance(outcome, Action)]
    assert won.state in {ActionState.CONFIRMED, ActionState.REJECTED}
    row = await pool.fetchrow("SELECT state::text, decisions, confirmed FROM actions WHERE id = $1", action.id)
    assert row is not None
    number = outcomes.index(won)
    confirmed = [name for name, every in (("a", 2), ("b", 3)) if number % every == 0]
    assert row["state"] == ("confirmed" if confirmed or number == 20 else "rejected")
    if number < 20:
        assert [one["decision"] for one in row["decisions"]] == [
            "confirmed" if name in confirmed else "rejected" for name in ("a", "b")
        ]
        assert [one["id"] for one in row["confirmed"] or []] == confirmed
    audited = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 AND event <> 'action.proposed'", action.id)
    assert len(audited) == 1
