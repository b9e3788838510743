"""Signals: the pieces of a turn's stream, kept for minutes in a stream of their own, and the broadcast that stops a turn.

Whoever loses one loses nothing but time: the truth is in Postgres.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from uuid import UUID

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from askbus.bus import faults, subjects
from askbus.bus.connection import Connection, settle
from askbus.bus.streams import TURNS
from askbus.errors import Unavailable

log = structlog.get_logger()

PIECE = "Askbus-Piece"
BEHIND = 5000
"""How many pieces a reader may be behind before its stream ends."""
OVERLAP = 1000
"""How many of the stored pieces may arrive a second time, live: those of the milliseconds that the catching up takes."""
BATCH = 1000
PATIENCE = 5.0

NO_CONTENT = "204"
NOT_FOUND = "404"


@dataclass(frozen=True)
class Piece:
    """One piece of a turn's stream. `id` is unique in the turn (`<step>.<attempt>.<number>`) and what a client resumes from."""

    id: str
    data: bytes


async def publish_piece(nc: Client, turn_id: UUID, piece: Piece) -> None:
    """Sends a piece to all who watch the turn now, and keeps it for those who come within minutes."""
    await nc.publish(subjects.turn_pieces(turn_id), piece.data, headers={PIECE: piece.id})


async def send_stop(nc: Client, turn_id: UUID) -> None:
    """Tells the one worker that works on the turn to stop; the turn's row says so too, to whoever misses this."""
    await nc.publish(subjects.stop(turn_id), b"")


async def on_stop(nc: Connection, stop: Callable[[UUID], None]) -> Subscription:
    """Calls `stop` with the id of each turn that is to stop."""

    async def receive(message: Msg) -> None:
        try:
            turn_id = UUID(message.subject.rpartition(".")[2])
        except ValueError:
            log.warning("stop.not_understood")
            return
        stop(turn_id)

    subscription = await nc.subscribe(subjects.ALL_STOPS, cb=receive)
    await settle(nc)
    return subscription


class TurnStream:
    """`async with TurnStream(nc, turn_id, after=id) as stream: async for piece in stream: …`

    Every piece once and in order: first those that are stored (after `after`, if given), then live ones. `resumed` is False where
    `after` is no longer stored: then everything stored comes, and the reader starts anew. `stored` are the pieces that were
    there at the beginning. The iteration ends with Unavailable when the reader is too slow or the connection was lost: come back
    with the last id.
    """

    def __init__(self, nc: Connection, turn_id: UUID, after: str | None = None) -> None:
        self.resumed = True
        self._nc = nc
        self._subject = subjects.turn_pieces(turn_id)
        self._after = after
        self._live: asyncio.Queue[Piece | None] = asyncio.Queue(BEHIND)
        self._lost = asyncio.Event()
        self.stored: list[Piece] = []
        self._overlap: set[str] = set()
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        self._nc.reconnected.add(self._lose)
        try:
            # Subscribe first: what is published while the stored ones are read comes twice rather than not at all.
            self._subscription = await self._nc.subscribe(self._subject, cb=self._receive)
            stored = await stored_pieces(self._nc, self._subject)
        except BaseException:
            await self._leave()
            raise
        self._overlap = {piece.id for piece in deque(stored, OVERLAP)}
        places = [number for number, piece in enumerate(stored) if piece.id == self._after]
        self.resumed = self._after is None or bool(places)
        self.stored = stored[places[-1] + 1 :] if places else stored
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._leave()

    async def __aiter__(self) -> AsyncIterator[Piece]:
        for piece in self.stored:
            yield piece
        while True:
            next_piece = await self._live.get()
            if next_piece is None or self._lost.is_set():
                raise Unavailable("The stream was interrupted. Resume it.")
            if next_piece.id not in self._overlap:
                yield next_piece

    def catch_up(self) -> list[Piece]:
        """The stored pieces, at once; the iteration then begins with the live ones."""
        stored, self.stored = self.stored, []
        return stored

    async def _receive(self, message: Msg) -> None:
        if self._live.full():
            self._lose()
        else:
            self._live.put_nowait(_piece(message))

    def _lose(self) -> None:
        self._lost.set()
        if not self._live.full():
            self._live.put_nowait(None)

    async def _leave(self) -> None:
        self._nc.reconnected.discard(self._lose)
        subscription, self._subscription = self._subscription, None
        if subscription is not None and self._nc.alive and not self._nc.is_draining:
            await subscription.unsubscribe()


async def stored_pieces(nc: Client, subject: str) -> list[Piece]:
    """What the stream TURNS keeps of one turn, by batched Direct Get (NATS, ADR-31). Raises Unavailable without the stream."""
    pieces: list[Piece] = []
    sequence = 1
    ends: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def receive(message: Msg) -> None:
        nonlocal sequence
        headers = message.headers or {}
        if "Status" in headers:
            ends.put_nowait(headers)
        else:
            pieces.append(_piece(message))
            sequence = int(headers["Nats-Sequence"]) + 1

    await _barrier(nc)
    inbox = nc.new_inbox()
    subscription = await nc.subscribe(inbox, cb=receive)
    try:
        more = True
        while more:
            request = {"next_by_subj": subject, "seq": sequence, "batch": BATCH}
            await nc.publish(f"$JS.API.DIRECT.GET.{TURNS}", json.dumps(request).encode(), reply=inbox)
            async with asyncio.timeout(PATIENCE):
                more = _is_more(await ends.get())
    except TimeoutError:
        raise Unavailable("The turn's stream cannot be read right now. Try again.") from None
    finally:
        if not nc.is_closed:
            await subscription.unsubscribe()
    return pieces


async def _barrier(nc: Client) -> None:
    """Returns once everything that was published before is stored.

    The server hands a message to subscribers at once and to the stream through a queue: without this, what was published just before
    the subscription could be missing in the stream as well. The wrong stream name makes it refuse this one, in its turn.
    """
    try:
        await nc.request(subjects.TURN_BARRIER, timeout=PATIENCE, headers={"Nats-Expected-Stream": "none"})
    except nats.errors.Error as error:
        raise Unavailable("The turn's stream cannot be read right now. Try again.", {"reason": faults.kind(error)}) from None


def _is_more(end: dict[str, str]) -> bool:
    status = end["Status"]
    if status == NO_CONTENT:
        return int(end.get("Nats-Num-Pending", "0")) > 0
    if status == NOT_FOUND:
        return False
    raise Unavailable("The turn's stream cannot be read right now. Try again.", {"status": status})


def _piece(message: Msg) -> Piece:
    return Piece((message.headers or {}).get(PIECE, ""), message.data)
