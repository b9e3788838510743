"""A turn's stream: the pieces as the worker makes them, the turn's states as they are stored, and at the end the stored answer.

Several tabs may follow one turn; each resumes from its own last id, which the worker numbered, so it holds over restarts of NATS, gateway
and worker. What the pieces lose, the stored answer at the end replaces.
"""

import asyncio
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
from askbus.turns.model import OPEN, TurnDetail, TurnState
from askbus_gateway.sse.hub import Hub
from askbus_gateway.sse.native import NativeView
from askbus_gateway.sse.outlet import Outlet
from askbus_gateway.sse.response import RETRY, abort_of, end_when_gone, send_all
from askbus_gateway.sse.view import Done, Happening, Interrupted, Paused, PositionLost, State, View, Withdrawn

log = structlog.get_logger()

LAST_WORDS = 1.0
"""Seconds that an ended turn's last piece may take to arrive before the stored answer is read and sent."""
LARGE = 16 * 1024
"""Bytes from which on what a view says at a piece is more than that piece."""
LAST_CALL = 0.85
"""The part of a stream's age after which a view that has to end in words ends: before the youngest age at which it would be cut off."""


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
        self.stopping = False
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
        self.stopping = True
        for watchers in tuple(self._watchers.values()):
            for watcher in watchers:
                watcher.say(None)

    async def serve(
        self,
        scope: dict[str, Any],
        receive: Receive,
        send: Send,
        principal: Principal,
        turn_id: UUID,
        *,
        after: str | None = None,
        view: View | None = None,
    ) -> None:
        """Answers the request with the stream, until the turn's end, the stream's age, or the client's leaving."""
        view = view or NativeView()
        watcher = Watcher()
        out = Outlet(abort_of(scope))
        keys = (turn_id, principal.id, principal.user_id)
        for key in keys:
            self._watchers[key].add(watcher)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": view.headers})
            out.write(RETRY)
            tasks = [
                asyncio.create_task(end_when_gone(receive, out)),
                asyncio.create_task(Following(self, out, watcher, view, principal).run(turn_id, after)),
            ]
            # A vocabulary without ids has to end in words: a little before the stream is too old.
            last_call = asyncio.get_running_loop().call_later(self.age * LAST_CALL, watcher.say, None) if view.pauses else None
            try:
                await send_all(out, send, heartbeat=self.heartbeat, age=self.age)
            finally:
                if last_call is not None:
                    last_call.cancel()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for key in keys:
                self._watchers[key].discard(watcher)
                if not self._watchers[key]:
                    del self._watchers[key]

    async def turn(self, principal: Principal, turn_id: UUID) -> TurnDetail:
        """The turn as its user may see it now. Raises NotFound where they may not any more."""
        async with self.pool.acquire() as db:
            now = await access.refreshed(db, principal)
            if now is None:
                raise NotFound("This session or token has ended.")
            return await reads.get(db, now, turn_id)


class Following:
    """One client that follows one turn."""

    def __init__(self, streams: TurnStreams, out: Outlet, watcher: Watcher, view: View, principal: Principal) -> None:
        self.streams = streams
        self.out = out
        self.watcher = watcher
        self.view = view
        self.principal = principal
        self.ended = 0
        """The last step that is told to its end."""
        self.called = -1
        """The last step that was heard to ask for tools."""

    async def run(self, turn_id: UUID, after: str | None) -> None:
        """Tells all of it. Whatever happens, the last thing told is a happening that ends the stream."""
        last: Happening = Interrupted()
        try:
            last = await self._tell_until_last(turn_id, after)
            self.out.write_whole(await self.view.show(last))
        except (NotFound, PermissionDenied):
            self.out.write_whole(await self.view.show(Withdrawn()))
        except Unavailable as error:
            log.info("turn_stream.interrupted", reason=error.message)
            self.out.write_whole(await self.view.show(Interrupted()))
        except Exception as error:  # the stream ends and its client resumes: the turn itself goes on
            log.exception("turn_stream.failed", error=type(error).__name__)
            self.out.write_whole(await self.view.show(Interrupted()))
        finally:
            self.out.end()

    async def _tell_until_last(self, turn_id: UUID, after: str | None) -> Happening:
        """Tells everything up to the happening that is returned, which is the last and yet untold.

        The row is read before the stored pieces: of a turn that it calls over, nothing is missing there but the very last.
        """
        turn = await self.streams.turn(self.principal, turn_id)
        async with TurnStream(self.streams.nc, turn_id, after) as pieces:
            if not pieces.resumed:
                await self._tell(PositionLost())
            if turn.state in OPEN:
                self.out.write_whole(await self.view.show(State(turn)))
            elif not pieces.stored:
                return Done(turn)
            for piece in pieces.catch_up():  # one whole, however long: the client asked for it and is only about to read
                self._note(piece)
                self.out.write_whole(await self.view.show(piece))
            pump = asyncio.create_task(_pump(pieces, self.watcher))
            try:
                return await self._relay(turn)
            finally:
                pump.cancel()
                await asyncio.gather(pump, return_exceptions=True)

    async def _relay(self, turn: TurnDetail) -> Happening:
        """Pieces and states as they come, until the turn is over, or waits where the view pauses then."""
        while turn.state in OPEN and not (self.streams.stopping or self.out.ended):
            if self.view.pauses and _asks(turn):
                before, turn = turn, await self._with_last_words(turn)
                if _asks(turn):
                    return Paused(turn)
                await self._tell_moved(before, turn)
                continue
            event = await self.watcher.next()
            if event is None:
                return Interrupted()
            if isinstance(event, Piece):
                self._note(event)
                await self._tell(event)
                continue
            before, turn = turn, await self.streams.turn(self.principal, turn.id)
            await self._tell_moved(before, turn)
        if turn.state in OPEN:
            return Interrupted()
        return Done(await self._with_last_words(turn))

    def _note(self, piece: Piece) -> None:
        if piece.data.startswith((b'{"type":"cut"', b'{"type":"end"')):
            self.ended = _step(piece)
        elif piece.data.startswith(b'{"type":"calls"'):
            self.called = _step(piece)

    async def _tell(self, what: Happening) -> None:
        """What is live counts against a client that does not read; what brings it up to date is one whole, however large."""
        data = await self.view.show(what)
        if isinstance(what, Piece) and len(data) < LARGE:
            self.out.write(data)
        else:
            self.out.write_whole(data)

    async def _tell_moved(self, before: TurnDetail, turn: TurnDetail) -> None:
        if (turn.state, turn.questions, turn.actions) != (before.state, before.questions, before.actions):
            await self._tell(State(turn))

    async def _with_last_words(self, turn: TurnDetail) -> TurnDetail:
        """The turn once its last step is told. The row may be here before the pieces of that step; and what a stopped worker had said is
        stored a moment after the turn's end."""
        step = _last_model_step(turn, self.called)
        if not turn.attempt or max(self.ended, self.view.told) >= step:
            return turn
        try:
            async with asyncio.timeout(LAST_WORDS):
                while self.ended < step:
                    event = await self.watcher.next()
                    if isinstance(event, Piece):
                        self._note(event)
                        await self._tell(event)
        except TimeoutError:
            self.ended = step  # they are lost: nothing is waited for again
        return await self.streams.turn(self.principal, turn.id)


async def _pump(pieces: TurnStream, watcher: Watcher) -> None:
    try:
        async for piece in pieces:
            watcher.say(piece)
    except Unavailable:
        watcher.say(None)


def _asks(turn: TurnDetail) -> bool:
    """Whether it waits for a person. The row of a question that was answered may be ahead of the turn's."""
    return turn.state is TurnState.WAITING and bool(turn.questions)


def _last_model_step(turn: TurnDetail, called: int) -> int:
    """The last step in which the model spoke, or speaks. `called`: the last one that was heard to ask for tools, or less than zero.

    Where the turn is completed or waits that is the one before, and where it was ended at its tools. Steps alternate, and the first is the
    model's; but where it gave no answer and was asked once more, its next step follows at once.
    """
    if turn.state in {TurnState.COMPLETED, TurnState.WAITING} or called == turn.step - 1:
        return turn.step - 1
    return turn.step if turn.step % 2 else turn.step - 1


def _step(piece: Piece) -> int:
    return int(piece.id.partition(".")[0])
