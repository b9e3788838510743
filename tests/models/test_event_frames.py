"""How an event is written, and what a stream holds for a client that does not read."""

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import pytest
from tests.models.idle_hub import session

from askbus.feed.model import Change, EventId, Snapshot
from askbus.models.sse import EventStreamParser, ServerSentEvent
from askbus_gateway.sse.audience import Audience
from askbus_gateway.sse.rules import RULES, Viewer
from askbus_gateway.sse.stream import HEARTBEAT, MOST_BUFFERED, Batch, Stream, frame

CASE = json.loads((Path(__file__).parents[1] / "cases" / "sse" / "S11.json").read_text("utf-8"))
PROJECT, WORKSPACE = uuid4(), uuid4()


def change(seq: int, xid: int) -> Change:
    return Change(seq, xid, "question.asked", "question", uuid4(), "open", WORKSPACE, PROJECT)


class Wire(asyncio.Transport):
    """A transport whose reader takes what it is given, or nothing at all: what the protocol is told of it is what asyncio tells."""

    def __init__(self, protocol: asyncio.Protocol, *, reads: bool) -> None:
        super().__init__()
        self.protocol = protocol
        self.reads = reads
        self.sent = b""
        self.held = 0
        self.aborted = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data
        if not self.reads:
            low, self.held = self.held, self.held + len(data)
            if low <= MOST_BUFFERED < self.held:
                self.protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self.held

    def abort(self) -> None:
        self.aborted += 1


class Client:
    """A stream that is up to date, and what came of it over the wire."""

    def __init__(self, *, reads: bool = True) -> None:
        self.stream = Stream(session(WORKSPACE), None, Audience())
        self.stream.act_for(self.stream.principal, Viewer(uuid4(), WORKSPACE, frozenset({PROJECT}), follows=frozenset(RULES)))
        self.wire = self.stream.transport = Wire(self.stream, reads=reads)
        self.parser = EventStreamParser()

    @property
    def cuts(self) -> int:
        return self.wire.aborted

    def events(self) -> list[ServerSentEvent]:
        """The events since the last look."""
        sent, self.wire.sent = self.wire.sent, b""
        data = b""
        while sent:
            size, _, sent = sent.partition(b"\r\n")
            data, sent = data + sent[: int(size, 16)], sent[int(size, 16) + 2 :]
        return self.parser.feed(data)

    def ids(self) -> list[str]:
        """The changed entities, as the client reads them now."""
        return [change["id"] for event in self.events() for change in json.loads(event.data)]


@pytest.mark.requirement("S5")
@pytest.mark.parametrize("payload", CASE["payloads"])
def test_no_payload_forges_a_field_or_loses_a_character(payload: str) -> None:
    """Case S11: JSON on one line, framed by LF alone; what a parser by the standard rebuilds is the payload."""
    data = frame("changes", {"said": payload}, "a1.5:5:")
    assert b"\r" not in data
    assert data.count(b"\n") == 4
    events = EventStreamParser().feed(HEARTBEAT + data + HEARTBEAT)
    assert [(event.event, event.last_event_id, json.loads(event.data)) for event in events] == [
        ("changes", "a1.5:5:", {"said": payload})
    ]


@pytest.mark.requirement("S3", "S4")
async def test_what_comes_while_a_client_is_brought_up_to_date_follows_once() -> None:
    """Batches are kept aside; what its state covers is dropped, the rest is sent in order."""
    client = Client()
    early, late, last = change(1, 10), change(2, 12), change(3, 11)
    client.stream.offer(Batch(Snapshot(11, 11, frozenset()), [early]))
    client.stream.offer(Batch(Snapshot(11, 13, frozenset({11})), [late]))
    assert client.ids() == []
    client.stream.begin("e", Snapshot(11, 13, frozenset({11, 12})))
    client.stream.offer(Batch(Snapshot(13, 13, frozenset()), [last]))
    assert client.ids() == [str(late.entity_id), str(last.entity_id)]


@pytest.mark.requirement("S6")
async def test_a_client_that_does_not_read_is_cut_off_at_a_bound() -> None:
    """A bounded amount is held for it, then its connection is cut; nothing more is queued."""
    client = Client(reads=False)
    client.stream.begin("e", Snapshot(1, 1, frozenset()))
    offered = 0
    while not client.cuts:
        offered += 1
        client.stream.offer(Batch(Snapshot(2, 2, frozenset()), [change(n, 1) for n in range(20)]))
        assert offered < 100
    held = client.wire.held
    assert held <= MOST_BUFFERED + held / offered
    client.stream.offer(Batch(Snapshot(2, 2, frozenset()), [change(1, 1)]))
    assert (client.cuts, client.wire.held) == (1, held)


@pytest.mark.requirement("S6")
async def test_a_large_state_does_not_cut_its_client_off() -> None:
    """However much there is to show at the start, and whatever follows it at once."""
    client = Client(reads=False)
    client.stream.write_whole(frame("state", {"entities": ["x" * 100] * 10_000}, "e.1:1:"))
    client.stream.begin("e", Snapshot(1, 1, frozenset()))
    client.stream.offer(Batch(Snapshot(2, 2, frozenset()), [change(1, 1)]))
    assert client.cuts == 0
    assert [event.event for event in client.events()] == ["state", "changes"]


@pytest.mark.requirement("S6")
async def test_who_does_not_read_one_state_is_not_sent_another() -> None:
    """Each change of its rights brings a fresh state: a client that does not read would hold them all."""
    client = Client(reads=False)
    state = frame("state", {"entities": ["x" * 100] * 10_000}, "e.1:1:")
    client.stream.write_whole(state)
    held = client.wire.held
    client.stream.pause()
    client.stream.write_whole(state)
    assert (client.cuts, client.wire.held, client.stream.ended) == (1, held, True)


@pytest.mark.requirement("S4")
async def test_the_id_of_a_batch_is_the_readers_position() -> None:
    """So that a client that comes back with it has missed just what came after that batch."""
    client = Client()
    client.stream.begin("e", Snapshot(5, 5, frozenset()))
    reached = Snapshot(7, 9, frozenset({7}))
    client.stream.offer(Batch(reached, [change(1, 8)]))
    assert [event.last_event_id for event in client.events()] == [str(EventId("e", reached))]


@pytest.mark.requirement("S5")
async def test_an_idle_stream_shows_life_with_a_comment_that_carries_no_id() -> None:
    """A heartbeat fires nothing and moves no position."""
    client = Client()
    client.stream.beat(0)
    assert client.wire.sent == b"%x\r\n%b\r\n" % (len(HEARTBEAT), HEARTBEAT)
    assert client.events() == []
    assert b"id:" not in HEARTBEAT
