"""Sending webhooks: beside everything else the broker does, so that no address, however slow, holds up an answer.

A delivery is leased, sent and settled. Whoever dies in between leaves a lease that runs out, and the delivery is sent again with the same
`webhook-id`: at least once, and never lost. Nothing is held while a request runs but its socket.
"""

import asyncio
import random
from datetime import UTC, datetime
from time import monotonic

import structlog

from askbus.bus import faults
from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus.outbound.client import Answer, Outbound
from askbus.runtime import crash
from askbus.runtime.sealing import CannotOpen, Sealer
from askbus.webhooks import verbs
from askbus.webhooks.model import outcome_of, pause_after
from askbus.webhooks.signing import body_of, headers_of
from askbus.webhooks.verbs import Due

log = structlog.get_logger()

POLL = 1.0
"""Seconds between two looks at what is due: retries, and what other instances noted."""
LEASE = 2.0
"""A lease lasts this many times as long as an attempt may."""


class Sender:
    """One instance's share of the deliveries. `timeout` is in seconds, for one attempt, `drain` what `stop` leaves those that run; `slots`
    attempts run at once."""

    def __init__(self, pool: Pool, sealer: Sealer, outbound: Outbound, *, timeout: float, slots: int, drain: float) -> None:
        self.pool = pool
        self.sealer = sealer
        self.outbound = outbound
        self.timeout = timeout
        self.slots = slots
        self.drain = drain
        self._sending: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Something is due now."""
        self._woken.set()

    async def run(self) -> None:
        """Sends until cancelled, over every fault of Postgres."""
        while not self._stopping:
            self._woken.clear()
            taken = 0
            try:
                taken = await self._take()
            except Exception as error:  # noqa: BLE001  # the rows are there: say so and look again
                log.warning("webhooks.not_claimed", reason=faults.reason(error))
            if not taken:
                await self._rest()

    async def stop(self) -> None:
        """Takes nothing more and finishes what is on its way. What does not end in time is sent again once its lease has run out."""
        self._stopping = True
        self._woken.set()
        if self._sending:
            _, late = await asyncio.wait(set(self._sending), timeout=self.drain)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.outbound.close()

    async def _take(self) -> int:
        free = self.slots - len(self._sending)
        if free <= 0:
            return 0
        claimed = await verbs.claim(self.pool, limit=free, lease=LEASE * self.timeout)
        for due in claimed:
            task = asyncio.create_task(self._deliver(due), name=f"webhook {due.id}")
            self._sending.add(task)
            task.add_done_callback(self._done)
        return len(claimed)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._woken.set()  # a slot is free, and its webhook may have more

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(POLL):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _deliver(self, due: Due) -> None:
        try:
            crash.point("broker.webhook.after_claim")
            started = monotonic()
            answer = await self._send(due)
            crash.point("broker.webhook.after_send")
            await self._settle(due, answer, round(1000 * (monotonic() - started)))
        except Exception as error:  # noqa: BLE001  # its lease runs out, and it is sent again
            log.warning("webhook.not_settled", delivery_id=str(due.id), reason=faults.reason(error))

    async def _send(self, due: Due) -> Answer:
        body = body_of(
            due.event,
            occurred_at=due.occurred_at,
            entity_id=due.entity_id,
            status=due.status,
            workspace_id=due.workspace_id,
            project_id=due.project_id,
            assignee_id=due.assignee_id,
        )
        try:
            secrets = [self.sealer.open(sealed, due.whose) for sealed in due.sealed]
            headers = headers_of(due.id, body, secrets, datetime.now(UTC))
            return await self.outbound.post(due.url, body.encode(), headers, self.timeout)
        except CannotOpen:
            return Answer(error="secret_unreadable")
        except InvalidInput:
            return Answer(error="address_refused")  # the operator lists its host no more

    async def _settle(self, due: Due, answer: Answer, duration_ms: int) -> None:
        outcome = outcome_of(answer.status, due.failures)
        pause = pause_after(due.failures, random.random(), answer.retry_after) if outcome == "again" else 0  # noqa: S311  # spreads
        disabled = await verbs.settle(
            self.pool, due, outcome, status=answer.status, error=answer.error, duration_ms=duration_ms, pause=pause
        )
        log.info(
            "webhook.attempted",
            webhook_id=str(due.webhook_id),
            delivery_id=str(due.id),
            event_type=due.event,
            outcome=outcome,
            status=answer.status,
            error=answer.error,
            duration_ms=duration_ms,
        )
        if disabled is not None:
            log.warning("webhook.disabled", webhook_id=str(due.webhook_id), reason=disabled)
