"""The feed's cursor and the ids that clients send back: what is one, and what somebody made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.errors import InvalidInput
from askbus.feed.model import EventId, Snapshot

pytestmark = pytest.mark.requirement("S4")


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    low = draw(st.integers(1, 50))
    high = draw(st.integers(low, 60))
    running = draw(st.sets(st.integers(low, high - 1), max_size=6)) if high > low else set()
    return Snapshot(low, high, frozenset(running))


@given(snapshots())
def test_a_snapshot_comes_back_as_it_was_written(snapshot: Snapshot) -> None:
    """In the text form of Postgres, running transactions in order."""
    assert Snapshot.parse(str(snapshot)) == snapshot
    running = str(snapshot).rpartition(":")[2]
    assert [int(xid) for xid in running.split(",") if xid] == sorted(snapshot.running)


@given(snapshots(), st.integers(1, 70))
def test_a_snapshot_sees_what_had_committed(snapshot: Snapshot, xid: int) -> None:
    """Everything before it but what was running then; nothing that began later."""
    assert snapshot.sees(xid) == (xid < snapshot.xmax and xid not in snapshot.running)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "::",
        "1",
        "1:2",
        "1:2:3",
        "0:1:",
        "-1:2:",
        "3:2:",
        "1:3:0",
        "1:3:3",
        "1:3:2,",
        "1:3:,2",
        "a:b:c",
        "1:2::",
        "1:3:2;DROP TABLE feed",
        " 1:2:",
        "1_0:20:",
        "+1:2:",
        "\u0661:\u0662:",
        f"1:{2**63}:",
        f"1:{'9' * 5000}:",
        "1:2:\0",
    ],
)
def test_what_postgres_would_not_have_written_is_no_snapshot(text: str) -> None:
    """A client's id is somebody else's text until it is proved."""
    with pytest.raises(InvalidInput):
        Snapshot.parse(text)


@given(st.text(max_size=40) | st.from_regex(r"[a-f0-9]{1,6}\.[0-9:,]{0,30}", fullmatch=True))
def test_any_text_is_an_event_id_of_ours_or_refused(text: str) -> None:
    """Never a defect, and what is taken means just what it says."""
    try:
        found = EventId.parse(text)
    except InvalidInput:
        return
    assert EventId.parse(str(found)) == found


def test_an_event_id_names_its_epoch() -> None:
    """Positions of a restored database, or of another one, do not pass for ours."""
    event_id = EventId.parse("a1b2c3.5:9:6,8")
    assert (event_id.epoch, event_id.snapshot) == ("a1b2c3", Snapshot(5, 9, frozenset({6, 8})))
    for text in ("5:9:6,8", ".5:9:", "a-b.5:9:", "a b.5:9:"):
        with pytest.raises(InvalidInput):
            EventId.parse(text)
