"""Runs of tool calls: one claim at a time, fenced by it, and nothing finished happens again."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from tests.verbs.tool_runs import DONE, LATER, LEASE, start, started

from askbus.db.pool import Pool
from askbus.errors import NotFound
from askbus.testing.turns import RunningTurn, cancel_turn, request_call, run_of
from askbus.testing.waiting import until
from askbus.tools import reads, verbs
from askbus.tools.model import (
    MOST_ATTEMPTS,
    Held,
    Outcome,
    Over,
    RunState,
    StartedRun,
)

pytestmark = pytest.mark.requirement("C20")


async def finished_facts(pool: Pool, call_id: UUID) -> int:
    count = await pool.fetchval("SELECT count(*) FROM change_log WHERE fact = 'tool_run.finished' AND entity_id = $1", call_id)
    return int(count)


async def test_two_workers_claim_one_call_and_one_runs_it(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """Of claims at the same moment one wins; the other learns how long to wait."""
    for position in range(20):
        call_id = await request_call(pool, turn, "resolve", position=position)
        both = await asyncio.gather(start(runner, call_id), start(runner, call_id))
        won = [one for one in both if isinstance(one, StartedRun)]
        held = [one for one in both if isinstance(one, Held)]
        assert (len(won), len(held)) == (1, 1)
        assert held[0].seconds == pytest.approx(LEASE, abs=2)
        run = await run_of(pool, call_id)
        assert run is not None
        assert (run.holder, run.attempt) == (won[0].claim, 1)


async def test_a_claim_that_waits_for_an_uncommitted_one_sees_who_has_it(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """The second claim's snapshot is older than the first one's row: it must not take this for an ended turn."""
    call_id = await request_call(pool, turn, "resolve")
    async with runner.acquire() as first:
        transaction = first.transaction()
        await transaction.start()
        await verbs.start_run(first, call_id, claim=uuid4(), lease=LEASE, repeatable=[], trace=None)
        second = asyncio.create_task(start(runner, call_id))
        await _blocked(pool)
        await transaction.commit()
    assert isinstance(await second, Held)


async def _blocked(pool: Pool) -> None:
    """Some connection to this database waits for a lock."""
    waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    async def there() -> bool:
        return bool(await pool.fetchval(waiting))

    await until(there)


async def test_a_run_whose_lease_is_over_is_taken_over(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """A worker that died leaves its call to the next one, which is the second attempt."""
    call_id = await request_call(pool, turn, "resolve")
    first = await started(runner, call_id)
    second = await started(runner, call_id, now=LATER)
    assert (first.attempt, second.attempt) == (1, 2)
    assert await verbs.finish_run(runner, second, DONE, trace=None)


async def test_what_a_frozen_worker_writes_late_changes_nothing(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """It wakes up after its run was taken over: neither its result nor its renewal is recorded, before and after the other's."""
    call_id = await request_call(pool, turn, "resolve")
    frozen = await started(runner, call_id)
    second = await started(runner, call_id, now=LATER)
    late = Outcome.failed(NotFound("too late"))
    assert await verbs.renew(runner, frozen, LEASE) is None
    assert not await verbs.finish_run(runner, frozen, late, trace=None)
    run = await run_of(pool, call_id)
    assert run is not None
    assert (run.state, run.holder) == (RunState.STARTED, second.claim)
    assert await verbs.finish_run(runner, second, DONE, trace=None)
    assert not await verbs.finish_run(runner, frozen, late, trace=None)
    run = await run_of(pool, call_id)
    assert run is not None
    assert (run.state, run.question_id) == (RunState.ASKED, DONE.question_id)


async def test_a_frozen_worker_that_nobody_replaced_may_still_finish(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """Its claim is the newest one: what it found out is not thrown away because it was slow."""
    call_id = await request_call(pool, turn, "resolve")
    run = await started(runner, call_id, now=datetime.now(UTC) - timedelta(hours=1))
    assert await verbs.finish_run(runner, run, DONE, trace=None)


async def test_a_call_that_may_not_be_repeated_ends_as_unknown(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """It was begun and its worker died: it is not begun again, and the model is told that nobody knows what it did."""
    call_id = await request_call(pool, turn, "resolve")
    lost = await started(runner, call_id, repeatable=False)
    assert await start(runner, call_id, repeatable=False, now=LATER) == Over("finished")
    run = await run_of(pool, call_id)
    assert run is not None
    assert (run.state, run.code) == (RunState.UNKNOWN, "outcome_unknown")
    assert run.result is not None
    assert "not known" in run.result.text()
    assert await finished_facts(pool, call_id) == 1
    assert not await verbs.finish_run(runner, lost, DONE, trace=None)


async def test_a_finished_run_is_never_begun_again(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """A message delivered twice finds the outcome, and a touched row makes no second fact."""
    call_id = await request_call(pool, turn, "resolve")
    await verbs.finish_run(runner, await started(runner, call_id), DONE, trace=None)
    assert await start(runner, call_id) == Over("finished")
    assert await start(runner, call_id, now=LATER) == Over("finished")
    run = await run_of(pool, call_id)
    assert run is not None
    assert (run.state, run.attempt) == (RunState.ASKED, 1)
    assert await finished_facts(pool, call_id) == 1


@pytest.mark.requirement("C5")
async def test_no_call_is_begun_after_its_turn_was_stopped(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """The call stays as it was requested, without a run."""
    call_id = await request_call(pool, turn, "resolve")
    await cancel_turn(pool, turn)
    assert await start(runner, call_id) == Over("ended")
    assert await run_of(pool, call_id) is None


async def test_no_call_of_a_step_that_is_past_is_begun(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """The turn went on without it; a late message finds nothing to do, and neither does the sweep."""
    call_id = await request_call(pool, turn, "resolve")
    await pool.execute("UPDATE turns SET step = step + 1 WHERE id = $1", turn.id)
    assert await start(runner, call_id) == Over("ended")
    assert await run_of(pool, call_id) is None
    assert await reads.stuck(runner, after=0, most=10) == []


@pytest.mark.requirement("C5")
async def test_a_result_that_comes_after_the_stop_is_recorded(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """The worker learns of the stop when it renews; what it has by then is kept."""
    call_id = await request_call(pool, turn, "resolve")
    run = await started(runner, call_id)
    assert await verbs.renew(runner, run, LEASE) is True
    await cancel_turn(pool, turn)
    assert await verbs.renew(runner, run, LEASE) is False
    assert await verbs.finish_run(runner, run, DONE, trace=None)


@pytest.mark.requirement("C5")
@pytest.mark.parametrize(("repeatable", "state"), [(True, RunState.FAILED), (False, RunState.UNKNOWN)])
async def test_a_lost_run_of_a_stopped_turn_is_ended_rather_than_taken_over(
    runner: Pool, pool: Pool, turn: RunningTurn, repeatable: bool, state: RunState
) -> None:
    """Its worker died and its turn was stopped: nobody begins it again, and its row does not stay open for ever."""
    call_id = await request_call(pool, turn, "resolve")
    await started(runner, call_id, repeatable=repeatable)
    await cancel_turn(pool, turn)
    assert await start(runner, call_id, repeatable=repeatable, now=LATER) == Over("finished")
    run = await run_of(pool, call_id)
    assert run is not None
    assert run.state is state


async def test_a_call_that_ends_every_worker_is_given_up(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """After so many attempts without an outcome it fails, so that no crash goes round for ever."""
    call_id = await request_call(pool, turn, "resolve")
    for attempt in range(1, MOST_ATTEMPTS + 1):
        run = await started(runner, call_id, now=LATER + timedelta(hours=attempt))
        assert run.attempt == attempt
    assert await start(runner, call_id, now=LATER + timedelta(days=1)) == Over("finished")
    stored = await run_of(pool, call_id)
    assert stored is not None
    assert (stored.state, stored.code) == (RunState.FAILED, "internal")


async def test_a_run_that_is_handed_back_can_be_taken_at_once(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """A worker that drains does not make the next one wait for its lease."""
    call_id = await request_call(pool, turn, "resolve")
    assert await verbs.renew(runner, await started(runner, call_id), 0) is True
    assert (await started(runner, call_id)).attempt == 2


async def test_a_dead_letter_ends_a_call_that_was_never_begun(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """The model gets an error, and the turn goes on."""
    call_id = await request_call(pool, turn, "resolve")
    assert await verbs.give_up(runner, call_id, repeatable=["resolve"], trace=None)
    run = await run_of(pool, call_id)
    assert run is not None
    assert (run.state, run.code) == (RunState.FAILED, "internal")
    assert await finished_facts(pool, call_id) == 1
    assert not await verbs.give_up(runner, call_id, repeatable=["resolve"], trace=None)


@pytest.mark.parametrize(("repeatable", "state"), [(True, RunState.FAILED), (False, RunState.UNKNOWN)])
async def test_a_dead_letter_ends_a_lost_run_and_leaves_a_held_one(
    runner: Pool, pool: Pool, turn: RunningTurn, repeatable: bool, state: RunState
) -> None:
    """Who still holds the run goes on with it; a run that nobody holds ends, as unknown where it may not be repeated."""
    call_id = await request_call(pool, turn, "resolve")
    await started(runner, call_id)
    names = ["resolve"] if repeatable else []
    assert not await verbs.give_up(runner, call_id, repeatable=names, trace=None)
    assert await verbs.give_up(runner, call_id, repeatable=names, trace=None, now=LATER)
    run = await run_of(pool, call_id)
    assert run is not None
    assert run.state is state


async def test_calls_without_a_worker_are_found_and_others_left(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """Not begun, or begun and let go; but none that is held, finished, refused, or of a turn that was stopped."""
    never = await request_call(pool, turn, "resolve", position=0)
    let_go = await request_call(pool, turn, "resolve", position=1)
    await verbs.renew(runner, await started(runner, let_go), 0)
    held = await request_call(pool, turn, "resolve", position=2)
    await started(runner, held)
    finished = await request_call(pool, turn, "resolve", position=3)
    await verbs.finish_run(runner, await started(runner, finished), DONE, trace=None)
    refused = await request_call(pool, turn, "resolve", position=4)
    await pool.execute("UPDATE tool_calls SET state = 'refused', refusal = 'Not run.' WHERE id = $1", refused)
    assert {call.id for call in await reads.stuck(runner, after=0, most=10)} == {never, let_go}
    assert [call.turn_id for call in await reads.stuck(runner, after=0, most=1)] == [turn.id]
    assert {call.id for call in await reads.stuck(runner, after=60, most=10)} == {let_go}
    await cancel_turn(pool, turn)
    assert {call.id for call in await reads.stuck(runner, after=0, most=10)} == {let_go}
