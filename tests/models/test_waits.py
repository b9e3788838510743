"""Waiting as such: when it reads, when it ends, what it leaves behind."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal, PrincipalKind, Role, Sought
from askbus.errors import AskbusError, NotFound
from askbus.feed.model import Change
from askbus.testing.waiting import until
from askbus_gateway.sse.waits import SLICE, Awaited, Waits

pytestmark = pytest.mark.requirement("Q2")

ENTITY = uuid4()
SOMEBODY = Principal(
    kind=PrincipalKind.SESSION, id=uuid4(), user_id=uuid4(), workspace_id=uuid4(), role=Role.MEMBER, scopes=frozenset()
)


class Thing:
    """Something that is read, and done when it is told so."""

    def __init__(self, ends: datetime | None = None) -> None:
        self.waits = Waits()
        self.ends = ends or datetime.now(UTC) + timedelta(hours=1)
        self.done = False
        self.reads = 0
        self.slices: list[int] = []
        self.awaited = Awaited[bool](self._read, done=lambda done: done, ends=lambda _done: self.ends)

    async def read(self) -> bool:
        self.reads += 1
        return self.done

    async def _read(self, sought: Sequence[Sought]) -> Sequence[bool]:
        self.slices.append(len(sought))
        return [await self.read()] * len(sought)

    async def wait(self, seconds: float, entity: UUID = ENTITY, by: Principal = SOMEBODY) -> bool:
        return await self.waits.until(self.awaited, by, entity, seconds)

    def has_read(self, times: int) -> Callable[[], "asyncio.Future[bool]"]:
        async def it_has() -> bool:
            return self.reads >= times

        return lambda: asyncio.ensure_future(it_has())

    def move(self, entity: UUID = ENTITY) -> None:
        self.waits.wake([Change(1, 1, "question.answered", "question", entity, "answered", uuid4())])


async def test_a_wait_reads_when_something_moved_and_not_otherwise() -> None:
    """Once at the start, once for each change of its entity; changes of others cost it nothing."""
    thing = Thing()
    call = asyncio.ensure_future(thing.wait(10))
    await until(thing.has_read(1))
    thing.move(uuid4())
    await asyncio.sleep(0)
    assert thing.reads == 1
    thing.move()
    await until(thing.has_read(2))
    assert not call.done()
    thing.done = True
    thing.move()
    assert await call is True
    assert (thing.reads, len(thing.waits)) == (3, 0)


async def test_ten_thousand_waits_are_read_by_slices() -> None:
    """Nobody is read before their turn comes, and everybody of a slice by one reading; those who see the same are read once."""
    thing = Thing()
    people = [SOMEBODY.model_copy(update={"id": uuid4()}) for _ in range(SLICE + 1)]
    calls = [asyncio.ensure_future(thing.wait(60, by=people[number % len(people)])) for number in range(10_000)]
    await until(thing.has_read(ceil(10_000 / SLICE)))
    assert len(thing.waits) == 10_000
    first, thing.slices = thing.slices, []
    assert (len(first), max(first)) == (ceil(10_000 / SLICE), SLICE)
    thing.done = True
    thing.move()
    assert await asyncio.gather(*calls) == [True] * 10_000
    assert (len(thing.slices), max(thing.slices) <= SLICE) == (len(first), True)
    assert len(thing.waits) == 0
    one = [asyncio.ensure_future(thing.wait(10, by=SOMEBODY)) for _ in range(100)]
    assert await asyncio.gather(*one) == [True] * 100
    assert thing.slices[len(first) :] == [1]


async def test_what_is_refused_to_one_is_told_to_the_others() -> None:
    """In the same reading."""
    thing = Thing()

    async def read(sought: Sequence[Sought]) -> Sequence[bool | AskbusError]:
        return [by is SOMEBODY or NotFound("gone") for by, _entity in sought]

    thing.awaited = Awaited(read, done=lambda done: done, ends=lambda _done: thing.ends)
    other = SOMEBODY.model_copy(update={"id": uuid4()})
    told, refused = await asyncio.gather(thing.wait(10), thing.wait(10, by=other), return_exceptions=True)
    assert (told, type(refused)) == (True, NotFound)


async def test_a_wait_without_time_reads_once() -> None:
    """And leaves nothing behind."""
    thing = Thing()
    assert await thing.wait(0) is False
    assert (thing.reads, len(thing.waits)) == (1, 0)


async def test_a_change_during_the_reading_is_not_missed() -> None:
    """The wait is there before the first read begins."""
    thing = Thing()
    reading, go_on = asyncio.Event(), asyncio.Event()

    async def slow_read() -> bool:
        done = await Thing.read(thing)
        reading.set()
        await go_on.wait()
        return done

    thing.read = slow_read  # type: ignore[method-assign]
    call = asyncio.ensure_future(thing.wait(10))
    await reading.wait()
    thing.done = True
    thing.move()
    go_on.set()
    assert await call is True


async def test_a_clock_that_is_ahead_of_the_databases_does_not_make_it_poll() -> None:
    """Past the end by this clock and still open in the database: it asks at growing intervals, for whatever skew."""
    thing = Thing(ends=datetime.now(UTC) - timedelta(hours=1))
    assert await thing.wait(0.8) is False
    assert 2 < thing.reads <= 7


async def test_the_end_by_time_alone_is_noticed() -> None:
    """Nothing moves; the row reads differently from a moment on."""
    thing = Thing(ends=datetime.now(UTC) + timedelta(seconds=0.2))
    call = asyncio.ensure_future(thing.wait(10))
    await until(thing.has_read(1))
    thing.done = True
    assert await asyncio.wait_for(call, 5) is True
    assert thing.reads == 2


async def test_a_failed_reading_ends_the_wait_with_its_error() -> None:
    """And frees what it held."""
    thing = Thing()

    async def gone() -> bool:
        raise LookupError("gone")

    thing.read = gone  # type: ignore[method-assign]
    with pytest.raises(LookupError):
        await thing.wait(10)
    assert len(thing.waits) == 0


async def test_a_stopping_process_lets_everybody_go() -> None:
    """Those who wait, and those who come after."""
    thing = Thing()
    call = asyncio.ensure_future(thing.wait(10))
    await until(thing.has_read(1))
    thing.waits.stop()
    assert await call is False
    assert await thing.wait(10) is False
    assert len(thing.waits) == 0


async def test_a_wait_that_is_cancelled_leaves_nothing() -> None:
    """Its client went away."""
    thing = Thing()
    call = asyncio.ensure_future(thing.wait(10))
    await until(thing.has_read(1))
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert len(thing.waits) == 0
