"""Which turns the sweep wakes: those that wait for a machine, and none that waits for anything else."""

import math
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest
from tests.verbs.turn_rows import at_tools, new_thread, queued_turn, standing, taken, turn_in

from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.db.ids import new_id
from askbus.db.pool import Pool, open_pool
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase
from askbus.turns import verbs
from askbus.turns.model import OPEN, TurnState
from askbus_agent_loop.resting import Resting

pytestmark = pytest.mark.requirement("C2")


@pytest.fixture
async def loop(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the agent-loop's own role."""
    async with open_pool(database.role_url(Service.AGENT_LOOP), size=2, name="agent-loop") as pool:
        yield pool


async def resting(loop: Pool, stuck: float = 0) -> set[UUID]:
    return {row["id"] for row in await verbs.resting(loop, stuck=stuck, turn_ms=300_000)}


async def run(pool: Pool, company: Company, turn_id: UUID, call_id: UUID, state: str, question: UUID | None = None) -> None:
    """The call's run: `started`, held by somebody, or over with this state."""
    over = state != "started"
    await pool.execute(
        "INSERT INTO tool_runs (id, workspace_id, project_id, user_id, turn_id, state, holder, lease_until, finished_at, result, "
        "question_id) VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $8 THEN NULL ELSE now() END, CASE WHEN $8 THEN now() END, $9, $10)",
        call_id,
        company.workspace_id,
        company.north,
        company["mia"].id,
        turn_id,
        state,
        None if over else new_id(),
        over,
        {"ok": True, "content": 1} if state == "succeeded" else None,
        question,
    )


async def ask(pool: Pool, company: Company, turn_id: UUID, call_id: UUID) -> UUID:
    """The open question that this call asked."""
    await pool.execute(
        "INSERT INTO questions (id, workspace_id, project_id, user_id, asker_id, turn_id, call_id, text, expires_at, asked_command) "
        "VALUES ($1, $2, $3, $4, $4, $5, $1, 'Which?', now() + interval '1 day', $1)",
        call_id,
        company.workspace_id,
        company.north,
        company["mia"].id,
        turn_id,
    )
    await run(pool, company, turn_id, call_id, "asked", call_id)
    return call_id


async def test_a_turn_that_nobody_took_rests_and_one_that_is_over_does_not(loop: Pool, company: Company) -> None:
    """Each state by itself, its lease over where it had one; and none that moved a moment ago."""
    for state in set(TurnState) - OPEN:
        await turn_in(loop, company, state)
    assert await resting(loop) == set()
    turn_id = await turn_in(loop, company, TurnState.QUEUED)
    assert await resting(loop) == {turn_id}
    assert await resting(loop, stuck=60) == set()


async def test_a_turn_rests_when_its_workers_lease_is_over(loop: Pool, company: Company) -> None:
    """While somebody holds the step it is theirs; once the lease is over it is anybody's."""
    held = await queued_turn(loop, company, await new_thread(loop, company))
    lost = await queued_turn(loop, company, await new_thread(loop, company))
    await taken(loop, held)
    await taken(loop, lost, lease=-1)
    assert await resting(loop) == {lost}


async def test_a_turn_behind_another_of_its_thread_does_not_rest(loop: Pool, company: Company) -> None:
    """The first is woken; the second once that is over, whatever became of it."""
    thread_id = await new_thread(loop, company)
    first, second = [await queued_turn(loop, company, thread_id) for _ in range(2)]
    assert await resting(loop) == {first}
    await verbs.fail(loop, first, "internal")
    assert await resting(loop) == {second}


async def test_a_turn_whose_tools_are_under_way_does_not_rest(loop: Pool, pool: Pool, company: Company) -> None:
    """A call that nobody began, or that somebody runs, is the tool-runner's; once it is over the turn is ours."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    call_id = await at_tools(loop, turn_id)
    assert await resting(loop) == set()
    await run(pool, company, turn_id, call_id, "started")
    assert await resting(loop) == set()
    await pool.execute("DELETE FROM tool_runs")
    await run(pool, company, turn_id, call_id, "succeeded")
    assert await resting(loop) == {turn_id}


async def test_a_turn_that_waits_for_a_person_rests_once_they_have_answered(loop: Pool, pool: Pool, company: Company) -> None:
    """Before it is parked it is to be parked; parked it waits; settled it goes on."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    question_id = await ask(pool, company, turn_id, await at_tools(loop, turn_id))
    assert await resting(loop) == {turn_id}, "it was not parked yet"
    assert await verbs.wait(loop, await standing(loop, turn_id))
    assert await resting(loop) == set()
    await pool.execute("UPDATE questions SET state = 'cancelled', settled_at = now() WHERE id = $1", question_id)
    assert await resting(loop) == {turn_id}


async def test_a_turn_whose_fact_may_still_queue_up_is_not_woken(loop: Pool, company: Company) -> None:
    """What is late is not lost: only what rested for longer than the queue goes back is told again, and nothing while that is unknown."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    told: list[UUID] = []

    async def repeat(facts: Sequence[Fact]) -> None:
        told.extend(fact.entity_id for fact in facts)

    behind = [0.0, 60.0, math.inf]
    resting_turns = Resting(loop, rested=0, turn_ms=300_000, repeat=repeat, behind=behind.pop)
    await resting_turns.wake()
    await resting_turns.wake()
    assert told == []
    await resting_turns.wake()
    assert told == [turn_id]
