"""The action-applier is killed before and after every statement that it sends while it applies, fails and undoes: once, all the same."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

import pytest
from tests.records.applying import BOOKED, Booking, Nursery, Point, Step, killed_at, nursery

from askbus.bus.connection import connect
from askbus.bus.provision import provision
from askbus.db.pool import open_pool
from askbus.records.engine import open_records
from askbus.records.ledger import prepare_ledger
from askbus.testing.invariants import assert_invariants
from askbus.testing.people import found_company
from askbus.testing.postgres_proxy import Heard, Moment, PostgresProxy
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server, TestDatabase

pytestmark = [pytest.mark.requirement("R15", "R16", "R17", "C2")]

RECORDS = "askbus records"
"""What the sessions on the records' database are called."""
STORIES = ("applied", "failed", "undone")
SOME = 3
"""How many points a short run adds to the COMMITs."""
TRIES = 5
"""How often a statement of askbus's own database is waited for: which wake-up is first, and so what is said, differs."""


class Scene:
    """The stories, each over and over: without a death to hear what is said, then with one at each of these points."""

    def __init__(self, booking: Booking, proxy: PostgresProxy, child: Nursery) -> None:
        self.booking, self.proxy, self.child = booking, proxy, child
        self.changed = 0
        self.note = "first"

    async def tell(self, story: str, point: Point | None = None, *, cold: bool = False) -> bool:
        """Whether the process died at `point`. However that was, the story is true in the end, once."""
        if story == "undone":
            return await self._undone(point, cold=cold)
        failing = story == "failed"
        note = f"{'never' if failing else 'note'} {next(self.booking.number)}"
        action = await self.booking.pending(note)
        died = await self._told(action, note, story, lambda: self.booking.confirm(action), point, cold=cold)
        found = await self.booking.found(action, note)
        if failing:
            assert found == (False, self.changed, 0, [("apply", "failed")], ["action.failed"]), point
            return died
        self.changed, self.note = self.changed + 1, note
        assert found == (True, self.changed, 1, [("apply", "applied")], ["action.applied"]), point
        return died

    async def _undone(self, point: Point | None, *, cold: bool) -> bool:
        before, note = self.note, f"note {next(self.booking.number)}"
        action = await self.booking.pending(note)
        await self.booking.confirm(action)
        await self.booking.ends(action, "applied")
        died = await self._told(action, note, "undone", lambda: self.booking.undo(action), point, cold=cold)
        self.changed += 2
        found = await self.booking.found(action, before)
        ledger = [("apply", "applied"), ("undo", "undone")]
        assert found == (True, self.changed, int(before != "first"), ledger, ["action.applied", "action.undone"]), point
        assert await self.booking.team.value(f"SELECT count(*) FROM guests WHERE name = '{note}'") == 0
        return died

    async def _told(self, action: UUID, note: str, state: str, begin: Step, point: Point | None, *, cold: bool) -> bool:
        async def look() -> None:
            assert await self.booking.is_whole(action, note), point

        async def end() -> None:
            await self.booking.ends(action, state)

        return await killed_at(self.proxy, self.child, point, begin, look, end, cold=cold)

    async def points(self, *, cold: bool) -> list[Point]:
        """Every statement of every story, in the order in which they are sent; with `cold` also those of a process that begins."""
        found: list[Point] = []
        for story in STORIES:
            warm = await self._heard(story, cold=False)
            said = {heard.sql for heard in warm}
            new = [heard for heard in await self._heard(story, cold=True) if heard.sql not in said] if cold else []
            found += [Point(story, heard, moment, cold=False) for heard in warm for moment in Moment]
            found += [Point(story, heard, moment, cold=True) for heard in new for moment in Moment]
        return found

    async def _heard(self, story: str, *, cold: bool) -> list[Heard]:
        """What is said while the story is told. Of what sweeps and wake-ups repeat in askbus's own database, the first."""
        await self.tell(story, cold=cold)
        return [one for one in self.proxy.heard if one.session == RECORDS or one.nth == 1]

    async def die_at(self, points: Iterable[Point]) -> list[Point]:
        """Tells each point's story with the death there; the points that the process did not come to."""
        missed = []
        for point in points:
            for _ in range(TRIES):
                if await self.tell(point.story, point, cold=point.cold):
                    break
            else:
                missed.append(point)
        return missed


PLACES = ("another database", "askbus's own database")


@pytest.fixture(params=PLACES)
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: Server, database: TestDatabase, nats_server: Server
) -> AsyncIterator[Scene]:
    """The booking's records there, and an action-applier over them."""
    async with AsyncExitStack() as stack:
        if request.param == PLACES[0]:
            team = await stack.enter_async_context(team_database(postgres_server.url))
        else:
            team = TeamDatabase(database.url)
            await prepare_ledger(team.url)
        await team.run(BOOKED)
        await provision(nats_server.url, ack_wait=1)
        pool = await stack.enter_async_context(open_pool(database.url, size=4, name="tests"))
        records = open_records(team.url)
        stack.push_async_callback(records.dispose)
        proxy = await stack.enter_async_context(PostgresProxy(postgres_server.url).serving())
        child = await stack.enter_async_context(nursery(proxy, database, team.url, nats_server.url, tmp_path / "applier.log"))
        await child.start()
        nc = await connect(nats_server.url, "tests")
        stack.push_async_callback(nc.close)
        made = Scene(Booking(pool, await found_company(pool), records, team, nc), proxy, child)
        await made.tell("applied")
        yield made
        await assert_invariants(pool)


async def test_a_kill_at_a_commit_changes_nothing_in_the_end(scene: Scene) -> None:
    """Before and after each in the records; and at some of all the other statements."""
    points = await scene.points(cold=False)
    commits = [one for one in points if one.at.session == RECORDS and one.at.sql == "COMMIT;"]
    assert {one.story for one in commits} == set(STORIES)
    assert not await scene.die_at(commits)
    await scene.die_at(points[:: len(points) // SOME])


@pytest.mark.drill
async def test_a_kill_at_any_statement_changes_nothing_in_the_end(scene: Scene) -> None:
    """Before it reached the server and after it was carried out, in the records and in askbus's own database."""
    points = await scene.points(cold=True)
    missed = await scene.die_at(points)
    assert not [point for point in missed if point.at.session == RECORDS]
    assert len(missed) < len(points) // 10
