"""How an event is written, and what a stream holds for a client that does not read."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.feed.model import Change, EventId, Snapshot
from askbus.models.sse import EventStreamParser
from askbus_gateway.sse.stream import HEARTBEAT, MOST_BUFFERED, Batch, Stream, frame

CASE = json.loads((Path(__file__).parents[1] / "cases" / "sse" / "S11.json").read_text("utf-8"))
PROJECT, WORKSPACE = uuid4(), uuid4()


def session() -> Principal:
    return Principal(
        kind=PrincipalKind.SESSION,
        id=uuid4(),
        user_id=uuid4(),
        workspace_id=WORKSPACE,
        role=Role.MEMBER,
        scopes=frozenset(Scope),
    )


def change(seq: int, xid: int) -> Change:
    return Change(seq, xid, "question.asked", "question", uuid4(), "open", WORKSPACE, PROJECT)


class Client:
    """A stream that is up to date, and how often its connection was cut."""

    def __init__(self) -> None:
        self.cuts = 0
        self.stream = Stream(session(), None, self._cut)
        self.stream.act_for(self.stream.principal, frozenset({PROJECT}))
        self.parser = EventStreamParser()

    def _cut(self) -> None:
        self.cuts += 1

    async def ids(self) -> list[str]:
        """The changed entities, as the client reads them now."""
        data = await self.stream.next(0.001)
        return [change["id"] for event in self.parser.feed(data or b"") for change in json.loads(event.data)]


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
    assert await client.ids() == []
    client.stream.begin("e", Snapshot(11, 13, frozenset({11, 12})))
    client.stream.offer(Batch(Snapshot(13, 13, frozenset()), [last]))
    assert await client.ids() == [str(late.entity_id), str(last.entity_id)]


@pytest.mark.requirement("S6")
async def test_a_client_that_does_not_read_is_cut_off_at_a_bound() -> None:
    """A bounded amount is held for it, then its connection is cut; nothing more is queued."""
    client = Client()
    client.stream.begin("e", Snapshot(1, 1, frozenset()))
    offered = 0
    while not client.cuts:
        offered += 1
        client.stream.offer(Batch(Snapshot(2, 2, frozenset()), [change(n, 1) for n in range(20)]))
        assert offered < 100
    client.stream.offer(Batch(Snapshot(2, 2, frozenset()), [change(1, 1)]))
    held = await client.stream.next(0.001)
    assert held is not None
    assert len(held) <= MOST_BUFFERED
    assert client.cuts == 1
    assert await client.stream.next(0.001) is None


@pytest.mark.requirement("S6")
async def test_a_large_state_does_not_cut_its_client_off() -> None:
    """However much there is to show at the start, and whatever follows it at once."""
    client = Client()
    client.stream.write_whole(frame("state", {"entities": ["x" * 100] * 10_000}, "e.1:1:"))
    client.stream.begin("e", Snapshot(1, 1, frozenset()))
    client.stream.offer(Batch(Snapshot(2, 2, frozenset()), [change(1, 1)]))
    assert client.cuts == 0
    data = await client.stream.next(0.001)
    assert [event.event for event in client.parser.feed(data or b"")] == ["state", "changes"]


@pytest.mark.requirement("S4")
async def test_the_id_of_a_batch_is_the_readers_position() -> None:
    """So that a client that comes back with it has missed just what came after that batch."""
    client = Client()
    client.stream.begin("e", Snapshot(5, 5, frozenset()))
    reached = Snapshot(7, 9, frozenset({7}))
    client.stream.offer(Batch(reached, [change(1, 8)]))
    data = await client.stream.next(0.001)
    assert [event.last_event_id for event in client.parser.feed(data or b"")] == [str(EventId("e", reached))]


@pytest.mark.requirement("S5")
async def test_an_idle_stream_shows_life_with_a_comment_that_carries_no_id() -> None:
    """A heartbeat fires nothing and moves no position."""
    client = Client()
    assert await client.stream.next(0.001) == HEARTBEAT
    assert client.parser.feed(HEARTBEAT) == []
    assert b"id:" not in HEARTBEAT
