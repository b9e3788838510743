"""The long drill: 200 turns and 200 questions while every service is killed at random. `make drill` runs it, printing its seed."""

import asyncio
import os
import random

import pytest
from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.invariants import assert_invariants

pytestmark = pytest.mark.drill

TURNS = QUESTIONS = 200
AT_ONCE = 8
"""Stories of each kind that go on at the same time."""
BETWEEN_KILLS = (0.5, 3.0)


async def test_random_kills_lose_nothing_and_repeat_nothing(world: World) -> None:
    """Each story is patient as a real client is; whatever was killed when, all of them come true."""
    seed = int(os.environ.get("ASKBUS_DRILL_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    chance = random.Random(seed)
    done: dict[str, int] = {"turns": 0, "questions": 0}
    slots = {"turns": asyncio.Semaphore(AT_ONCE), "questions": asyncio.Semaphore(AT_ONCE)}

    async def play(kind: str) -> None:
        async with slots[kind]:
            if kind == "turns":
                await scenes.a_turn_is_answered(world)
            else:
                await scenes.a_question_is_answered(world)
            done[kind] += 1

    stories = asyncio.gather(*(play("turns") for _ in range(TURNS)), *(play("questions") for _ in range(QUESTIONS)))
    kills = 0
    while not stories.done():
        await asyncio.wait({stories}, timeout=chance.uniform(*BETWEEN_KILLS))
        name = chance.choice(sorted(world.stack.services))
        await world.service(name).kill()
        kills += 1
        print(f"{done['turns']:4} turns {done['questions']:4} questions   killed {name}")
    await stories
    await world.stack.wait_ready()
    async with asyncio.timeout(30):
        await scenes.at_rest(world)
    await assert_invariants(world.db)
    print(f"{kills} kills, nothing lost, nothing twice")
