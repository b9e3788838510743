"""The hub: one tail of the feed for the whole process, fanned out to streams and waits."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

import structlog

from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus.feed.bridge import Source
from askbus.feed.model import Change, Snapshot
from askbus.feed.tail import Deliver
from askbus_gateway.sse.audience import Audience
from askbus_gateway.sse.catch_up import CatchUp, Reset, Rights
from askbus_gateway.sse.group import Group, Members
from askbus_gateway.sse.rules import RULES
from askbus_gateway.sse.stream import Batch, Stream, chunk, frame, shown
from askbus_gateway.sse.waits import Waits
from askbus_gateway.sse.wheel import Wheel

log = structlog.get_logger()

SLICE = 256
"""Streams that one batch is offered to before the event loop gets a turn."""

JOINING = 4
"""Streams that are brought up to date at once, so that those whose rights changed are never in line behind a thousand that come back."""

LAST_WORDS = 1.0
"""Seconds that a client has to read what is left when this process stops."""

Listener = Callable[[Sequence[Change]], None]


class Hub:
    """Every stream and wait of this process."""

    def __init__(self, follow: Callable[[Deliver], Source], pool: Pool, waits: Waits, wheel: Wheel) -> None:
        self.pool = pool
        self.wheel = wheel
        self.catch_up = CatchUp(pool)
        self.waits = waits
        self.tail = follow(self.deliver)
        self._streams: defaultdict[UUID, Audience] = defaultdict(Audience)
        self._listeners: set[Listener] = set()
        self._draining = False
        self._joining = asyncio.Semaphore(JOINING)
        self._gone = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(streams) for streams in self._streams.values())

    async def ready(self) -> bool:
        return self.tail.listening and self.tail.started.is_set()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls `listener` with every batch; returns what ends that."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)

    async def deliver(self, snapshot: Snapshot, changes: Sequence[Change]) -> None:
        """One batch of the feed. Rights that changed in it are read anew before anybody sees the rest of it."""
        self.waits.wake(changes)
        for listener in tuple(self._listeners):
            listener(changes)
        by_workspace: defaultdict[UUID, list[Change]] = defaultdict(list)
        for change in changes:
            by_workspace[change.workspace_id].append(change)
        for workspace_id, news in by_workspace.items():
            if workspace_id not in self._streams:
                continue
            await self._apply_rights(workspace_id, news)
            if any(change.entity in RULES for change in news):
                await self._offer(workspace_id, snapshot, news)

    async def _offer(self, workspace_id: UUID, snapshot: Snapshot, news: Sequence[Change]) -> None:
        """Who is told is decided in one step, so that nobody who moves between two slices is told twice or passed over."""
        audience = self._streams.get(workspace_id)
        if audience is None:
            return
        batch = Batch(snapshot, news)
        audience.settle()
        apart = tuple(audience.apart)
        told = [(group, group.members, batch.event(group.epoch, wanted)) for group, wanted in audience.concerned(news)]
        await _to_each(apart, batch)
        await _to_groups(told, batch)

    async def _apply_rights(self, workspace_id: UUID, news: Sequence[Change]) -> None:
        """Closes the streams of credentials that ended; those whose membership changed get their new rights and a fresh state."""
        ended = {change.entity_id for change in news if change.entity in {"session", "token"}}
        moved = {change.user_id for change in news if change.entity == "membership"}
        if not ended and not moved:
            return
        to_renew = []
        for stream in tuple(self._streams.get(workspace_id, ())):
            if stream.principal.id in ended:
                self._end(stream, "ended")
            elif stream.principal.user_id in moved:
                to_renew.append(stream)
        for stream in to_renew:  # after every end: a renewal reads, and no end waits for that
            await self._renew(stream)

    async def _renew(self, stream: Stream) -> None:
        try:
            async with stream.turn:
                if stream.ended:
                    return
                self.set_apart(stream)
                stream.pause()
                await self._send_state(stream, "access")
        except Exception as error:  # noqa: BLE001  # better no stream than one with old rights: it comes back and is checked
            log.warning("stream.not_renewed", error=type(error).__name__)
            self._end(stream, "access")

    def _end(self, stream: Stream, reason: str) -> None:
        stream.write(chunk(frame("end", {"reason": reason})))
        stream.end()

    async def close(self) -> None:
        """The process drains: every stream ends, and its client comes back to another. Returns when they are gone; one that does not
        read its last bytes in time is cut off."""
        self._draining = True
        for count, stream in enumerate(self._all(), 1):
            stream.end(LAST_WORDS)
            if count % SLICE == 0:
                await asyncio.sleep(0)
        while self._streams:
            self._gone.clear()
            await self._gone.wait()

    def _all(self) -> list[Stream]:
        return [stream for streams in self._streams.values() for stream in streams]

    async def join(self, stream: Stream, last_event_id: str | None) -> None:
        """Registers a stream, then brings its client up to date: by exact replay from its last id, or by a fresh state.

        Registered first and read after, so that nothing falls between; what comes meanwhile is kept aside and follows.
        """
        await self.tail.started.wait()
        if self._draining or stream.ended:
            stream.end()
            return
        self.set_apart(stream)
        self.wheel.add(stream)
        async with self._joining, stream.turn:
            if stream.ended:
                return
            if not last_event_id:
                await self._send_state(stream, None)
                return
            try:
                await self._replay(stream, last_event_id)
            except (Reset, InvalidInput) as error:
                log.info("stream.reset", reason=error.message if isinstance(error, Reset) else "not an id of ours")
                await self._send_state(stream, "position")

    def set_apart(self, stream: Stream) -> None:
        """It is looked at by itself with each change, until it is writable."""
        self._streams[stream.principal.workspace_id].set_apart(stream)

    def leave(self, stream: Stream) -> None:
        """The connection is over: nothing refers to this stream any more."""
        self.wheel.discard(stream)
        audience = self._streams.get(stream.principal.workspace_id)
        if audience is None:
            return
        audience.leave(stream)
        if not audience:
            del self._streams[stream.principal.workspace_id]
        self._gone.set()

    def _act(self, stream: Stream, rights: Rights | None) -> bool:
        """Gives the stream the rights that its principal has now; where that ended, so does the stream."""
        if rights is None:
            self._end(stream, "ended")
            return False
        stream.act_for(rights.principal, rights.viewer)
        stream.expires_in(None if stream.ended else rights.seconds_left, partial(self._end, stream, "ended"))
        return not stream.ended

    async def _send_state(self, stream: Stream, reset: str | None) -> None:
        """What comes after the state follows."""
        found = await self.catch_up.opening(stream.principal, stream.entities)
        if not self._act(stream, None if found is None else found.rights) or found is None:
            return
        words = b"" if reset is None else frame("reset", {"reason": reset})
        stream.write_whole(words + frame("state", found.state, str(found.at)))
        stream.begin(found.at.epoch, found.at.snapshot)

    async def _replay(self, stream: Stream, last_event_id: str) -> None:
        """Sends exactly what came after the id. Raises Reset where that cannot be told, InvalidInput for what is no id."""
        found = await self.catch_up.missed(stream.principal, stream.entities, last_event_id)
        if not self._act(stream, None if found is None else found.rights) or found is None:
            return
        # Without news the client moves on too (an id without data fires nothing), or its next replay would begin here again.
        news = [shown(change) for change in found.changes]
        stream.write_whole(frame("changes", news, str(found.at)) if news else f"id: {found.at}\n\n".encode())
        stream.begin(found.at.epoch, found.at.snapshot)


async def _to_each(streams: Sequence[Stream], batch: Batch) -> None:
    """To streams that stand apart: each looks for itself what it is told, now or later."""
    for at in range(0, len(streams), SLICE):
        for stream in streams[at : at + SLICE]:
            stream.offer(batch)
        await asyncio.sleep(0)


async def _to_groups(told: Sequence[tuple[Group, Members, bytes]], batch: Batch) -> None:
    """To groups, as they were. Once somebody has left one, each of its streams looks for itself."""
    room = SLICE
    for group, members, data in told:
        for at in range(0, len(members.streams), SLICE):
            streams = members.streams[at : at + SLICE]
            if room < len(streams):
                await asyncio.sleep(0)
                room = SLICE
            room -= len(streams)
            if group.members is members:
                _write(streams, members.sockets[at : at + SLICE], data)
            else:
                for stream in streams:
                    stream.offer(batch)


def _write(streams: Sequence[Stream], sockets: Sequence[int], data: bytes) -> None:
    """Straight to the sockets of writable streams: nothing waits in their transports. What a socket does not take at once, or an error,
    is the transport's."""
    size = len(data)
    for number, sock in enumerate(sockets):
        try:
            sent = os.write(sock, data)
        except OSError:
            sent = 0
        if sent != size:
            streams[number].write_rest(data[sent:])
