"""When writers nudge and when readers poll. Pure.

A commit that notifies takes one lock of the whole cluster. At a few commits a second that is the cheapest way to be told at once; under
load it costs more than it is worth, and a reader that polls every few milliseconds finds something each time anyway.
"""

from askbus.feed.model import Snapshot

MOST = 100.0
"""Commits a second above which the nudge is switched off; below half of it, for some windows, it is switched on again."""
CALM = 3
DOUBT = 10.0
"""Seconds after which a nudge is trusted although some transaction is as old as the switch: a late commit of it waits for the next poll."""


class Switch:
    """One reader's view of the flag. Times in seconds of one clock. `window`: over how long commits are counted."""

    def __init__(self, *, window: float = 1.0) -> None:
        self.window = window
        self.nudged = False
        self._known_from = 0
        self._doubt_until = 0.0
        self._since: float | None = None
        self._commits = 0
        self._calm = 0
        self._look_at = 0.0

    def count(self, commits: int, now: float) -> None:
        """So many commits were read."""
        if self._since is None:
            self._since = now
        self._commits += commits
        if now - self._since >= self.window:
            quiet = self._commits < MOST / 2 * (now - self._since)
            self._calm = self._calm + 1 if quiet else 0
            self._since, self._commits = now, 0
        elif self._commits > MOST * self.window:
            self._calm = 0

    def wants(self) -> bool | None:
        """What the flag should be; None where it may stay as it is."""
        if self._commits > MOST * self.window:
            return False
        return True if self._calm >= CALM else None

    def saw(self, nudged: bool, known_from: int, now: float) -> None:
        """The flag as it is, and the transaction from which on every writer knows that."""
        if nudged and not self.nudged:
            self._known_from = known_from
            self._doubt_until = now + DOUBT
        self.nudged = nudged
        self._look_at = now + self.window / 4

    def due(self, now: float, *, woken: bool) -> bool:
        """Whether to look at the flag: at each nudge, since switching it sends one; now and then while polling."""
        return woken or now >= self._look_at

    def trusts(self, cursor: Snapshot, now: float) -> bool:
        """Whether a nudge will come with each commit: not before all transactions are over that may have found the flag off."""
        return self.nudged and (cursor.xmin >= self._known_from or now >= self._doubt_until)
