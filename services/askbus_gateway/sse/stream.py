"""One client's stream of the feed: what it is sent, in order, each change once, and only a bounded amount of it held.

It is the protocol of its connection, from the moment the response has begun: no task waits for it, and what the hub offers is written
to the transport at once.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from pydantic import JsonValue

from askbus.access.model import Principal
from askbus.feed.model import Change, EventId, Snapshot
from askbus_gateway.sse.rules import Viewer

if TYPE_CHECKING:
    from askbus_gateway.sse.group import Group

MOST_BUFFERED = 64 * 1024
"""Bytes of live events held here for a client that does not read, beside what the kernel holds (32 KiB, doubled). Past it the connection
is cut, and the client comes back with its last id. A state or a replay is one whole and not counted."""
LAST_WORDS = 5.0
"""Seconds that a client has to read what is left when its stream has ended."""


def frame(event: str, data: object, event_id: str | None = None) -> bytes:
    """One event (WHATWG server-sent events): LF only, JSON on one line so that no content can forge a field."""
    text = json.dumps(data, separators=(",", ":"))
    identity = f"id: {event_id}\n" if event_id else ""
    return f"{identity}event: {event}\ndata: {text}\n\n".encode()


def chunk(data: bytes) -> bytes:
    """The bytes as one chunk of a response (RFC 9112, section 7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)


HEARTBEAT = b": still here\n\n"
BEAT = chunk(HEARTBEAT)
LAST_CHUNK = b"0\r\n\r\n"


def shown(change: Change) -> dict[str, JsonValue]:
    """What a person's browser is told of a change: ids and state, never content. A record also has its collection and its key."""
    record: dict[str, JsonValue] = {}
    if change.collection is not None:
        record = {"collection": change.collection, "key": dict(change.key or {})}
    return {
        "entity": change.entity,
        "id": str(change.entity_id),
        "op": "remove" if change.status == "deleted" else "upsert",
        "status": change.status,
        "project": str(change.project_id) if change.project_id else None,
        "assignee": str(change.assignee_id) if change.assignee_id else None,
        **record,
    }


class Batch:
    """Changes of the feed in order, and the snapshot that covers them. Streams that may see the same share the event's bytes."""

    def __init__(self, snapshot: Snapshot, changes: Sequence[Change]) -> None:
        self.snapshot = snapshot
        self.changes = changes
        self._told: dict[tuple[Viewer, str], bytes] = {}
        self._events: dict[tuple[str, tuple[int, ...]], bytes] = {}

    def told(self, viewer: Viewer, epoch: str) -> bytes:
        """The chunk that tells the viewer's streams of it; empty where there is nothing for them."""
        key = (viewer, epoch)
        data = self._told.get(key)
        if data is None:
            data = self._told[key] = self.event(epoch, [change for change in self.changes if viewer.wants(change)])
        return data

    def event(self, epoch: str, news: Sequence[Change]) -> bytes:
        """The chunk that tells of `news`, a part of this batch."""
        if not news:
            return b""
        key = (epoch, tuple([change.seq for change in news]))
        if key not in self._events:
            identity = str(EventId(epoch, self.snapshot))
            self._events[key] = chunk(frame("changes", [shown(change) for change in news], identity))
        return self._events[key]


class Keeper(Protocol):
    """Who writes to streams."""

    def set_apart(self, stream: "Stream") -> None:
        """It may not simply be written to any more."""

    def leave(self, stream: "Stream") -> None:
        """Its connection is over."""


class Stream(asyncio.Protocol):
    """A connection that shows the feed. The hub offers it every batch of its workspace."""

    __slots__ = (
        "_aside",
        "_expiry",
        "_keeper",
        "_most",
        "_paused",
        "closes_at",
        "ended",
        "entities",
        "epoch",
        "group",
        "level",
        "principal",
        "seen",
        "transport",
        "turn",
        "viewer",
    )  # fmt: skip

    def __init__(self, principal: Principal, entities: frozenset[str] | None, keeper: Keeper) -> None:
        self.principal = principal
        self.entities = entities
        self.viewer = Viewer(principal.user_id, principal.workspace_id)
        self.epoch = ""
        self.seen: Snapshot | None = None
        """What the client has: set once its state or replay was written; until then batches are kept aside."""
        self.ended = False
        self.closes_at = float("inf")
        """The moment, by the event loop's clock, from which it is too old."""
        self.turn = asyncio.Lock()
        """Held while the client is brought up to date, so that an older reading of its rights never overtakes a newer one."""
        self.transport: asyncio.Transport | None = None
        self.group: Group | None = None
        """Where it is written to with others, while it is writable."""
        self._keeper = keeper
        self.level = False
        """Whether the feed has passed what the client had when it came: every batch is news to it from then on."""
        self._paused = False
        self._most = MOST_BUFFERED
        self._aside: list[Batch] | None = None
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def writable(self) -> asyncio.Transport | None:
        """Its connection, where that may be written to without another look: it is up to date, reads, and has not ended."""
        return self.transport if self.level and not self._paused and not self.ended else None

    def act_for(self, principal: Principal, viewer: Viewer) -> None:
        """The rights that count from now on."""
        self.principal = principal
        self.viewer = viewer

    def expires_in(self, seconds: float | None, end: Callable[[], None]) -> None:
        """Calls `end` when the session or token is over: no change of a row announces that. None: it has no end."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = None if seconds is None else asyncio.get_running_loop().call_later(max(seconds, 0), end)

    def offer(self, batch: Batch) -> None:
        """The next of the feed. Changes that the client has already (from a gateway that was ahead) are dropped."""
        if self.level:
            data = batch.told(self.viewer, self.epoch)
        elif self.seen is None:
            if self._aside is None:
                self._aside = []
            self._aside.append(batch)
            return
        else:
            seen, wants = self.seen, self.viewer.wants
            data = batch.event(self.epoch, [change for change in batch.changes if not seen.sees(change.xid) and wants(change)])
            self.level = batch.snapshot.covers(seen)
        if data:
            self.write(data)

    def begin(self, epoch: str, seen: Snapshot) -> None:
        """The client now has everything up to `seen`: what came meanwhile follows."""
        self.epoch, self.seen = epoch, seen
        aside, self._aside = self._aside, None
        for batch in aside or ():
            self.offer(batch)

    def pause(self) -> None:
        """Until `begin` is called again, batches are kept aside: the client is about to get a fresh state."""
        self.seen, self.level = None, False

    def write_rest(self, data: bytes) -> None:
        """Sends what its socket did not take at once, or finds out why."""
        if self.transport is not None:
            self.transport.write(data)

    def write(self, data: bytes) -> None:
        """Sends a live event, as a chunk. A client that stopped reading is cut off: it comes back with its last id."""
        if self.ended or self.transport is None:
            return
        self.transport.write(data)
        if self._paused and not self.ended:
            self._cut_if_too_much()

    def write_whole(self, data: bytes) -> None:
        """Sends what brings the client up to date, however large it is; to one that reads. Else it would hold one more with each change
        of its rights: it is cut off, and comes back for it."""
        if self.ended or self.transport is None:
            return
        if self._paused:
            self.cut()
            return
        data = chunk(data)
        self._most = self.transport.get_write_buffer_size() + len(data) + MOST_BUFFERED
        self.transport.write(data)

    def beat(self, now: float) -> None:
        """Shows life, or ends a stream that is too old. `now` by the event loop's clock."""
        if now >= self.closes_at:
            self.end()
        else:
            self.write(BEAT)

    def _cut_if_too_much(self) -> None:
        if self.transport is not None and self.transport.get_write_buffer_size() > self._most:
            self.cut()

    def cut(self) -> None:
        """Ends the connection without another word."""
        self.ended = True
        self._stand_apart()
        if self.transport is not None:
            self.transport.abort()

    def end(self, within: float = LAST_WORDS) -> None:
        """Nothing more is written; what is queued still goes out, to a client that reads it in time. Ended again, it may be given less."""
        begins, self.ended = not self.ended, True
        self._stand_apart()
        if self.transport is None:
            return
        if begins:
            self.transport.write(LAST_CHUNK)
            self.transport.close()
        asyncio.get_running_loop().call_later(within, self.transport.abort)

    def _stand_apart(self) -> None:
        if self.group is not None:
            self._keeper.set_apart(self)

    # The protocol of its connection.

    def pause_writing(self) -> None:
        self._paused = True
        self._stand_apart()
        self._cut_if_too_much()

    def resume_writing(self) -> None:
        self._paused = False
        self._most = MOST_BUFFERED

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # asyncio's signature
        """Frees all that the stream held."""
        self.ended = True
        self.transport = None
        self._aside = None
        self.expires_in(None, self.end)
        self._keeper.leave(self)
