"""When writers nudge and when readers poll."""

import pytest

from askbus.feed.model import Snapshot
from askbus.feed.switch import CALM, DOUBT, FEW, LOOKS, MOST, QUEUE, Switch

pytestmark = pytest.mark.requirement("S1")


def test_it_is_switched_off_within_a_window_and_on_after_some_calm_ones() -> None:
    """MOST commits a second and not one more; fewer than FEW, for some windows, is calm."""
    switch = Switch()
    switch.count(0, 0.0)
    switch.count(int(MOST), 0.1)
    assert switch.wants() is None
    switch.count(1, 0.2)
    assert switch.wants() is False
    now = 1.1
    switch.count(0, now)
    for _ in range(CALM):
        assert switch.wants() is None
        now += 1.25
        switch.count(int(FEW) - 1, now)
    assert switch.wants() is True
    switch.count(2 * int(FEW), now + 1.25)
    assert switch.wants() is None


def test_it_is_switched_off_where_commits_are_seen_to_wait_for_one_another_again_and_again() -> None:
    """However few they are: a slow disk takes few. One look may be chance; and once it is off nobody waits, and nothing is remembered."""
    switch = Switch()
    switch.saw(nudged=True, known_from=1, now=0)
    for _ in range(LOOKS - 1):
        switch.queue(QUEUE)
    switch.queue(QUEUE - 1)
    for _ in range(LOOKS - 1):
        switch.queue(QUEUE)
        assert switch.wants() is None
    switch.queue(QUEUE)
    assert switch.wants() is False
    switch.saw(nudged=False, known_from=2, now=1)
    assert switch.wants() is None


def test_it_is_looked_at_four_times_in_a_window_however_often_it_is_asked() -> None:
    """A nudge each millisecond does not put the look off."""
    switch = Switch(window=1.0)
    assert [n for n in range(1000) if switch.due(n / 1000)] == [0, 250, 500, 750]


def test_a_nudge_is_trusted_when_nobody_can_have_found_the_flag_off() -> None:
    """Not while a transaction runs that is as old as the switch, unless it runs on and on: the poll of each second finds its commit."""
    switch = Switch()
    switch.saw(nudged=True, known_from=10, now=0)
    assert not switch.trusts(Snapshot(9, 12, frozenset({9})), 1)
    assert switch.trusts(Snapshot(10, 12, frozenset({10})), 1)
    assert switch.trusts(Snapshot(9, 12, frozenset({9})), DOUBT)
    switch.saw(nudged=False, known_from=11, now=20)
    assert not switch.trusts(Snapshot(20, 20, frozenset()), 21)
