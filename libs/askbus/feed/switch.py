"""When writers nudge and when readers poll. Pure.

A commit that notifies takes one lock of the whole cluster, and holds it until it is on disk. While commits do not meet there, that is the
cheapest way to be told at once. Where they wait for one another it costs more than it is worth, and a reader that polls every few
milliseconds finds something each time anyway. How many a second that takes depends on the disk, so what counts is whether they wait.
"""

from askbus.feed.model import Snapshot

QUEUE, LOOKS = 2, 2
"""So many commits that wait for one another, at so many looks in a row, and the nudge is switched off."""
MOST = 2000.0
"""Commits a second above which it is switched off even if nobody is seen to wait."""
FEW, CALM = 50.0, 3
"""Commits a second below which, for so many windows in a row, it is switched on again: at that rate they meet on no disk."""
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
        self._queues = 0
        self._look_at = 0.0

    def count(self, commits: int, now: float) -> None:
        """So many commits were read."""
        if self._since is None:
            self._since = now
        self._commits += commits
        if now - self._since >= self.window:
            quiet = self._commits < FEW * (now - self._since)
            self._calm = self._calm + 1 if quiet else 0
            self._since, self._commits = now, 0
        elif self._commits > FEW * self.window:
            self._calm = 0

    def queue(self, commits: int) -> None:
        """So many commits were seen to wait for another that notifies."""
        self._queues = self._queues + 1 if commits >= QUEUE else 0

    def wants(self) -> bool | None:
        """What the flag should be; None where it may stay as it is."""
        if self._commits > MOST * self.window or self._queues >= LOOKS:
            return False
        return True if self._calm >= CALM else None

    def saw(self, nudged: bool, known_from: int, now: float) -> None:
        """The flag as it is, and the transaction from which on every writer knows that."""
        if nudged and not self.nudged:
            self._known_from = known_from
            self._doubt_until = now + DOUBT
        self.nudged = nudged
        if not nudged:
            self._queues = 0

    def due(self, now: float) -> bool:
        """Whether it is time for a look at the flag and at the queue: four times in each window."""
        if now < self._look_at:
            return False
        self._look_at = now + self.window / 4
        return True

    def trusts(self, cursor: Snapshot, now: float) -> bool:
        """Whether a nudge will come with each commit: not before all transactions are over that may have found the flag off."""
        return self.nudged and (cursor.xmin >= self._known_from or now >= self._doubt_until)
