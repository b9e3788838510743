"""The stream of a model call while it happens: pieces on the turn's subject, text coalesced, each with an id that outlives NATS.

Ids are `<step>.<attempt>.<position>`: made here and not by the broker, so a client may resume after NATS was restarted. If the store was
lost meanwhile, the text so far is published again as one `reset` piece.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Self
from uuid import UUID

import nats.errors
import structlog
from pydantic_core import to_json

from askbus.bus.connection import Connection
from askbus.bus.signals import Piece, on_stop, publish_piece, send_stop
from askbus.turns.model import Claim

log = structlog.get_logger()

COALESCE_SECONDS = 0.015
COALESCE_DELTAS = 40


class Pieces:
    """The pieces of one claimed step. What is lost here is lost to watchers for a moment only: the message itself is in Postgres."""

    def __init__(self, nc: Connection, claim: Claim) -> None:
        self.nc = nc
        self.claim = claim
        self.text = ""
        self.model = ""
        """Who says it, once that is known."""
        self._where = {"step": claim.step, "attempt": claim.attempt}
        self._position = 0
        self._held: list[str] = []
        self._flush_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self.nc.reconnected.add(self._again)
        await self._send("step")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.nc.reconnected.discard(self._again)
        await self.flush()

    async def delta(self, text: str) -> None:
        """A piece of text. The first goes out at once; the rest by fifteen milliseconds or forty deltas."""
        first = not self.text
        self.text += text
        self._held.append(text)
        now = time.monotonic()
        if first or now >= self._flush_at or len(self._held) >= COALESCE_DELTAS:
            await self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._flush_at - now, self._due)

    async def flush(self) -> None:
        """Sends what is held."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            text, self._held = "".join(self._held), []
            self._flush_at = time.monotonic() + COALESCE_SECONDS
            await self._send("delta", text=text)

    async def calls(self, calls: list[dict[str, str]]) -> None:
        """The tools that are at work now."""
        await self._send("calls", calls=calls)

    async def again(self) -> None:
        """What this step said is no answer: the model writes another one, in its next step."""
        await self._send("again")

    async def end(self) -> None:
        """The step is recorded; whoever watches has all of it."""
        await self._send("end")

    async def cut(self, why: str) -> None:
        """Nothing more comes of this step: it was stopped, or it failed."""
        await self.flush()
        await self._send("cut", why=why)

    def _due(self) -> None:
        self._timer = None
        self._spawn(self.flush())

    def _again(self) -> None:
        """NATS may have come back without its memory: what was said so far, once more, as one piece."""
        self._held.clear()
        self._spawn(self._send("reset", text=self.text))

    def _spawn(self, sending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, kind: str, **more: object) -> None:
        self._position += 1
        piece = Piece(f"{self.claim.step}.{self.claim.attempt}.{self._position}", to_json({"type": kind, **self._where, **more}))
        try:
            await publish_piece(self.nc, self.claim.turn_id, piece)
        except nats.errors.Error as error:
            log.warning("turn.piece_lost", turn_id=str(self.claim.turn_id), error=type(error).__name__)


class Stops:
    """Who works on which turn here: the broadcast reaches every agent-loop, and one of them does."""

    def __init__(self, nc: Connection) -> None:
        self.nc = nc
        self._running: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)

    async def listen(self) -> None:
        """From now on the broadcast is heard."""
        await on_stop(self.nc, self._stopped)

    def _stopped(self, turn_id: UUID) -> None:
        for stopped in self._running.get(turn_id, ()):
            stopped.set()

    def watched(self, turn_id: UUID) -> bool:
        """Whether somebody here watches."""
        return turn_id in self._running

    @contextmanager
    def watching(self, turn_id: UUID) -> Iterator[asyncio.Event]:
        """An event that is set when the turn is stopped. Watch before claiming, so that no stop falls between."""
        event = asyncio.Event()
        self._running[turn_id].add(event)
        try:
            yield event
        finally:
            self._running[turn_id].discard(event)
            if not self._running[turn_id]:
                del self._running[turn_id]

    async def stop(self, turn_id: UUID) -> None:
        """Tells whoever works on it, here or in another process. If this is lost, the next renewal of the lease finds out."""
        try:
            await send_stop(self.nc, turn_id)
        except nats.errors.Error as error:
            log.warning("turn.stop_not_sent", turn_id=str(turn_id), error=type(error).__name__)
