"""The pull worker: acts on one service's facts, each at least once, with as many slots as it is given.

A slot takes one message, keeps it alive while the handler works, and acknowledges it after the handler's transaction; nothing is
fetched that no slot is free for. A message is tried again with growing delays and set aside as a dead letter in the end.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping
from time import monotonic, time

import nats.errors
import structlog
from nats.aio.msg import Msg
from nats.js.errors import APIError
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import ValidationError

from askbus.bus import faults
from askbus.bus.connection import Connection, settle
from askbus.bus.dead import DeadLetters
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.pull import ConsumerGone, Pull
from askbus.bus.streams import ACTS_ON, DELIVERIES, FACTS
from askbus.errors import Unavailable
from askbus.runtime import crash, telemetry

log = structlog.get_logger()

Handler = Callable[[Fact], Awaitable[None]]

EXPIRES = 5.0
LONGEST_REST = 2.0
ROUND_TRIP = 0.25
"""Seconds after which a slot that has no fact yet waits for one that is not there, and not for the server's answer."""
PATIENCE = 60.0
"""Seconds that a slot waits for a dependency before its message counts as failed once."""

OUTAGES: tuple[type[Exception], ...] = (Unavailable, ConnectionError)
"""What a handler raises when something that it needs is down: no fault of the message, so it keeps its slot and tries again."""


class Later(Exception):
    """Raised by a handler that met a live lease: deliver this again in so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds:.1f} s")
        self.seconds = seconds


class Worker:
    """One process's share of a service's facts. `handlers` names one handler for each fact in `streams.ACTS_ON[service]`.

    `on_dead`, if given, is called before a fact is set aside, so that its owner can settle the row; it may be called twice.
    `ack_wait` (seconds) must be the consumer's; `outages` widens what counts as a dependency being down.
    """

    def __init__(
        self,
        nc: Connection,
        service: Service,
        handlers: Mapping[str, Handler],
        *,
        slots: int = 8,
        ack_wait: float = 5,
        outages: tuple[type[Exception], ...] = (),
        on_dead: Handler | None = None,
    ) -> None:
        if set(handlers) != ACTS_ON[service]:
            odd = sorted(set(handlers) ^ ACTS_ON[service])
            raise ValueError(f"{service.value}: handlers and streams.ACTS_ON differ in {', '.join(odd)}")
        self.service = service
        self._nc = nc
        self._handlers = handlers
        self._pulls = [Pull(nc, FACTS, service.value) for _ in range(slots)]
        self._ack_wait = ack_wait
        self._outages = OUTAGES + outages
        self._dead = DeadLetters(nc, service.value, on_dead)
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()
        self._busy = 0
        self._answered_at = float("-inf")
        self._waiting: dict[Pull, float] = {}
        self._reached = float("-inf")
        self._trouble: str | None = None

    async def start(self) -> None:
        """Begins to work; returns at once, also while streams and consumers are missing."""
        for pull in self._pulls:
            await pull.open()
        await self._dead.watch()
        await settle(self._nc)
        self._answered_at = monotonic()
        self._tasks = [asyncio.create_task(self._slot(pull)) for pull in self._pulls]

    async def stop(self, drain: float = 10) -> None:
        """Fetches nothing more; handlers may finish for `drain` seconds, then they are cancelled, their messages handed back."""
        self._stopping.set()
        await asyncio.gather(*(pull.close() for pull in self._pulls))
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=drain)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._dead.close()

    async def healthy(self) -> bool:
        """Connected, the consumer is there, and it answered lately (or every slot is at work)."""
        if not self._nc.is_connected or any(task.done() for task in self._tasks) or not self._tasks:
            return False
        if self._busy < len(self._pulls) and monotonic() - self._answered_at > 2 * EXPIRES:
            return False
        try:
            await self._nc.jsm(timeout=1).consumer_info(FACTS, self.service.value)
        except (APIError, nats.errors.Error):
            return False
        return True

    def behind(self) -> float:
        """For how many seconds a fact may have waited that was given to no worker yet: 0 where a slot waits for facts, and without end
        as long as nothing is known, just after the start. What has rested for longer has no fact in the queue.
        """
        now = monotonic()
        if any(now - since > ROUND_TRIP for since in self._waiting.values()):
            return 0.0
        return now - self._reached

    async def _slot(self, pull: Pull) -> None:
        rest = 0.0
        while not self._stopping.is_set():
            self._waiting[pull] = monotonic()
            try:
                message = await pull.one(EXPIRES)
            except (ConsumerGone, nats.errors.Error) as error:
                self._in_trouble(f"{type(error).__name__}: {error}")
                rest = min(LONGEST_REST, 2 * rest or 0.1)
                await self._rest(rest * random.uniform(0.5, 1))  # noqa: S311  # spreads the slots, hides nothing
                continue
            finally:
                self._waiting.pop(pull, None)
            rest = 0.0
            self._out_of_trouble()
            self._reach(message)
            if message is not None:
                self._busy += 1
                try:
                    await self._take(message)
                finally:
                    self._busy -= 1

    def _reach(self, message: Msg | None) -> None:
        """Facts are given out in the order in which they were stored: all that are older than this one were given to somebody."""
        waited = 0.0
        if message is not None:
            told = message.metadata
            if told.num_delivered > 1:
                return
            if told.num_pending:
                waited = max(0.0, time() - told.timestamp.timestamp())
        self._reached = max(self._reached, monotonic() - waited)

    def _in_trouble(self, trouble: str) -> None:
        if self._trouble != trouble:
            self._trouble = trouble
            log.warning("worker.cannot_fetch", consumer=self.service.value, reason=trouble)

    def _out_of_trouble(self) -> None:
        self._answered_at = monotonic()
        if self._trouble is not None:
            self._trouble = None
            log.info("worker.fetches_again", consumer=self.service.value)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _take(self, message: Msg) -> None:
        beat = asyncio.create_task(self._keep(message))
        try:
            await self._settle(message)
        except asyncio.CancelledError:
            await self._hand_back(message, 0)
            raise
        except Exception as error:  # noqa: BLE001  # NATS went away at the end, or setting aside failed: it is delivered again
            log.warning("worker.not_settled", consumer=self.service.value, error=faults.reason(error))
            await self._hand_back(message, self._ack_wait)
        finally:
            beat.cancel()

    async def _keep(self, message: Msg) -> None:
        """Tells the server that the message is being worked on, or it would deliver it a second time after ack_wait."""
        while True:
            await asyncio.sleep(self._ack_wait / 3)
            with contextlib.suppress(nats.errors.Error):
                await message.in_progress()

    async def _settle(self, message: Msg) -> None:
        try:
            fact = decode(message)
        except ValidationError as error:
            await self._dead.set_aside(message, faults.reason(error), None)
            return
        if fact.delivery > DELIVERIES:
            await self._dead.set_aside(message, "ended its worker, or was never settled", fact)
            return
        try:
            await self._handle(fact)
        except Later as later:
            await self._later(message, fact, later.seconds)
        except _Stopping:
            await self._hand_back(message, 0)
        except Exception as error:  # noqa: BLE001  # whatever a handler raises: again, and in the end a dead letter
            await self._failed(message, fact, error)
        else:
            crash.point(f"worker.{self.service.value}.before_ack")
            await self._acknowledge(message, fact)

    async def _handle(self, fact: Fact) -> None:
        """Calls the handler in a span of the fact's trace; while a dependency is down, again and again in this slot."""
        rest, since = 0.1, monotonic()
        while True:
            outage: Exception | None = None
            failure: Exception | None = None
            with telemetry.span(
                fact.fact, kind=SpanKind.CONSUMER, parent=fact.traceparent, entity_id=str(fact.entity_id)
            ) as span:
                try:
                    await self._handlers[fact.fact](fact)
                except Exception as error:  # noqa: BLE001  # raised below, outside of the span, which would record its words
                    # A ValueError is what was asked, also where its class is a client's for "not now" (asyncpg.DataError).
                    if isinstance(error, self._outages) and not isinstance(error, ValueError):
                        outage = error
                    else:
                        failure = error
                if (failed := outage or failure) is not None and not isinstance(failed, Later):
                    span.set_status(StatusCode.ERROR)
                    span.set_attribute("error.type", type(failed).__name__)
            if failure is not None:
                raise failure
            if outage is None:
                return
            if monotonic() - since > PATIENCE:
                raise outage
            log.warning("fact.waits", fact=fact.fact, entity_id=str(fact.entity_id), error=type(outage).__name__)
            await self._rest(rest)
            if self._stopping.is_set():
                raise _Stopping
            rest = min(LONGEST_REST, 2 * rest)

    async def _later(self, message: Msg, fact: Fact, seconds: float) -> None:
        if fact.delivery < DELIVERIES:
            await self._hand_back(message, seconds)
            return
        # Somebody else has held it all this time. If they die, the owner's sweep wakes the row with a new message.
        log.info("fact.left_to_the_sweep", fact=fact.fact, entity_id=str(fact.entity_id))
        await self._acknowledge(message, fact)

    async def _failed(self, message: Msg, fact: Fact, error: Exception) -> None:
        last = fact.delivery >= DELIVERIES
        log.error(
            "fact.failed",
            fact=fact.fact,
            entity_id=str(fact.entity_id),
            delivery=fact.delivery,
            last=last,
            error=faults.kind(error),
            frames=faults.stack(error),
        )
        if last:
            await self._dead.set_aside(message, faults.reason(error), fact)
        else:
            await self._hand_back(message, self._ack_wait / 10 * 2 ** (fact.delivery - 1))

    async def _acknowledge(self, message: Msg, fact: Fact) -> None:
        try:
            await message.ack_sync(timeout=self._ack_wait)
        except nats.errors.Error as error:
            # It is delivered again, and the handler finds that it is done.
            log.warning("fact.not_acknowledged", fact=fact.fact, error=type(error).__name__)

    async def _hand_back(self, message: Msg, seconds: float) -> None:
        with contextlib.suppress(nats.errors.Error):
            await message.nak(delay=seconds)


class _Stopping(Exception):
    """The worker stops while a message waits for a dependency."""


def decode(message: Msg) -> Fact:
    """Raises ValidationError where the message is no fact."""
    fact = Fact.model_validate_json(message.data)
    traceparent = (message.headers or {}).get("traceparent")
    return fact.model_copy(update={"traceparent": traceparent, "delivery": message.metadata.num_delivered})
