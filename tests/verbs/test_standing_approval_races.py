"""Standing approvals and what happens at the same moment, over connections of their own: it comes in one order or in the other."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest
from tests.verbs.test_action_locks import somebody_waits

from askbus.access import verbs as access
from askbus.actions import verbs as actions
from askbus.actions.model import Action, ConfirmAction, RejectAction
from askbus.approvals import reads, verbs
from askbus.approvals.model import Approval, ApprovalState
from askbus.db.pool import Pool
from askbus.db.statements import Executor
from askbus.errors import Conflict, NotFound
from askbus.testing.approvals import proposed_in, revoke, standing_approval, stands, use
from askbus.testing.people import Company, give_token
from askbus.testing.turns import RunningTurn
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("R20")


async def test_of_twenty_actions_that_race_for_the_last_uses_as_many_win(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """Over several connections at once: three uses confirm three, never a fourth; each is audited once."""
    approval = await standing_approval(pool, turn.person.principal, company.north, thread_id=turn.thread_id, most_uses=3)
    made = [await proposed_in(pool, turn) for _ in range(20)]
    won = await asyncio.gather(*(use(pool, action, approval) for action in made for _ in range(2)))
    assert sum(won) == 3
    row = await pool.fetchrow(
        "SELECT (SELECT count(*) FROM actions WHERE state = 'confirmed'), uses, state::text,"
        " (SELECT count(*) FROM audit_log WHERE event = 'action.confirmed') FROM standing_approvals"
    )
    assert tuple(row or ()) == (3, 3, "used_up", 3)


Move = Callable[[Executor, RunningTurn, Action, Approval], Awaitable[object]]


def expire(db: Executor, _turn: RunningTurn, _action: Action, approval: Approval) -> Awaitable[object]:
    return verbs.expire_due(db, now=approval.expires_at)


def reject(db: Executor, turn: RunningTurn, action: Action, _approval: Approval) -> Awaitable[object]:
    return actions.reject(db, RejectAction(command_id=uuid4(), by=turn.person.principal, action_id=action.id), trace=None)


def press(db: Executor, turn: RunningTurn, action: Action, _approval: Approval) -> Awaitable[object]:
    command = ConfirmAction(command_id=uuid4(), by=turn.person.principal, action_id=action.id, digest=action.digest)
    return actions.confirm(db, command, trace=None)


def leave(db: Executor, turn: RunningTurn, _action: Action, _approval: Approval) -> Awaitable[object]:
    return access.remove_member(db, turn.workspace_id, turn.person.id)


def forget(db: Executor, turn: RunningTurn, _action: Action, _approval: Approval) -> Awaitable[object]:
    return db.execute("DELETE FROM threads WHERE id = $1", turn.thread_id)


def take_back(db: Executor, turn: RunningTurn, _action: Action, approval: Approval) -> Awaitable[object]:
    return revoke(db, turn.person.principal, approval)


@pytest.mark.parametrize("first", [take_back, expire, reject, press, leave, forget])
async def test_a_use_that_waited_finds_what_was_first(first: Move, pool: Pool, company: Company, turn: RunningTurn) -> None:
    """It starts while the other is not committed yet: it waits, and then confirms nothing and uses nothing."""
    approval = await standing_approval(pool, turn.person.principal, company.north, thread_id=turn.thread_id)
    action = await proposed_in(pool, turn)
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await first(connection, turn, action, approval)
        late = asyncio.ensure_future(use(pool, action, approval))
        await until(lambda: somebody_waits(pool))
        await transaction.commit()
    assert not await late
    assert await pool.fetchval("SELECT uses FROM standing_approvals WHERE id = $1", approval.id) == 0
    audited = "SELECT count(*) FROM audit_log WHERE entity_id = $1 AND via = 'standing-approval'"
    assert await pool.fetchval(audited, action.id) == 0


@pytest.mark.parametrize("second", [take_back, reject, press, forget])
async def test_what_waited_for_a_use_finds_it_confirmed(second: Move, pool: Pool, company: Company, turn: RunningTurn) -> None:
    """The other order: it stays confirmed, a decision is refused and shown it, and a revocation ends only what is left."""
    mia = turn.person.principal
    approval = await standing_approval(pool, mia, company.north, thread_id=turn.thread_id)
    action = await proposed_in(pool, turn)
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        assert await use(connection, action, approval)
        late = asyncio.ensure_future(second(pool, turn, action, approval))
        await until(lambda: somebody_waits(pool))
        await transaction.commit()
    if second in {reject, press}:
        with pytest.raises(Conflict):
            await late
    else:
        await late
        assert (await reads.get(pool, mia, approval.id)).state is ApprovalState.REVOKED
    assert await stands(pool, action, approval) == ("confirmed", 1, 1)


async def test_none_is_made_for_what_goes_at_that_moment(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """A token that is being revoked, a conversation that is being deleted, a maker who is being removed: whoever makes one waits and
    makes none, so that none is left that nobody would end."""
    mia = turn.person
    robot = await give_token(pool, mia)
    ways: list[tuple[Callable[[Executor], Awaitable[object]], UUID | None, UUID | None]] = [
        (lambda db: access.revoke_token(db, mia.principal, robot.id, trace=None), None, robot.id),
        (lambda db: db.execute("DELETE FROM threads WHERE id = $1", turn.thread_id), turn.thread_id, None),
    ]
    for go, thread_id, token_id in ways:
        async with pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            await go(connection)
            late = asyncio.ensure_future(
                standing_approval(pool, mia.principal, company.north, thread_id=thread_id, token_id=token_id)
            )
            await until(lambda: somebody_waits(pool))
            await transaction.commit()
        with pytest.raises(NotFound):
            await late
    assert await pool.fetchval("SELECT count(*) FROM standing_approvals") == 0
