"""Which streams a change concerns: found without looking at the others."""

from uuid import UUID, uuid4

import pytest

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.feed.model import Change
from askbus_gateway.sse.audience import Audience
from askbus_gateway.sse.rules import RULES, Viewer
from askbus_gateway.sse.stream import Stream

WORKSPACE, NORTH, SOUTH, MIA, MAX, OWNER = (uuid4() for _ in range(6))


def stream(user: UUID, *projects: UUID, everywhere: bool = False) -> Stream:
    by = Principal(
        kind=PrincipalKind.SESSION, id=uuid4(), user_id=user, workspace_id=WORKSPACE, role=Role.MEMBER, scopes=frozenset(Scope)
    )
    made = Stream(by, None, lambda _stream: None)
    made.act_for(by, Viewer(user, WORKSPACE, frozenset(projects), everywhere=everywhere, follows=frozenset(RULES)))
    return made


def change(entity: str, project: UUID | None, user: UUID | None = None) -> Change:
    return Change(1, 1, f"{entity}.moved", entity, uuid4(), "open", WORKSPACE, project, user)


@pytest.mark.requirement("S2", "S6")
async def test_a_change_finds_those_who_see_it_and_everyone_who_is_behind() -> None:
    """By project, by user, and everywhere; who is not up to date yet is given all; who left is not found."""
    mia, max_, owner, behind = stream(MIA, NORTH), stream(MAX, NORTH, SOUTH), stream(OWNER, everywhere=True), stream(MIA)
    audience = Audience()
    for one in (mia, max_, owner, behind):
        audience.lags(one)
    for one in (mia, max_, owner):
        audience.caught_up(one)
    expected = {
        change("question", NORTH): {mia, max_, owner},
        change("question", SOUTH): {max_, owner},
        change("question", NORTH, MIA): {mia},
        change("turn", NORTH, MAX): {max_},
        change("record", None): {mia, max_, owner},
        change("session", None, MIA): set(),
    }
    for moved, streams in expected.items():
        assert set(audience.concerned([moved])) == streams | {behind}
    assert set(audience.concerned(list(expected))) == {mia, max_, owner, behind} == set(audience)
    audience.leave(max_)
    audience.lags(mia)
    assert set(audience.concerned([change("question", SOUTH)])) == {owner, behind, mia}
    for one in (mia, owner, behind):
        audience.leave(one)
    assert not audience
    assert audience.concerned(list(expected)) == []
