"""The whole table of a turn's moves on the database, and the fence around a claimed step."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import product
from uuid import UUID, uuid4

import pytest
from tests.verbs.turn_rows import call, cancel_command, new_thread, queued_turn, row_of, said, standing, take, taken, turn_in

from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.errors import Conflict
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase
from askbus.turns import verbs
from askbus.turns.model import MOVES, Claim, TurnState, TurnVerb

OTHER = UUID(int=8)


@pytest.fixture
async def loop(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the agent-loop's own role."""
    async with open_pool(database.role_url(Service.AGENT_LOOP), size=2, name="agent-loop") as pool:
        yield pool


async def does(loop: Pool, company: Company, claim: Claim, verb: TurnVerb) -> bool:
    """Whether this verb moved the turn, said by whoever holds `claim`."""
    match verb:
        case TurnVerb.CLAIM:
            return (await take(loop, claim.turn_id, step=claim.step)).claim is not None
        case TurnVerb.FINISH_STEP:
            return await verbs.finish_model_step(loop, claim, said(call()), trace=None) is not None
        case TurnVerb.COMPLETE:
            return await verbs.finish_model_step(loop, claim, said(), trace=None) is not None
        case TurnVerb.WAIT:
            return await verbs.wait(loop, claim)
        case TurnVerb.FAIL:
            return await verbs.fail(loop, claim.turn_id, "internal", claim=claim)
        case TurnVerb.CANCEL:
            try:
                await verbs.cancel(loop, cancel_command(company, claim.turn_id), trace=None)
            except Conflict:
                return False
            return True


@pytest.mark.requirement("C2")
async def test_every_state_takes_just_the_verbs_that_it_may(loop: Pool, company: Company) -> None:
    """The whole table of moves, on the database: what is over stays as it ended."""
    for state, verb in product(TurnState, TurnVerb):
        turn_id = await turn_in(loop, company, state)
        moved = await does(loop, company, await standing(loop, turn_id), verb)
        reached = TurnState((await row_of(loop, turn_id))["state"])
        assert (state, verb, moved) == (state, verb, (state, verb) in MOVES)
        assert (state, verb, reached) == (state, verb, MOVES.get((state, verb), state))


STALE = [verb for verb in TurnVerb if verb not in {TurnVerb.CANCEL, TurnVerb.CLAIM}]


@pytest.mark.requirement("C2")
@pytest.mark.parametrize("verb", STALE)
async def test_who_lost_a_step_changes_nothing_of_it(loop: Pool, company: Company, verb: TurnVerb) -> None:
    """By its attempt, while the step is the same; by its step, were the attempt the same: a worker that froze and wakes up."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    stale = await taken(loop, turn_id, lease=-1)
    current = (await take(loop, turn_id, lease=-1, holder=OTHER)).claim
    assert current is not None
    for claim in (stale, replace(current, step=current.step + 1)):
        before = await row_of(loop, turn_id)
        assert not await does(loop, company, claim, verb)
        assert not await verbs.renew(loop, claim, holder=OTHER, lease=60)
        await verbs.release(loop, claim, holder=OTHER)
        assert await row_of(loop, turn_id) == before
    assert not await verbs.renew(loop, current, holder=UUID(int=9), lease=60)
    assert await verbs.renew(loop, current, holder=OTHER, lease=60)
    assert await loop.fetchval("SELECT count(*) FROM messages WHERE role = 'assistant'") == 0


@pytest.mark.requirement("C2")
async def test_a_step_is_taken_by_one_and_from_where_the_turn_stands(loop: Pool, company: Company) -> None:
    """A live lease is respected and its rest is told; who read the turn at another step takes nothing."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    assert (await take(loop, turn_id, step=3)).claim is None
    first = await taken(loop, turn_id)
    late = await take(loop, turn_id, holder=OTHER)
    assert late.claim is None
    assert 50 < late.lease_left <= 60
    await verbs.release(loop, first, holder=OTHER)
    assert (await take(loop, turn_id, holder=OTHER)).claim is None
    await verbs.release(loop, first, holder=UUID(int=7))
    second = (await take(loop, turn_id, holder=OTHER)).claim
    assert second is not None
    assert second.attempt == first.attempt + 1


@pytest.mark.requirement("C5")
async def test_what_a_stopped_step_had_said_is_kept_once_and_by_its_last_worker(loop: Pool, company: Company) -> None:
    """Not while the turn goes on, not by a worker that had lost it before, and not twice."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    stale = await taken(loop, turn_id, lease=-1)
    current = (await take(loop, turn_id, holder=OTHER)).claim
    assert current is not None
    await verbs.record_cut(loop, current, text="too early", model="scripted", cut="stopped")
    await verbs.cancel(loop, cancel_command(company, turn_id), trace=None)
    for claim, text in ((stale, "stale"), (current, ""), (current, "half a"), (current, "half a word")):
        await verbs.record_cut(loop, claim, text=text, model="scripted", cut="stopped")
    kept = await loop.fetch("SELECT text, cut FROM messages WHERE turn_id = $1 AND role = 'assistant'", turn_id)
    assert [tuple(row) for row in kept] == [("half a", "stopped")]


@pytest.mark.requirement("C5")
async def test_the_same_stop_sent_again_succeeds_and_another_is_late(loop: Pool, company: Company) -> None:
    """The moved row knows the command that moved it."""
    turn_id = await turn_in(loop, company, TurnState.RUNNING)
    command = cancel_command(company, turn_id)
    for _time in range(2):
        assert (await verbs.cancel(loop, command, trace=None)).state is TurnState.CANCELLED
    with pytest.raises(Conflict):
        await verbs.cancel(loop, command.model_copy(update={"command_id": uuid4()}), trace=None)
