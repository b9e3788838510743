"""Postgres and NATS killed and started again, and a worker that freezes instead of dying."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.invariants import assert_invariants
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("C2", "O2", "O3")


async def restart(world: World, server: str) -> None:
    """kill -9 of Postgres or NATS, then the same data on the same port."""
    found = world.stack.servers[server]
    await found.kill()
    await found.restart()


@pytest.mark.parametrize("server", ["postgres", "nats"])
@pytest.mark.parametrize("scene", [scenes.a_turn_changes_a_record, scenes.an_agent_asks], ids=["turn", "questions"])
async def test_a_story_survives_the_death_of_a_server_in_the_middle_of_it(
    world: World, server: str, scene: Callable[[World], Awaitable[None]]
) -> None:
    """The server dies while three of the stories are under way; all of them end well, and every service is ready again."""
    await world.stack.wait_ready()
    async with asyncio.timeout(scenes.WITHIN):
        stories = asyncio.gather(*(scene(world) for _ in range(3)))
        rows = await world.db.fetchval("SELECT count(*) FROM change_log")
        await until(lambda: has_more_changes_than(world, rows + 3))
        await restart(world, server)
        await stories
        await scenes.at_rest(world)
    await world.stack.wait_ready()
    await assert_invariants(world.db)


async def has_more_changes_than(world: World, rows: int) -> bool:
    return bool(await world.db.fetchval("SELECT count(*) > $1 FROM change_log", rows))


@pytest.mark.requirement("C25")
async def test_a_stream_survives_the_death_of_nats(world: World) -> None:
    """NATS comes back without its memory; whoever watches gets what was said so far, and the end."""
    async with world.browser(world.company["mia"]) as mia:
        turn_id = await scenes.start_turn(world, mia, "hold on")
        await world.model.until("held")
        await restart(world, "nats")
        await world.stack.wait_ready()
        await world.model.release("hold on")
        assert (await scenes.turn_once(mia, turn_id, "completed"))["answer"] == "first second third"
        async with mia.http.stream("GET", f"/v1/turns/{turn_id}/events") as response:
            text = "".join([chunk async for chunk in response.aiter_text()])
    assert "first second third" in text
    assert "event: done" in text


@pytest.mark.requirement("C2", "C25")
async def test_a_frozen_worker_loses_its_step_and_changes_nothing_when_it_wakes(two_loops: World) -> None:
    """SIGSTOP in the middle of a model call: the other loop takes the step over, the sleeper's late answer is not recorded."""
    world = two_loops
    async with world.browser(world.company["mia"]) as mia:
        turn_id = await scenes.start_turn(world, mia, "hold on")
        await world.model.until("held")
        holder = await world.db.fetchrow("SELECT holder, attempt FROM turns WHERE id = $1", turn_id)
        assert holder is not None
        frozen = await freeze_the_holder(world, turn_id)
        await world.model.until("held", 2)
        taken = await world.db.fetchrow("SELECT holder, attempt FROM turns WHERE id = $1", turn_id)
        assert taken is not None
        assert taken["holder"] != holder["holder"]
        assert taken["attempt"] > holder["attempt"]
        await world.model.release("hold on")
        turn = await scenes.turn_once(mia, turn_id, "completed")
        world.service(frozen).thaw()
        await world.service(frozen).wait_ready()
        assert turn["answer"] == "first second third"
        again = await mia.get(f"/v1/turns/{turn_id}")
        assert {**again, "usage": None} == {**turn, "usage": None}
        assert again["usage"]["calls"] == turn["usage"]["calls"] == 2  # what the late one cost may be told by now
        await scenes.at_rest(world)
    await assert_invariants(world.db)


async def lease_is_over(world: World, turn_id: str) -> bool:
    return bool(await world.db.fetchval("SELECT lease_until < now() FROM turns WHERE id = $1", turn_id))


async def freeze_the_holder(world: World, turn_id: str) -> str:
    """Freezes the loops in turn until the lease of the step is not renewed any more; returns the one that held it."""
    for name in ("agent-loop", "agent-loop-2"):
        world.service(name).freeze()
        try:
            await until(lambda: lease_is_over(world, turn_id), within=3)
        except TimeoutError:
            world.service(name).thaw()
        else:
            return name
    raise AssertionError("nobody held the step")


@pytest.mark.requirement("O3")
async def test_work_is_shared_by_any_number_of_each_service(two_loops: World) -> None:
    """Twenty turns at once over two of each: all complete, and both agent-loops did some."""
    world = two_loops
    async with world.browser(world.company["mia"]) as mia:
        turns = await asyncio.gather(*(scenes.start_turn(world, mia, "hello") for _ in range(20)))
        await asyncio.gather(*(scenes.turn_once(mia, turn_id, "completed") for turn_id in turns))
        await scenes.at_rest(world)
    await assert_invariants(world.db)
