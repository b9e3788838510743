"""The tool-runner's handlers: calls that were requested, turns that were stopped, calls that nobody runs."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import structlog

from askbus.bus import faults
from askbus.bus.fact import Fact
from askbus.bus.worker import Later
from askbus.db.pool import Pool
from askbus.runtime import crash, telemetry
from askbus.runtime.settings import Settings
from askbus.tools import reads, verbs
from askbus.tools.model import StuckCall
from askbus_tool_runner.runner import Runner

log = structlog.get_logger()


class Handlers:
    """What wakes the runner, and what stops it."""

    def __init__(self, pool: Pool, runner: Runner, committed: Callable[[], None], settings: Settings) -> None:
        self.pool = pool
        self.runner = runner
        self.committed = committed
        self.settings = settings
        self._swept: dict[UUID, asyncio.Task[None]] = {}
        self._draining = False

    async def on_tool_call_requested(self, fact: Fact) -> None:
        """Runs the call. Raises Later where another worker does, until its lease is over."""
        held = await self.runner.run(fact.entity_id, fact.parent_id)
        if held is not None:
            raise Later(held)

    async def on_turn_cancelled(self, fact: Fact) -> None:
        """Ends what runs here for the turn; other processes hear the signal, or find out when they renew."""
        self.runner.stop(fact.entity_id)

    async def on_dead(self, fact: Fact) -> None:
        """A call whose wake-up is a dead letter ends as an error, which goes back to the model."""
        if fact.fact != "tool_call.requested":
            return
        crash.point("runner.give_up.before_commit")
        ended = await verbs.give_up(
            self.pool, fact.entity_id, repeatable=self.runner.work.repeatable, trace=telemetry.traceparent() or fact.traceparent
        )
        crash.point("runner.give_up.after_commit")
        self.committed()
        log.error("tool_call.given_up", call_id=str(fact.entity_id), ended=ended)

    async def run_stuck_calls(self) -> None:
        """Runs calls whose fact was lost, or whose worker died. The claim decides between several sweeps and a late fact."""
        free = self.settings.slots - len(self._swept)
        if free <= 0 or self._draining:
            return
        for call in await reads.stuck(self.pool, after=self.settings.stuck_after, most=self.settings.slots):
            if call.id not in self._swept and len(self._swept) < self.settings.slots:
                self._swept[call.id] = asyncio.create_task(self._run_stuck(call))

    async def _run_stuck(self, call: StuckCall) -> None:
        log.info("tool_call.woken", call_id=str(call.id))
        try:
            with telemetry.span("tool_call.woken", parent=call.trace, entity_id=str(call.id)):
                await self.runner.run(call.id, call.turn_id)
            self.committed()
        except Exception as error:  # noqa: BLE001  # the next round finds the call again
            log.warning("tool_call.not_run", call_id=str(call.id), error=faults.kind(error))
        finally:
            del self._swept[call.id]

    async def drain(self) -> None:
        """Lets what the sweep began come to its end, as the worker does with its own; what takes longer is handed back."""
        self._draining = True
        tasks = list(self._swept.values())
        if tasks:
            await asyncio.wait(tasks, timeout=self.settings.drain)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
