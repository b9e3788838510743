"""The hub: one tail of the feed for the whole process, fanned out to streams and waits."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

import structlog

from askbus.access import reads
from askbus.db.pool import Pool
from askbus.db.statements import Statement
from askbus.errors import AskbusError, InvalidInput
from askbus.feed.model import Change, EventId, Snapshot
from askbus.feed.reader import changes_after
from askbus.feed.tail import POSITION, Tail
from askbus_gateway.sse.rules import RULES, followed
from askbus_gateway.sse.stream import Batch, Stream, frame, shown
from askbus_gateway.sse.waits import Waits

log = structlog.get_logger()

STATE = Statement("askbus_gateway", "sse/sql/state.sql")
LONGEST_REPLAY = 5000
"""Changes; a client that missed more gets a reset with a fresh state, which is smaller."""
SLICE = 256
"""Streams that one batch is offered to before the event loop gets a turn."""

LAST_WORDS = 1.0
"""Seconds that a client has to read what is left when this process stops."""

Listener = Callable[[Sequence[Change]], None]


class Reset(AskbusError):
    """The client's position cannot be honoured; it gets a fresh state. `message` says why, for whoever debugs it."""


class Hub:
    """Every stream and wait of this process."""

    def __init__(self, url: str, pool: Pool, waits: Waits) -> None:
        self.pool = pool
        self.waits = waits
        self.tail = Tail(url, pool, self.deliver)
        self._streams: defaultdict[UUID, set[Stream]] = defaultdict(set)
        self._listeners: set[Listener] = set()
        self._draining = False

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
        batch = Batch(snapshot, news)
        for count, stream in enumerate(tuple(self._streams.get(workspace_id, ())), 1):
            stream.offer(batch)
            if count % SLICE == 0:
                await asyncio.sleep(0)

    async def _apply_rights(self, workspace_id: UUID, news: Sequence[Change]) -> None:
        """Closes the streams of credentials that ended; those whose membership changed get their new rights and a fresh state."""
        ended = {change.entity_id for change in news if change.entity in {"session", "token"}}
        moved = {change.user_id for change in news if change.entity == "membership"}
        if not ended and not moved:
            return
        for stream in tuple(self._streams[workspace_id]):
            if stream.principal.id in ended:
                self._end(stream, "ended")
            elif stream.principal.user_id in moved:
                await self._renew(stream)

    async def _renew(self, stream: Stream) -> None:
        try:
            async with stream.turn:
                stream.pause()
                await self._send_state(stream, "access")
        except Exception as error:  # noqa: BLE001  # better no stream than one with old rights: it comes back and is checked
            log.warning("stream.not_renewed", error=type(error).__name__)
            self._end(stream, "access")

    def _end(self, stream: Stream, reason: str) -> None:
        stream.write_whole(frame("end", {"reason": reason}))
        stream.end()

    def end_all(self) -> None:
        """The process drains: every stream ends, and its client comes back to another. One that does not read its last bytes in time
        is cut off."""
        self._draining = True
        for stream in self._all():
            stream.end()
        asyncio.get_running_loop().call_later(LAST_WORDS, self._cut_all)

    def _cut_all(self) -> None:
        for stream in self._all():
            stream.cut()

    def _all(self) -> list[Stream]:
        return [stream for streams in self._streams.values() for stream in streams]

    async def join(self, stream: Stream, last_event_id: str | None) -> None:
        """Registers a stream, then brings its client up to date: by exact replay from its last id, or by a fresh state.

        Registered first and read after, so that nothing falls between; what comes meanwhile is kept aside and follows.
        """
        await self.tail.started.wait()
        if self._draining:
            stream.end()
            return
        self._streams[stream.principal.workspace_id].add(stream)
        async with stream.turn:
            if not last_event_id:
                await self._send_state(stream, None)
                return
            try:
                await self._replay(stream, last_event_id)
            except (Reset, InvalidInput) as error:
                log.info("stream.reset", reason=error.message if isinstance(error, Reset) else "not an id of ours")
                await self._send_state(stream, "position")

    def leave(self, stream: Stream) -> None:
        """Frees all that the stream held."""
        stream.forget()
        streams = self._streams[stream.principal.workspace_id]
        streams.discard(stream)
        if not streams:
            del self._streams[stream.principal.workspace_id]

    async def _refresh(self, stream: Stream) -> bool:
        """Gives the stream the rights that its principal has now; where that ended, so does the stream."""
        standing = await reads.standing(self.pool, stream.principal)
        if standing is None:
            self._end(stream, "ended")
            return False
        projects = await reads.projects_of(self.pool, standing.principal)
        stream.act_for(standing.principal, frozenset(project.id for project in projects))
        stream.expires_in(standing.seconds_left, lambda: self._end(stream, "ended"))
        return True

    async def _send_state(self, stream: Stream, reset: str | None) -> None:
        """What is going on in the projects that the client sees, read in one snapshot: what comes after it follows.

        The rights are read last, so that they are never older than the state: a change of them that it does not cover follows.
        """
        while True:
            by = stream.principal
            follows = followed(by, stream.entities)
            row = await STATE.one(
                self.pool,
                user_id=by.user_id,
                workspace_id=by.workspace_id,
                token_id=by.token_id,
                projects=None if by.projects is None else list(by.projects),
                entities=sorted(follows),
            )
            if not await self._refresh(stream):
                return
            if stream.follows == follows:
                break
        snapshot = Snapshot.parse(row["cursor"])
        if reset is not None:
            stream.drop_unsent()
            stream.write_whole(frame("reset", {"reason": reset}))
        counts = {"open": row["open"], "for_me": row["for_me"]} if "question" in follows else None
        stream.write_whole(frame("state", {"entities": row["entities"], "counts": counts}, str(EventId(row["epoch"], snapshot))))
        stream.begin(row["epoch"], snapshot)

    async def _replay(self, stream: Stream, last_event_id: str) -> None:
        """Sends exactly what came after the id. Raises Reset where that cannot be told, InvalidInput for what is no id."""
        wanted = EventId.parse(last_event_id)
        position = await POSITION.one(self.pool)
        upto = Snapshot.parse(position["cursor"])
        if wanted.epoch != position["epoch"]:
            raise Reset("another epoch")
        if wanted.snapshot.xmax > upto.xmax:
            raise Reset("ahead of the log")
        if not await self._refresh(stream):
            return
        missed: list[Change] = []
        workspace_id = stream.principal.workspace_id
        async for _cursor, changes in changes_after(self.pool, str(wanted.snapshot), upto=str(upto), workspace_id=workspace_id):
            missed += changes
            if len(missed) > LONGEST_REPLAY:
                raise Reset("too much was missed")
        # Asked for last: what is pruned while this reads would be missing from it.
        if wanted.snapshot.xmin <= (await POSITION.one(self.pool))["pruned"]:
            raise Reset("older than what the log keeps")
        if any(change.entity == "membership" and change.user_id == stream.principal.user_id for change in missed):
            raise Reset("rights changed meanwhile")
        news = [shown(change) for change in missed if stream.wants(change)]
        # Without news the client moves on too (an id without data fires nothing), or its next replay would begin here again.
        reached = str(EventId(wanted.epoch, upto))
        stream.write_whole(frame("changes", news, reached) if news else f"id: {reached}\n\n".encode())
        stream.begin(wanted.epoch, upto)
