"""Waiting for an entity to move, without polling, without a connection and without a task of its own: one future each.

Who has to be looked at, because they came, because their entity moved or because their time is up, stands in a line, and what they may
see now is read for many of them at once: what a batch of changes costs grows with its waits by slices, not one by one.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Generic, TypeVar
from uuid import UUID

from askbus.access.model import Principal, Sought
from askbus.errors import AskbusError
from askbus.feed.model import Change

T = TypeVar("T")

FIRST_LATE = 0.05
"""Seconds that clocks may differ before a wait that passed its end begins to double its pauses."""
SLICE = 256
"""Waits that are read and answered before the event loop does something else."""


@dataclass(frozen=True, eq=False)
class Awaited(Generic[T]):
    """A kind of thing that is waited for.

    `read`: for each principal and entity what that principal may see of it now, or the error that it is told instead. `ends`: when it
    changes by time alone, unannounced.
    """

    read: Callable[[Sequence[Sought]], Awaitable[Sequence[T | AskbusError]]]
    done: Callable[[T], bool]
    ends: Callable[[T], datetime]


@dataclass(eq=False, slots=True)
class Wait(Generic[T]):
    """One who waits. `until` and `late` in seconds, the first by the event loop's clock."""

    what: Awaited[T]
    by: Principal
    entity_id: UUID
    until: float
    found: asyncio.Future[T]
    late: float = FIRST_LATE
    timer: asyncio.TimerHandle | None = None

    @property
    def sought(self) -> Sought:
        return self.by, self.entity_id

    def fail(self, error: Exception) -> None:
        if not self.found.done():
            self.found.set_exception(error)


class Waits:
    """Who waits for which entity in this process. The hub wakes them with every change of it."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[Wait[Any]]] = defaultdict(set)
        self._whose: defaultdict[UUID, set[Wait[Any]]] = defaultdict(set)
        """By session or token, and by user: their end, and a change of what they may see, is news to them too."""
        self._due: dict[Wait[Any], None] = {}
        """Who has to be looked at, in their order."""
        self._reading: asyncio.Task[None] | None = None
        self._stopping = False

    def __len__(self) -> int:
        return sum(len(waits) for waits in self._waiting.values())

    def wake(self, changes: Sequence[Change]) -> None:
        """These entities moved, or the rights of who waits for others."""
        for change in changes:
            self._look_at(self._waiting.get(change.entity_id, ()))
            if change.entity in {"session", "token"}:
                self._look_at(self._whose.get(change.entity_id, ()))
            elif change.entity == "membership" and change.user_id is not None:
                self._look_at(self._whose.get(change.user_id, ()))

    def stop(self) -> None:
        """The process drains: every wait ends now with the state as it is, and the caller asks again elsewhere."""
        self._stopping = True
        for waits in self._waiting.values():
            self._look_at(waits)

    async def until(self, what: Awaited[T], by: Principal, entity_id: UUID, seconds: float) -> T:
        """What the principal may see of the entity once that is `done`, or after `seconds`.

        The wait is registered before the first read, so that nothing falls between the two. Raises what is read instead.
        """
        loop = asyncio.get_running_loop()
        found: asyncio.Future[T] = loop.create_future()
        wait = Wait(what, by, entity_id, loop.time() + seconds, found)
        self._waiting[entity_id].add(wait)
        for whose in (by.id, by.user_id):
            self._whose[whose].add(wait)
        self._look_at((wait,))
        try:
            return await found
        finally:
            self._forget(wait)

    def _forget(self, wait: Wait[Any]) -> None:
        self._due.pop(wait, None)
        if wait.timer is not None:
            wait.timer.cancel()
        _drop(self._waiting, wait.entity_id, wait)
        for whose in (wait.by.id, wait.by.user_id):
            _drop(self._whose, whose, wait)

    def _look_at(self, waits: Iterable[Wait[Any]]) -> None:
        self._due.update(dict.fromkeys(waits))
        if self._due and self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read_due(), name="waits.read")

    async def _read_due(self) -> None:
        """A change that comes while its wait is read puts it in the line once more: what is read may be older than the change."""
        try:
            while self._due:
                what = next(iter(self._due)).what
                some = list(islice((wait for wait in self._due if wait.what is what), SLICE))
                for wait in some:
                    del self._due[wait]
                await self._read(what, some)
        finally:
            self._reading = None

    async def _read(self, what: Awaited[T], some: Sequence[Wait[T]]) -> None:
        sought = list(dict.fromkeys(wait.sought for wait in some))
        try:
            seen = dict(zip(sought, await what.read(sought), strict=True))
        except Exception as error:  # noqa: BLE001  # it is theirs: each door says what it says to what its reads raise
            for wait in some:
                wait.fail(error)
            return
        for wait in some:
            self._tell(wait, seen[wait.sought])

    def _tell(self, wait: Wait[T], seen: T | AskbusError) -> None:
        if isinstance(seen, AskbusError):
            wait.fail(seen)
            return
        loop = asyncio.get_running_loop()
        left = wait.until - loop.time()
        if wait.found.done():
            return
        if left <= 0 or self._stopping or wait.what.done(seen):
            wait.found.set_result(seen)
            return
        until_end = (wait.what.ends(seen) - datetime.now(UTC)).total_seconds() + FIRST_LATE
        if until_end <= 0:
            # The database's clock is behind this one. Its sweep announces the end; this only asks now and then.
            until_end, wait.late = wait.late, wait.late * 2
        if wait.timer is not None:
            wait.timer.cancel()
        wait.timer = loop.call_later(min(left, until_end), self._look_at, (wait,))


def _drop(index: defaultdict[UUID, set[Wait[Any]]], key: UUID, wait: Wait[Any]) -> None:
    index[key].discard(wait)
    if not index[key]:
        del index[key]
