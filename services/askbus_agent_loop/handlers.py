"""The agent-loop's handlers. A fact is a wake-up: the turn is read, one thing is decided, done and recorded, and the fact acknowledged.

Facts may arrive late, twice, or in any order; what a turn does next depends on its rows alone.
"""

import asyncio
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakValueDictionary

import structlog

from askbus.access import reads as access
from askbus.access.model import Scope
from askbus.actions import reads as actions
from askbus.attachments import verbs as attachments
from askbus.bus.fact import Fact
from askbus.bus.worker import Later
from askbus.db.pool import Connection, Pool
from askbus.runtime import crash
from askbus.runtime.settings import Settings
from askbus.runtime.telemetry import traceparent
from askbus.threads import verbs as threads
from askbus.threads.lines import title_from
from askbus.threads.model import CreateThread, Thread
from askbus.turns import verbs
from askbus.turns.model import CancelTurn, Claim, RetryTurn, StartTurn, Turn
from askbus_agent_loop.decide import SETTINGS, AwaitTools, Budgets, CallModel, Fail, Last, Nothing, WaitForPerson, decide
from askbus_agent_loop.pieces import Stops
from askbus_agent_loop.stepper import ModelCall, Stepper
from askbus_agent_loop.view import TurnView, load

log = structlog.get_logger()


@dataclass(frozen=True)
class Held:
    """Another worker, or another handler of this one, has the step for `seconds` more."""

    holder: UUID | None
    seconds: float


class Handlers:
    """Commands of threads and turns, and the facts that move turns."""

    def __init__(self, pool: Pool, stepper: Stepper, stops: Stops, settings: Settings, *, holder: UUID) -> None:
        self.pool = pool
        self.stepper = stepper
        self.stops = stops
        self.settings = settings
        self.holder = holder
        self._deciding: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()
        self._measured_every = min(50, settings.thread_messages // 4)
        self.budgets = Budgets(settings.model_calls_per_turn, int(settings.turn_seconds * 1000))

    async def on_create_thread(self, command: CreateThread) -> Thread:
        crash.point("agent.create_thread.before_commit")
        thread = await threads.create(self.pool, command, trace=traceparent())
        crash.point("agent.create_thread.after_commit")
        return thread

    async def on_start_turn(self, command: StartTurn) -> Turn:
        """The message is durable before any model hears of it; what it superseded or interrupted is told to stop."""
        async with self.pool.acquire() as db, db.transaction():
            started = await verbs.start(db, command, title=title_from(command.text), trace=traceparent())
            if command.attachments and started.turn.id == command.turn_id:
                await attachments.attach(db, command.thread_id, command.attachments)
            if started.unmeasured >= self._measured_every:
                await threads.trim(
                    db,
                    command.thread_id,
                    most_messages=self.settings.thread_messages,
                    most_bytes=self.settings.thread_bytes,
                )
            crash.point("agent.start.before_commit")
        crash.point("agent.start.after_commit")
        for turn_id in started.ended:
            await self.stops.stop(turn_id)
        return started.turn

    async def on_retry_turn(self, command: RetryTurn) -> Turn:
        """The earlier turn stays as it is; what the new one superseded or interrupted is told to stop."""
        async with self.pool.acquire() as db, db.transaction():
            started = await verbs.retry(db, command, trace=traceparent())
            crash.point("agent.retry.before_commit")
        crash.point("agent.retry.after_commit")
        for turn_id in started.ended:
            await self.stops.stop(turn_id)
        return started.turn

    async def on_cancel_turn(self, command: CancelTurn) -> Turn:
        crash.point("agent.cancel.before_commit")
        turn = await verbs.cancel(self.pool, command, trace=traceparent())
        crash.point("agent.cancel.after_commit")
        await self.stops.stop(turn.id)
        return turn

    async def on_turn_queued(self, fact: Fact) -> None:
        await self.wake(fact.entity_id)

    async def on_tool_run_finished(self, fact: Fact) -> None:
        if fact.parent_id is not None:
            await self.wake(fact.parent_id)

    async def on_question_settled(self, fact: Fact) -> None:
        """Only a chat's own question has a turn that waits for it."""
        if fact.parent_id is not None:
            await self.wake(fact.parent_id)

    async def on_turn_settled(self, fact: Fact) -> None:
        """The thread's next message, if there is one."""
        following = await verbs.next_in_thread(self.pool, fact.entity_id)
        if following is not None:
            await self.wake(following)

    async def on_dead(self, fact: Fact) -> None:
        """A wake-up that cannot be handled must not leave its turn open for ever."""
        turn_id = fact.entity_id if fact.entity == "turn" else fact.parent_id
        if turn_id is not None and await verbs.fail(self.pool, turn_id, "internal", trace=fact.traceparent):
            log.error("turn.gave_up", turn_id=str(turn_id), fact=fact.fact)

    async def wake(self, turn_id: UUID) -> None:
        """Does whatever the turn's rows ask for, until there is something to wait for. Raises Later where another worker holds it.

        Two tools that end together wake it twice: here the second looks when the first has taken the step, and not beside it.
        """
        deciding = self._deciding.setdefault(turn_id, asyncio.Lock())
        while True:
            with self.stops.watching(turn_id) as stopped:
                async with deciding, self.pool.acquire() as db:
                    found = await self._next_step(db, turn_id)
                if isinstance(found, ModelCall):
                    if await self.stepper.call_model(found, stopped):
                        continue
                    return
            if found is not None:
                self._leave_to(found, turn_id)
            return

    async def _next_step(self, db: Connection, turn_id: UUID) -> ModelCall | Held | None:
        """Reads the turn, and takes its next step where that is a call of the model; other moves are made here."""
        turn = await load(db, turn_id, exchanges=self.settings.prompt_exchanges, time_zone=self.settings.time_zone)
        if turn is None:
            return None
        if turn.lease_left > 0:
            return Held(turn.holder, turn.lease_left)
        match decide(turn, self.budgets):
            case CallModel(step, last):
                return await self._claim(db, turn, step, last)
            case WaitForPerson():
                await verbs.wait(db, Claim(turn.id, turn.step, turn.attempt))
                crash.point("agent.wait.after_commit")
            case Fail(code):
                await self._fail(db, turn, code)
            case AwaitTools() | Nothing():
                pass
        return None

    async def _fail(self, db: Connection, turn: TurnView, code: str) -> None:
        """A tool that is still at work is told to end, wherever it runs; what it comes to is recorded and changes nothing."""
        log.warning("turn.failed", turn_id=str(turn.id), step=turn.step, code=code, setting=SETTINGS.get(code))
        crash.point("agent.fail.before_commit")
        if await verbs.fail(db, turn.id, code, claim=Claim(turn.id, turn.step, turn.attempt), trace=traceparent()):
            crash.point("agent.fail.after_commit")
            await self.stops.stop(turn.id)

    async def _claim(self, db: Connection, turn: TurnView, step: int, last: Last | None) -> ModelCall | Held | None:
        """Claims last: what fails before leaves no lease behind that the next delivery would have to wait for."""
        by = await access.refreshed(db, turn.principal)
        if by is None or not (turn.visible and by.may(Scope.CHAT)):
            await verbs.fail(db, turn.id, "access_ended", claim=Claim(turn.id, turn.step, turn.attempt), trace=traceparent())
            return None
        notes = await actions.outcomes_of_thread(db, turn.thread_id) if turn.proposed else ()
        crash.point("agent.claim.before_commit")
        claimed = await verbs.claim(db, turn.id, from_step=turn.step, step=step, holder=self.holder, lease=self.settings.lease)
        if claimed.claim is None:
            return Held(claimed.holder, claimed.lease_left) if claimed.lease_left > 0 else None
        crash.point("agent.claim.after_commit")
        return ModelCall(turn, claimed.claim, claimed.active_ms, notes, last)

    def _leave_to(self, held: Held, turn_id: UUID) -> None:
        """Somebody has the step. Where that is a call of the model in this process, it began with all that this fact can tell, and its
        own fact is acknowledged only when it ends: nothing is left to do. Raises Later where it is somebody else's.
        """
        if held.holder != self.holder or not self.stops.watched(turn_id):
            raise Later(held.seconds + 0.1)
