"""What the hub writes to many streams while they come, stall, end and get other rights between two slices of it."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.idle_hub import idle_hub, session, snapshot

from askbus.feed.model import Change
from askbus_gateway.sse import hub as hubs
from askbus_gateway.sse.rules import RULES, Viewer
from askbus_gateway.sse.stream import LAST_CHUNK, MOST_BUFFERED, Stream

WORKSPACE = uuid4()
VIEWERS = [Viewer(uuid4(), WORKSPACE, everywhere=True, follows=frozenset(RULES)) for _ in range(2)]
STREAMS, BATCHES = 6, 6


class Wire(asyncio.Transport):
    """Notes what is written; says, where it was told to, that it is full: then it holds one write more, and that is too much."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self.stream = stream
        self.log: list[object] = []
        """Changes by their transactions, states by what they cover, and other words."""
        self.fills = False
        self.held: int | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        text = bytes(data)
        if b"event: changes" in text:
            event = json.loads(text.partition(b"data: ")[2].split(b"\n")[0])
            self.log += [UUID(change["id"]).int for change in event]
        else:
            self.log.append("end" if text == LAST_CHUNK else "beat")
        if self.held is not None:
            self.held += 1
            assert self.held == 1 or text == LAST_CHUNK, "nothing bounds what is held"
        elif self.fills:
            self.fills, self.held = False, 0
            self.stream.pause_writing()

    def get_write_buffer_size(self) -> int:
        return MOST_BUFFERED + 1 if self.held else 0

    def close(self) -> None:
        """Everything was sent."""

    def abort(self) -> None:
        self.log.append("end")


class Feed:
    """A hub without a database: a stream's state is whatever the feed has reached."""

    def __init__(self) -> None:
        self.hub = idle_hub()
        self.reached = 0
        self.streams: list[Stream] = []
        self.wires: list[Wire] = []

    def come(self, number: int) -> None:
        principal = session(WORKSPACE)
        stream = Stream(principal, None, self.hub)
        stream.viewer = VIEWERS[number % len(VIEWERS)]
        wire = Wire(stream)
        stream.transport = wire
        self.streams.append(stream)
        self.wires.append(wire)
        self.hub.set_apart(stream)
        self.brought(len(self.streams) - 1)

    def pushed(self, number: int) -> None:
        """Its rights changed: until its state was read, what comes is kept aside."""
        if not self.streams[number].ended:
            self.hub.set_apart(self.streams[number])
            self.streams[number].pause()
            self.wires[number].log.append("waits")

    def brought(self, number: int) -> None:
        stream = self.streams[number]
        if stream.seen is None and not stream.ended:
            self.wires[number].log.append(("state", self.reached))
            stream.begin("e", snapshot(self.reached))

    def fills(self, number: int) -> None:
        self.wires[number].fills = True

    def reads(self, number: int) -> None:
        wire = self.wires[number]
        if wire.held is not None and not self.streams[number].ended:
            wire.held = None
            self.streams[number].resume_writing()

    def stalls(self, number: int) -> None:
        """By a heartbeat, so between two changes."""
        self.fills(number)
        self.streams[number].beat(0)

    def ends(self, number: int) -> None:
        self.streams[number].end()

    def goes(self, number: int) -> None:
        self.wires[number].log.append("end")
        self.streams[number].connection_lost(None)

    async def commit(self) -> None:
        self.reached += 1
        change = Change(
            self.reached, self.reached, "question.asked", "question", UUID(int=self.reached), "open", WORKSPACE, uuid4()
        )
        await self.hub.deliver(snapshot(self.reached), [change])


def judge(log: list[object], reached: int | None) -> None:
    """What a stream was sent, by the feed's order: each change after its state, nothing while it waits, nothing after its end."""
    has: int | None = None
    over = False
    for word in log:
        if word == "end":
            over = True
        elif over:
            raise AssertionError(f"{word} after the end")
        elif word == "waits":
            has = None
        elif isinstance(word, tuple):
            has = word[1]
        elif isinstance(word, int):
            assert has is not None, "told with the rights that it had before"
            assert word == has + 1, "each change once, in order"
            has = word
    if reached is not None:
        assert has == reached, "nothing is owed to it"


MOVES: list[Callable[[Feed, int], None]] = [
    Feed.pushed, Feed.brought, Feed.fills, Feed.reads, Feed.stalls, Feed.ends, Feed.goes, lambda feed, number: feed.come(number)
]  # fmt: skip


@pytest.mark.requirement("S4", "S6")
@settings(deadline=None)
@given(moves=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(range(len(MOVES))), st.integers(0, STREAMS - 1)), max_size=40))
def test_each_stream_is_told_each_change_once_whatever_moves_between_two_slices(moves: list[tuple[int, int, int]]) -> None:
    """Between any two slices streams come, fill up, read on, get other rights, end or go away: who stays is told all, in order, once."""

    async def run() -> None:
        feed = Feed()
        for number in range(STREAMS):
            feed.come(number)

        async def move() -> None:
            for turns, which, number in moves:
                for _ in range(turns):
                    await asyncio.sleep(0)
                MOVES[which](feed, number)

        moving = asyncio.create_task(move())
        for _ in range(BATCHES):
            await feed.commit()
        await moving
        for number in range(len(feed.streams)):
            feed.brought(number)
        await feed.commit()
        for number, stream in enumerate(feed.streams):
            judge(feed.wires[number].log, None if stream.ended else feed.reached)
        assert set(feed.hub._all()) <= set(feed.streams)
        assert {stream for stream in feed.hub._all() if stream.transport is None} == set(), "who went away is not kept"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hubs, "SLICE", 2)
        asyncio.run(run())


@pytest.mark.requirement("S6", "O2")
async def test_a_stream_that_had_ended_keeps_the_process_no_longer_than_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its age, say, and its client does not read the end: it is cut off with those that end now."""
    monkeypatch.setattr(hubs, "LAST_WORDS", 0.01)
    feed = Feed()
    for number in range(2):
        feed.come(number)
        monkeypatch.setattr(feed.wires[number], "abort", partial(feed.streams[number].connection_lost, None))
    feed.ends(0)
    async with asyncio.timeout(2):
        await feed.hub.close()
    assert [wire.log.count("end") for wire in feed.wires] == [1, 1]


@pytest.mark.requirement("S2", "S8")
async def test_the_end_of_a_session_waits_for_nobody_whose_rights_are_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both in one batch, and the database does not answer: the stream of the ended session is over, the other is told nothing meanwhile."""
    feed = Feed()
    feed.come(0)
    feed.come(1)
    moved, over = (stream.principal for stream in feed.streams)
    reading = asyncio.Event()

    async def never(*_: object) -> None:
        reading.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(feed.hub.catch_up, "opening", never)
    news = [
        Change(1, 1, "membership.changed", "membership", uuid4(), "removed", WORKSPACE, None, moved.user_id),
        Change(2, 1, "session.ended", "session", over.id, "ended", WORKSPACE, None, over.user_id),
        Change(3, 1, "question.asked", "question", UUID(int=1), "open", WORKSPACE, uuid4()),
    ]
    delivering = asyncio.create_task(feed.hub.deliver(snapshot(1), news))
    await reading.wait()
    assert feed.wires[1].log[-1] == "end"
    assert feed.wires[0].log == [("state", 0)]
    delivering.cancel()
