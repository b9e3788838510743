"""Who watches a turn while processes die: every word once, and a mark where a step is begun again."""

import asyncio
from collections import defaultdict

import httpx2
import pytest
from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.patient import Patient
from askbus.testing.streams import Event, events
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("C25")

SAID = "first second third"


class Watching:
    """A client as a browser is: it comes back with the last id it saw, until the stream is done."""

    def __init__(self, client: Patient, turn_id: str) -> None:
        self.client = client
        self.turn_id = turn_id
        self.seen: list[Event] = []
        self.connections = 0

    async def to_the_end(self) -> None:
        while not self.seen or self.seen[-1].name != "done":
            await self._once()

    async def _once(self) -> None:
        ids = [event.id for event in self.seen if event.id is not None]
        headers = {"last-event-id": ids[-1]} if ids else {}
        try:
            async with self.client.http.stream("GET", f"/v1/turns/{self.turn_id}/events", headers=headers) as response:
                if response.status_code == 200:
                    self.connections += 1
                    async for event in events(response):
                        self.seen.append(event)
        except httpx2.TransportError:
            await asyncio.sleep(0)  # the gateway is away, and comes back

    async def heard(self, text: str) -> None:
        """Returns once a delta with `text` has come."""

        async def there() -> bool:
            return any(event.name == "delta" and text in event.data["text"] for event in self.seen)

        await until(there, within=scenes.UNATTENDED)

    def attempts(self) -> dict[tuple[int, int], str]:
        """The text of each attempt at a step."""
        texts: defaultdict[tuple[int, int], str] = defaultdict(str)
        for event in self.seen:
            if event.name in {"delta", "reset"}:
                where = (event.data["step"], event.data["attempt"])
                texts[where] = event.data["text"] if event.name == "reset" else texts[where] + event.data["text"]
        return dict(texts)


async def test_a_gateways_death_costs_its_watchers_nothing(world: World) -> None:
    """kill -9 in the middle of the model's answer: the client comes back and hears the rest, once."""
    await world.stack.wait_ready()
    async with asyncio.timeout(scenes.WITHIN), world.browser(world.company["mia"]) as mia:
        watching, to_the_end = await watch(world, mia, "hold me while the gateway dies")
        await world.service("gateway").kill()
        await world.service("gateway").wait_ready()
        await world.model.release("hold me while the gateway dies")
        await to_the_end
        await scenes.at_rest(world)
    assert watching.connections >= 2
    assert_heard_once(watching)


async def test_a_step_that_is_begun_anew_is_marked_for_its_watchers(world: World) -> None:
    """kill -9 of the loop in the middle of the model's answer: what the dead attempt said is told apart from what counts."""
    await world.stack.wait_ready()
    async with asyncio.timeout(scenes.WITHIN), world.browser(world.company["mia"]) as mia:
        watching, to_the_end = await watch(world, mia, "hold me while the loop dies")
        await world.service("agent-loop").kill()
        await world.model.release("hold me while the loop dies")
        await to_the_end
        await scenes.at_rest(world)
    assert_heard_once(watching)
    dead, *_, last = sorted(watching.attempts())
    assert watching.attempts()[dead] == "first "
    assert dead < last
    assert SAID.startswith(watching.attempts()[dead])
    of_the_last = [event.name for event in watching.seen if event.id is not None and event.data["attempt"] == last[1]]
    assert of_the_last[0] == "step"


async def watch(world: World, mia: Patient, said: str) -> tuple[Watching, "asyncio.Task[None]"]:
    """A turn whose model has said its first word and holds, and somebody who has heard it."""
    watching = Watching(mia, await scenes.start_turn(world, mia, said))
    to_the_end = asyncio.create_task(watching.to_the_end())
    await watching.heard("first")
    return watching, to_the_end


def assert_heard_once(watching: Watching) -> None:
    """No event twice, and the whole answer in its last attempt and at the end."""
    ids = [event.id for event in watching.seen if event.id is not None]
    assert len(ids) == len(set(ids))
    last = max(watching.attempts())
    assert watching.attempts()[last] == SAID
    assert watching.seen[-1].data["answer"] == SAID
