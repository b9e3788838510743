"""Who watches a turn while processes die: every word once, and a mark where a step is begun again."""

import asyncio
from collections import defaultdict
from uuid import UUID

import httpx2
import pytest
from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.invariants import assert_invariants
from askbus.testing.patient import Patient
from askbus.testing.streams import Event, events
from askbus.testing.waiting import until

pytestmark = [pytest.mark.xdist_group("stack"), pytest.mark.requirement("C25")]

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


@pytest.mark.parametrize("victim", ["agent-loop", "gateway"])
async def test_a_watcher_hears_every_word_once_whoever_dies(world: World, victim: str) -> None:
    """kill -9 in the middle of the model's answer. A loop's death begins the step anew, which is marked; a gateway's costs nothing."""
    await world.stack.wait_ready()
    held = sum("held" in request.states for request in await world.model.requests())
    async with asyncio.timeout(scenes.WITHIN), world.browser(world.company["mia"]) as mia:
        turn_id = await scenes.start_turn(world, mia, "hold on")
        watching = Watching(mia, turn_id)
        to_the_end = asyncio.create_task(watching.to_the_end())
        await watching.heard("first")
        await world.service(victim).kill()
        if victim == "agent-loop":
            await world.model.until("held", held + 2, timeout=scenes.UNATTENDED)
            await world.model.release("faults")
        else:
            await world.service(victim).wait_ready()
        await world.model.release("faults")
        await to_the_end
        await scenes.at_rest(world)
    ids = [event.id for event in watching.seen if event.id is not None]
    assert len(ids) == len(set(ids))
    *lost, last = sorted(watching.attempts())
    assert watching.attempts()[last] == SAID
    assert watching.seen[-1].data["answer"] == SAID
    if victim == "gateway":
        assert (lost, watching.connections) == ([], 2)
    else:
        assert [watching.attempts()[attempt] for attempt in lost] == ["first "]
        begun = [event.name for event in watching.seen if event.name in {"step", "delta"} and event.data["attempt"] == last[1]]
        assert begun[0] == "step"
        assert UUID(watching.seen[-1].data["id"]) == UUID(turn_id)
    await assert_invariants(world.db)
