"""Many turns: a thousand at once over two agent-loops, and ten thousand that wait for a person. `make drill` runs them."""

import asyncio
import os

import psutil
import pytest
from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.invariants import assert_invariants
from askbus.testing.patient import Patient
from askbus.testing.waiting import until

pytestmark = pytest.mark.drill

AT_ONCE = 1000
PARKED = int(os.environ.get("ASKBUS_DRILL_PARKED", "10000"))
SENDERS = 32
SETTLED_AT = 5
"""What a process holds is settled after one part in so many of the turns: connections, statements and caches are there."""
MOST_GROWTH = 16
"""MiB that a process may hold more when the rest has come: a turn that stayed in memory would be several KiB in each of three."""
WITHIN = 1200.0


@pytest.mark.requirement("C2", "O3")
async def test_a_thousand_turns_at_once_complete_each_once(loaded: World) -> None:
    """None is lost and none answered twice, and both loops did their part."""
    world = loaded
    async with asyncio.timeout(WITHIN), world.browser(world.company["mia"]) as mia:
        mia.patience = WITHIN
        sending = asyncio.Semaphore(SENDERS)

        async def send() -> str:
            async with sending:
                return await scenes.start_turn(world, mia, "hello")

        sent = await asyncio.gather(*(send() for _ in range(AT_ONCE)))
        await until(lambda: ended(world, AT_ONCE), within=WITHIN)
        await scenes.at_rest(world)
    assert len(set(sent)) == AT_ONCE
    assert (
        await world.db.fetchval("SELECT count(*) FROM turns WHERE state = 'completed' AND id = ANY($1::uuid[])", sent) == AT_ONCE
    )
    answers = "SELECT count(*) FROM messages WHERE step IS NOT NULL AND text = 'Hello there, and welcome.'"
    assert await world.db.fetchval(answers) == AT_ONCE
    assert len(await world.model.requests()) == AT_ONCE
    await assert_invariants(world.db)


async def ended(world: World, count: int) -> bool:
    return bool(await world.db.fetchval("SELECT count(*) >= $1 FROM turns WHERE settled_at IS NOT NULL", count))


@pytest.mark.requirement("C3")
async def test_turns_that_wait_for_a_person_cost_rows_only(loaded: World) -> None:
    """Ten thousand of them leave no process larger than two thousand did, and each still goes on when it is answered."""
    world = loaded
    async with asyncio.timeout(WITHIN), world.browser(world.company["mia"]) as mia:
        mia.patience = WITHIN
        first = await park(world, mia, PARKED // SETTLED_AT)
        before = memory(world)
        rest = await park(world, mia, PARKED - len(first))
        after = memory(world)
        growth = {name: round(after[name] - before[name], 1) for name in before}
        print(f"{PARKED} turns wait; MiB more than at {len(first)}: {growth}")
        assert {name: more for name, more in growth.items() if more > MOST_GROWTH} == {}
        for turn_id in (first[0], first[-1], rest[0], rest[-1]):
            [question_id] = (await mia.get(f"/v1/turns/{turn_id}"))["questions"]
            await mia.post(f"/v1/questions/{question_id}/answer", {"answer": "no"})
            assert (await scenes.turn_once(mia, turn_id, "completed"))["answer"]
        await scenes.at_rest(world)


async def park(world: World, mia: Patient, count: int) -> list[str]:
    """So many turns more that wait for their user's answer."""
    waiting = await world.db.fetchval("SELECT count(*) FROM turns WHERE state = 'waiting'")
    sending = asyncio.Semaphore(SENDERS)

    async def send() -> str:
        async with sending:
            return await scenes.start_turn(world, mia, "shall you")

    sent = await asyncio.gather(*(send() for _ in range(count)))

    async def parked() -> bool:
        return bool(await world.db.fetchval("SELECT count(*) = $1 FROM turns WHERE state = 'waiting'", waiting + count))

    await until(parked, within=WITHIN)
    return sent


def memory(world: World) -> dict[str, float]:
    """What each service's process holds, in MiB."""
    return {name: psutil.Process(service.pid).memory_info().rss / (1 << 20) for name, service in world.stack.services.items()}
