"""A turn's stream: the pieces as the worker makes them, the turn's states as they are stored, and at the end the stored answer.

Several tabs may follow one turn; each resumes from its own last id, which the worker numbered, so it holds over restarts of NATS, gateway
and worker. What the pieces lose, the stored answer at the end replaces.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog

from askbus.access import reads as access
from askbus.access.model import Principal
from askbus.bus.connection import Connection
from askbus.bus.signals import Piece, TurnStream
from askbus.db.pool import Pool
from askbus.errors import NotFound, PermissionDenied, Unavailable
from askbus.feed.model import Change
from askbus.runtime.health import Receive, Send
from askbus.turns import reads
from askbus.turns.model import OPEN, TurnDetail
from askbus_gateway.sse.hub import Hub
from askbus_gateway.sse.response import HEADERS, RETRY, abort_of, end_when_gone, send_all
from askbus_gateway.sse.stream import Stream, frame

log = structlog.get_logger()

LAST_WORDS = 1.0
"""Seconds that an ended turn's last piece may take to arrive before the stored answer is read and sent."""


SILENT = frozenset({"tool_call", "tool_run"})
"""Entities that belong to a turn and of which its stream shows nothing: what a tool asked or proposed is a change of its own."""


class Moved:
    """In a watcher's queue: the turn's row, or the watcher's rights, may have changed."""


Event = Piece | Moved | None


class Watcher:
    """What one stream has still to do. `moved` is called however often: the row is read once for all of it."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event] = asyncio.Queue()
        self._moved = False

    def moved(self) -> None:
        if not self._moved:
            self._moved = True
            self._queue.put_nowait(Moved())

    def say(self, piece: Piece | None) -> None:
        """A piece, or that none will follow."""
        self._queue.put_nowait(piece)

    async def next(self) -> Event:
        """Gives way first: of a burst too the client is sent what it takes, before it counts as one that does not read."""
        await asyncio.sleep(0)
        event = await self._queue.get()
        if isinstance(event, Moved):
            self._moved = False
        return event


class TurnStreams:
    """Every turn's stream of this process. `heartbeat` and `age` in seconds."""

    def __init__(self, pool: Pool, nc: Connection, hub: Hub, *, heartbeat: float, age: float) -> None:
        self.pool = pool
        self.nc = nc
        self.heartbeat = heartbeat
        self.age = age
        self._watchers: defaultdict[UUID, set[Watcher]] = defaultdict(set)
        self._stopping = False
        hub.listen(self._on_changes)

    def _on_changes(self, changes: Sequence[Change]) -> None:
        """Wakes the watchers of each turn that moved, and of each principal whose rights did."""
        shown = [change for change in changes if change.entity not in SILENT]
        keys = {key for change in shown for key in (change.entity_id, change.parent_id) if key is not None}
        for key in keys & self._watchers.keys():
            for watcher in self._watchers[key]:
                watcher.moved()

    def end_all(self) -> None:
        """The process drains: every stream ends, and its client resumes elsewhere."""
        self._stopping = True
        for watchers in tuple(self._watchers.values()):
            for watcher in watchers:
                watcher.say(None)

    async def serve(
        self, scope: dict[str, Any], receive: Receive, send: Send, principal: Principal, turn_id: UUID, *, after: str | None
    ) -> None:
        """Answers the request with the stream, until the turn's end, the stream's age, or the client's leaving."""
        watcher = Watcher()
        out = Stream(principal, None, abort_of(scope))
        keys = (turn_id, principal.id, principal.user_id)
        for key in keys:
            self._watchers[key].add(watcher)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            out.write(RETRY)
            tasks = [
                asyncio.create_task(end_when_gone(receive, out)),
                asyncio.create_task(self._follow(out, watcher, principal, turn_id, after)),
            ]
            try:
                await send_all(out, send, heartbeat=self.heartbeat, age=self.age)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for key in keys:
                self._watchers[key].discard(watcher)
                if not self._watchers[key]:
                    del self._watchers[key]

    async def _follow(self, out: Stream, watcher: Watcher, principal: Principal, turn_id: UUID, after: str | None) -> None:
        """The row is read before the stored pieces: of a turn that it calls over, nothing is missing there but the very last."""
        try:
            turn = await self._turn(principal, turn_id)
            async with TurnStream(self.nc, turn_id, after) as pieces:
                if not pieces.resumed:
                    out.write(frame("reset", {"reason": "position"}))
                if turn.state in OPEN:
                    out.write(_state(turn))
                elif not pieces.stored:
                    out.write_whole(_done(turn))
                    return
                ended = 0
                for piece in pieces.catch_up():  # one whole, however long: the client asked for it and is only about to read
                    ended = _ends(piece) or ended
                    out.write_whole(_frame_of(piece))
                pump = asyncio.create_task(_pump(pieces, watcher))
                try:
                    await self._relay(out, watcher, principal, turn, ended)
                finally:
                    pump.cancel()
                    await asyncio.gather(pump, return_exceptions=True)
        except (NotFound, PermissionDenied):
            out.write(frame("end", {"reason": "ended"}))
        except Unavailable as error:
            log.info("turn_stream.interrupted", reason=error.message)
        except Exception as error:  # the stream ends and its client resumes: the turn itself goes on
            log.exception("turn_stream.failed", error=type(error).__name__)
        finally:
            out.end()

    async def _relay(self, out: Stream, watcher: Watcher, principal: Principal, turn: TurnDetail, ended: int) -> None:
        """Pieces and states as they come, until the turn is over. `ended`: the last step that is told to its end."""
        while turn.state in OPEN and not (self._stopping or out.ended):
            event = await watcher.next()
            if event is None:
                return
            if isinstance(event, Piece):
                ended = _ends(event) or ended
                out.write(_frame_of(event))
                continue
            before, turn = turn, await self._turn(principal, turn.id)
            if (turn.state, turn.questions, turn.actions) != (before.state, before.questions, before.actions):
                out.write(_state(turn))
        if turn.state in OPEN:
            return
        if turn.attempt and ended < _last_model_step(turn):
            await self._last_words(out, watcher, _last_model_step(turn))
            turn = await self._turn(principal, turn.id)
        out.write_whole(_done(turn))

    async def _last_words(self, out: Stream, watcher: Watcher, step: int) -> None:
        """The row may be here before the pieces of its last step; and what a stopped worker had said is stored a moment after the
        turn's end."""
        try:
            async with asyncio.timeout(LAST_WORDS):
                while True:
                    event = await watcher.next()
                    if isinstance(event, Piece):
                        out.write(_frame_of(event))
                        if _ends(event) >= step:
                            return
        except TimeoutError:
            return

    async def _turn(self, principal: Principal, turn_id: UUID) -> TurnDetail:
        """The turn as its user may see it now. Raises NotFound where they may not any more."""
        async with self.pool.acquire() as db:
            now = await access.refreshed(db, principal)
            if now is None:
                raise NotFound("This session or token has ended.")
            return await reads.get(db, now, turn_id)


async def _pump(pieces: TurnStream, watcher: Watcher) -> None:
    try:
        async for piece in pieces:
            watcher.say(piece)
    except Unavailable:
        watcher.say(None)


def _state(turn: TurnDetail) -> bytes:
    """The turn's state by ids; without an id of its own, since it is read anew at each connection."""
    shown = turn.model_dump(mode="json", include={"id", "state", "questions", "actions", "error"})
    return frame("turn", shown)


def _done(turn: TurnDetail) -> bytes:
    return frame("done", turn.model_dump(mode="json"))


def _frame_of(piece: Piece) -> bytes:
    data = json.loads(piece.data)
    return frame(str(data.pop("type")), data, piece.id)


def _last_model_step(turn: TurnDetail) -> int:
    """Steps alternate, and the first is the model's: where the turn stands at its tools, or is completed, that is the one before."""
    return turn.step if turn.step % 2 else turn.step - 1


def _ends(piece: Piece) -> int:
    """The step of which nothing comes after this piece; 0 where more does."""
    last = piece.data.startswith((b'{"type":"cut"', b'{"type":"end"'))
    return int(piece.id.partition(".")[0]) if last else 0
