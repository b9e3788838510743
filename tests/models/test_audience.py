"""Which streams a change concerns: found without looking at the others."""

import asyncio
from uuid import UUID, uuid4

import pytest
from tests.models.idle_hub import session

from askbus.feed.model import Change, Snapshot
from askbus_gateway.sse.audience import Audience
from askbus_gateway.sse.rules import RULES, Viewer
from askbus_gateway.sse.stream import Batch, Stream

WORKSPACE, NORTH, SOUTH, MIA, MAX, OWNER = (uuid4() for _ in range(6))


def stream(user: UUID, *projects: UUID, everywhere: bool = False) -> Stream:
    by = session(WORKSPACE, user=user)
    made = Stream(by, None, Audience())
    made.act_for(by, Viewer(user, WORKSPACE, frozenset(projects), everywhere=everywhere, follows=frozenset(RULES)))
    made.transport = asyncio.Transport()
    return made


def caught_up(audience: Audience, *streams: Stream) -> None:
    for one in streams:
        one.begin("e", Snapshot(1, 1, frozenset()))
        one.offer(Batch(Snapshot(1, 1, frozenset()), []))
        assert one.writable
    audience.settle()


def told(audience: Audience, *changes: Change) -> set[Stream]:
    """Who is told of them, or looked at by itself."""
    return {one for group, _wanted in audience.concerned(changes) for one in group.members.streams} | set(audience.apart)


def change(entity: str, project: UUID | None, user: UUID | None = None) -> Change:
    return Change(1, 1, f"{entity}.moved", entity, uuid4(), "open", WORKSPACE, project, user)


@pytest.mark.requirement("S2", "S6")
async def test_a_change_finds_those_who_see_it_and_everyone_who_is_behind() -> None:
    """By project, by user, and everywhere; who is not up to date yet is given all; who left is not found."""
    mia, max_, owner, behind = stream(MIA, NORTH), stream(MAX, NORTH, SOUTH), stream(OWNER, everywhere=True), stream(MIA)
    audience = Audience()
    for one in (mia, max_, owner, behind):
        audience.set_apart(one)
    caught_up(audience, mia, max_, owner)
    expected = {
        change("question", NORTH): {mia, max_, owner},
        change("question", SOUTH): {max_, owner},
        change("question", NORTH, MIA): {mia},
        change("turn", NORTH, MAX): {max_},
        change("record", None): {mia, max_, owner},
        change("session", None, MIA): set(),
    }
    for moved, streams in expected.items():
        assert told(audience, moved) == streams | {behind}
    assert told(audience, *expected) == {mia, max_, owner, behind} == set(audience)
    audience.leave(max_)
    audience.set_apart(mia)
    assert told(audience, change("question", SOUTH)) == {owner, behind, mia}
    for one in (mia, owner, behind):
        audience.leave(one)
    assert not audience
    assert audience.concerned(list(expected)) == []
