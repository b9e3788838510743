"""Waiting for an entity to move, without polling and without holding a connection: one future each."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from askbus.feed.model import Change

T = TypeVar("T")

FIRST_LATE = 0.05
"""Seconds that clocks may differ before a wait that passed its end begins to double its pauses."""


class Waits:
    """Who waits for which entity in this process. The hub wakes them with every change of it."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[asyncio.Future[None]]] = defaultdict(set)
        self._stopping = False

    def __len__(self) -> int:
        return sum(len(futures) for futures in self._waiting.values())

    def wake(self, changes: Sequence[Change]) -> None:
        """These entities moved."""
        for change in changes:
            for future in self._waiting.get(change.entity_id, ()):
                if not future.done():
                    future.set_result(None)

    def stop(self) -> None:
        """The process drains: every wait ends now with the state as it is, and the caller asks again elsewhere."""
        self._stopping = True
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_result(None)

    async def until(
        self,
        entity_id: UUID,
        read: Callable[[], Awaitable[T]],
        *,
        done: Callable[[T], bool],
        seconds: float,
        ends: Callable[[T], datetime],
    ) -> T:
        """What `read` returns once it is `done`, or after `seconds`. `ends`: when it changes by time alone, unannounced.

        The wait is registered before the first read, so that nothing falls between the two. Raises what `read` raises.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        late = FIRST_LATE
        while True:
            moved: asyncio.Future[None] = loop.create_future()
            self._waiting[entity_id].add(moved)
            try:
                found = await read()
                left = deadline - loop.time()
                if done(found) or left <= 0 or self._stopping:
                    return found
                until_end = (ends(found) - datetime.now(UTC)).total_seconds() + FIRST_LATE
                if until_end <= 0:
                    # The database's clock is behind this one. Its sweep announces the end; this only asks now and then.
                    until_end, late = late, late * 2
                await asyncio.wait({moved}, timeout=min(left, until_end))
            finally:
                self._forget(entity_id, moved)

    def _forget(self, entity_id: UUID, moved: asyncio.Future[None]) -> None:
        futures = self._waiting[entity_id]
        futures.discard(moved)
        if not futures:
            del self._waiting[entity_id]
