"""One client's stream: what it may still be sent, in order, each change once, and only a bounded amount of it held."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

from askbus.access.model import Principal
from askbus.feed.model import Change, EventId, Snapshot
from askbus_gateway.sse.rules import Viewer, everywhere, followed, visible

MOST_BUFFERED = 64 * 1024
"""Bytes of live events held here for a client that does not read, beside what the transport holds (as much again). Past it the
connection is cut, and the client comes back with its last id. A state or a replay is one whole and not counted."""


def frame(event: str, data: object, event_id: str | None = None) -> bytes:
    """One event (WHATWG server-sent events): LF only, JSON on one line so that no content can forge a field."""
    text = json.dumps(data, separators=(",", ":"))
    identity = f"id: {event_id}\n" if event_id else ""
    return f"{identity}event: {event}\ndata: {text}\n\n".encode()


HEARTBEAT = b": still here\n\n"


def shown(change: Change) -> dict[str, str | None]:
    """What a person's browser is told of a change: ids and state, never content."""
    return {
        "entity": change.entity,
        "id": str(change.entity_id),
        "op": "remove" if change.status == "deleted" else "upsert",
        "status": change.status,
        "project": str(change.project_id) if change.project_id else None,
        "assignee": str(change.assignee_id) if change.assignee_id else None,
    }


class Batch:
    """Changes of the feed in order, and the snapshot that covers them. Streams that may see the same share the event's bytes."""

    def __init__(self, snapshot: Snapshot, changes: Sequence[Change]) -> None:
        self.snapshot = snapshot
        self.changes = changes
        self._events: dict[tuple[str, tuple[int, ...]], bytes] = {}

    def event(self, epoch: str, news: Sequence[Change]) -> bytes:
        """The event that tells of `news`, a part of this batch."""
        key = (epoch, tuple(change.seq for change in news))
        if key not in self._events:
            identity = str(EventId(epoch, self.snapshot))
            self._events[key] = frame("changes", [shown(change) for change in news], identity)
        return self._events[key]


class Stream:
    """The sending side of a connection. The hub offers it every batch of its workspace; the connection's writer takes from it."""

    def __init__(self, principal: Principal, entities: frozenset[str] | None, abort: Callable[[], None]) -> None:
        self.principal = principal
        self.entities = entities
        self.viewer = Viewer(principal.user_id, principal.workspace_id)
        self.follows: frozenset[str] = frozenset()
        """The entities that it shows: those wanted, as far as the principal may follow them."""
        self.epoch = ""
        self.seen: Snapshot | None = None
        """What the client has: set once its state or replay was written; until then batches are kept aside."""
        self.ended = False
        self.turn = asyncio.Lock()
        """Held while the client is brought up to date, so that an older reading of its rights never overtakes a newer one."""
        self._abort = abort
        self._aside: list[Batch] = []
        self._buffer: deque[bytes] = deque()
        self._buffered = 0
        self._more = asyncio.Event()
        self._expiry: asyncio.TimerHandle | None = None

    def act_for(self, principal: Principal, projects: frozenset[UUID]) -> None:
        """The rights that count from now on."""
        self.principal = principal
        self.follows = followed(principal, self.entities)
        self.viewer.projects = projects
        self.viewer.everywhere = everywhere(principal)

    def expires_in(self, seconds: float | None, end: Callable[[], None]) -> None:
        """Calls `end` when the session or token is over: no change of a row announces that. None: it has no end."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = None if seconds is None else asyncio.get_running_loop().call_later(max(seconds, 0), end)

    def forget(self) -> None:
        """The connection is over: nothing refers to this stream any more."""
        self.expires_in(None, self.end)
        self._aside.clear()

    def offer(self, batch: Batch) -> None:
        """The next of the feed. Changes that the client has already (from a gateway that was ahead) are dropped."""
        if self.seen is None:
            self._aside.append(batch)
            return
        news = [change for change in batch.changes if not self.seen.sees(change.xid) and self.wants(change)]
        if news:
            self.write(batch.event(self.epoch, news))

    def wants(self, change: Change) -> bool:
        return change.entity in self.follows and visible(change, self.viewer)

    def begin(self, epoch: str, seen: Snapshot) -> None:
        """The client now has everything up to `seen`: what came meanwhile follows."""
        self.epoch, self.seen = epoch, seen
        aside, self._aside = self._aside, []
        for batch in aside:
            self.offer(batch)

    def pause(self) -> None:
        """Until `begin` is called again, batches are kept aside: the client is about to get a fresh state."""
        self.seen = None

    def write(self, data: bytes) -> None:
        """Queues a live event. A client that stopped reading is cut off: it comes back with its last id."""
        if self.ended:
            return
        self._buffered += len(data)
        if self._buffered > MOST_BUFFERED and self._buffer:
            self.cut()
            return
        self._queue(data)

    def write_whole(self, data: bytes) -> None:
        """Queues what brings the client up to date, however large it is."""
        self._queue(data)

    def _queue(self, data: bytes) -> None:
        if self.ended:
            return
        self._buffer.append(data)
        self._more.set()

    def drop_unsent(self) -> None:
        """What was not sent yet is out of date: a fresh state follows."""
        self._buffer.clear()
        self._buffered = 0

    def cut(self) -> None:
        """Ends the connection without another word."""
        self.end()
        self._abort()

    def end(self) -> None:
        """Nothing more is written; what is queued still goes out."""
        self.ended = True
        self._more.set()

    async def next(self, timeout: float) -> bytes | None:
        """What to send next; a heartbeat where nothing came for `timeout` seconds; None at the end."""
        if not self._buffer and not self.ended:
            self._more.clear()
            silence = asyncio.get_running_loop().call_later(timeout, self._more.set)
            try:
                await self._more.wait()
            finally:
                silence.cancel()
            if not self._buffer and not self.ended:
                return HEARTBEAT
        if not self._buffer:
            return None
        data = b"".join(self._buffer)
        self._buffer.clear()
        self._buffered = 0
        return data
