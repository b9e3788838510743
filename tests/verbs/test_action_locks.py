"""Actions while somebody else holds their row: who waits decides on what is true afterwards, and nobody waits in a circle."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest

from askbus.access.model import Principal, Role
from askbus.access.verbs import set_member
from askbus.actions import verbs
from askbus.actions.model import Action, ActionState, ConfirmAction, RejectAction, UndoAction, WithdrawAction
from askbus.db.pool import Pool
from askbus.db.statements import Executor
from askbus.errors import Conflict, NotFound, PermissionDenied
from askbus.records.changes import OutcomeState
from askbus.testing.actions import action_in, outcome_of, pending_action, prepared_action, propose_command
from askbus.testing.people import Company
from askbus.testing.waiting import until

Decision = Callable[[Executor, Principal, Action], Awaitable[object]]


def confirm(db: Executor, by: Principal, action: Action) -> Awaitable[object]:
    command = ConfirmAction(command_id=uuid4(), by=by, action_id=action.id, digest=action.digest)
    return verbs.confirm(db, command, trace=None)


def reject(db: Executor, by: Principal, action: Action) -> Awaitable[object]:
    return verbs.reject(db, RejectAction(command_id=uuid4(), by=by, action_id=action.id), trace=None)


def withdraw(db: Executor, by: Principal, action: Action) -> Awaitable[object]:
    return verbs.withdraw(db, WithdrawAction(command_id=uuid4(), by=by, action_id=action.id), trace=None)


def undo(db: Executor, by: Principal, action: Action) -> Awaitable[object]:
    return verbs.request_undo(db, UndoAction(command_id=uuid4(), by=by, action_id=action.id, undo_id=uuid4()), trace=None)


async def somebody_waits(pool: Pool) -> bool:
    """Whether a statement in this database waits for another's lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return bool(await pool.fetchval(waiting))


@pytest.mark.requirement("R14")
@pytest.mark.parametrize("first", [confirm, reject, withdraw])
@pytest.mark.parametrize("second", [confirm, reject, withdraw])
async def test_who_waited_for_a_decision_is_shown_it(first: Decision, second: Decision, pool: Pool, company: Company) -> None:
    """The second starts while the first is not committed yet: it may not decide on what it saw then."""
    mia = company["mia"].principal
    action = await pending_action(pool, mia, company.north)
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await first(connection, mia, action)
        late = asyncio.ensure_future(second(pool, mia, action))
        await until(lambda: somebody_waits(pool))
        await transaction.commit()
    with pytest.raises(Conflict) as refused:
        await late
    assert isinstance(shown := refused.value.details["action"], dict)
    assert shown["state"] == await pool.fetchval("SELECT state::text FROM actions WHERE id = $1", action.id)


@pytest.mark.requirement("R17")
async def test_who_waited_for_another_undo_is_refused(pool: Pool, company: Company) -> None:
    """The second request starts while the first is not committed yet."""
    mia = company["mia"].principal
    action = await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await undo(connection, mia, action)
        late = asyncio.ensure_future(undo(pool, mia, action))
        await until(lambda: somebody_waits(pool))
        await transaction.commit()
    with pytest.raises(Conflict):
        await late
    assert await pool.fetchval("SELECT count(*) FROM undos") == 1


@pytest.mark.requirement("R17")
async def test_copying_an_undo_locks_the_action_before_the_undo(pool: Pool, company: Company) -> None:
    """As whoever asks for one does; the other way round the two could wait for each other."""
    mia = company["mia"].principal
    action = await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
    requested = await verbs.request_undo(
        pool, UndoAction(command_id=uuid4(), by=mia, action_id=action.id, undo_id=uuid4()), trace=None
    )
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("SELECT FROM actions WHERE id = $1 FOR UPDATE", action.id)
        outcome = outcome_of(action.id, OutcomeState.REFUSED, row_id=requested.id)
        copying = asyncio.ensure_future(verbs.record_undo(pool, requested.id, outcome, trace=None))
        await until(lambda: somebody_waits(pool))
        await pool.execute("SELECT FROM undos WHERE id = $1 FOR UPDATE NOWAIT", requested.id)
        await transaction.commit()
    assert await copying


@pytest.mark.parametrize("sweep", ["expire", "wake"])
async def test_a_sweep_passes_over_what_somebody_works_on(sweep: str, pool: Pool, company: Company) -> None:
    """It takes the others at once, and leaves that one to the next round."""
    mia = company["mia"].principal
    state = ActionState.PENDING if sweep == "expire" else ActionState.CONFIRMED
    held, free = [await action_in(pool, state, mia, mia, company.north) for _ in range(2)]
    await pool.execute("UPDATE actions SET decided_at = decided_at - interval '1 hour' WHERE state = 'confirmed'")
    async with pool.acquire() as connection, connection.transaction(), asyncio.timeout(10):
        await connection.execute("SELECT FROM actions WHERE id = $1 FOR UPDATE", held.id)
        if sweep == "expire":
            taken = await verbs.expire_due(pool, now=free.expires_at)
        else:
            taken = await verbs.wake_confirmed(pool, rested=60)
    assert taken == [free.id]


@pytest.mark.requirement("I3")
async def test_rights_count_as_they_are_when_the_statement_runs(pool: Pool, company: Company) -> None:
    """Whoever was made a viewer a moment ago, after the door had let them in, decides nothing and proposes nothing any more."""
    mia = company["mia"].principal
    pending = await pending_action(pool, mia, company.north)
    applied = await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
    await set_member(pool, company.workspace_id, company["mia"].id, Role.VIEWER)
    for decide, action in ((confirm, pending), (reject, pending), (undo, applied)):
        with pytest.raises(PermissionDenied):
            await decide(pool, mia, action)
    with pytest.raises(NotFound):
        await verbs.known(pool, propose_command(mia, company.north))
    with pytest.raises(NotFound):
        await verbs.propose(pool, propose_command(mia, company.north), prepared_action(), trace=None)
    counts = "SELECT (SELECT count(*) FROM actions), (SELECT count(*) FROM undos), (SELECT count(*) FROM audit_log WHERE entity_id = $1)"
    assert [tuple(row) for row in await pool.fetch(counts, pending.id)] == [(2, 0, 1)]
