"""When writers nudge and when readers poll."""

import pytest

from askbus.feed.model import Snapshot
from askbus.feed.switch import CALM, DOUBT, Switch

pytestmark = pytest.mark.requirement("S1")


def test_it_is_switched_off_within_a_window_and_on_after_some_calm_ones() -> None:
    """A hundred commits a second and not one more; half of that, for some windows, is calm."""
    switch = Switch()
    switch.count(0, 0.0)
    switch.count(100, 0.1)
    assert switch.wants() is None
    switch.count(1, 0.2)
    assert switch.wants() is False
    now = 1.1
    switch.count(0, now)
    for _ in range(CALM):
        assert switch.wants() is None
        now += 1.25
        switch.count(49, now)
    assert switch.wants() is True
    switch.count(80, now + 1.25)
    assert switch.wants() is None


def test_a_nudge_is_trusted_when_nobody_can_have_found_the_flag_off() -> None:
    """Not while a transaction runs that is as old as the switch, unless it runs on and on: the poll of each second finds its commit."""
    switch = Switch()
    switch.saw(nudged=True, known_from=10, now=0)
    assert not switch.trusts(Snapshot(9, 12, frozenset({9})), 1)
    assert switch.trusts(Snapshot(10, 12, frozenset({10})), 1)
    assert switch.trusts(Snapshot(9, 12, frozenset({9})), DOUBT)
    switch.saw(nudged=False, known_from=11, now=20)
    assert not switch.trusts(Snapshot(20, 20, frozenset()), 21)
