"""Runs one call: claimed in Postgres, its lease kept while the tool works, ended by its outcome, the clock or a stop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID, uuid4

import structlog

from askbus.access import reads as access
from askbus.db.outages import OUTAGES
from askbus.db.pool import Pool
from askbus.runtime import crash, telemetry
from askbus.runtime.settings import Settings
from askbus.tools import verbs
from askbus.tools.model import Held, Outcome, Over, RunState, StartedRun
from askbus_tool_runner.work import Cut, Job, Running, Work

log = structlog.get_logger()

T = TypeVar("T")

REST = 0.2


class Runner:
    """Everything that runs tools in one process."""

    def __init__(self, pool: Pool, work: Work, settings: Settings) -> None:
        self.pool = pool
        self.work = work
        self.settings = settings
        self._running: set[Running] = set()

    def stop(self, turn_id: UUID) -> None:
        """Ends what runs here for a turn that was stopped."""
        for running in list(self._running):
            if running.turn_id == turn_id:
                running.end(Cut.STOPPED)

    async def run(self, call_id: UUID, turn_id: UUID | None) -> float | None:
        """Runs the call if it is to be run, and records the outcome. Seconds to wait where somebody else runs it."""
        running = Running(turn_id)
        self._running.add(running)
        try:
            crash.point("runner.start.before_commit")
            claimed = await verbs.start_run(
                self.pool,
                call_id,
                claim=uuid4(),
                lease=self.settings.lease,
                repeatable=self.work.repeatable,
                trace=telemetry.traceparent(),
            )
            crash.point("runner.start.after_commit")
            match claimed:
                case Held(seconds=seconds):
                    return seconds
                case Over(why=why):
                    log.info("tool_call.over", call_id=str(call_id), why=why)
                    return None
                case StartedRun():
                    await self._run(claimed, running)
                    return None
        finally:
            self._running.discard(running)

    async def _run(self, run: StartedRun, running: Running) -> None:
        running.turn_id = run.turn_id
        keeping = asyncio.create_task(self._keep(run, running))
        try:
            outcome = await self._outcome(run, running)
            if outcome is None:
                log.warning("tool_run.lost", call_id=str(run.call_id), attempt=run.attempt)
                return
            outcome = outcome.redacted()
            crash.point("runner.finish.before_commit")
            recorded = await self._through_outages(
                lambda: verbs.finish_run(self.pool, run, outcome, trace=telemetry.traceparent() or run.trace)
            )
            crash.point("runner.finish.after_commit")
        except asyncio.CancelledError:
            await self._hand_back(run)
            raise
        finally:
            keeping.cancel()
        self._say(run, outcome, recorded=recorded)

    async def _outcome(self, run: StartedRun, running: Running) -> Outcome | None:
        """What the run comes to; None where it is not ours any more."""
        standing = await access.standing(self.pool, run.principal)
        job = Job(
            call_id=run.call_id,
            name=run.name,
            arguments=run.arguments,
            by=standing.principal if standing is not None else None,
            project_id=run.project_id,
            visible=run.visible,
            thread_id=run.thread_id,
            turn_id=run.turn_id,
            attempt=run.attempt,
            time_zone=standing.time_zone if standing is not None else None,
            locale=standing.locale if standing is not None else None,
        )
        return await self.work.outcome(job, running)

    async def _keep(self, run: StartedRun, running: Running) -> None:
        """Renews the lease while the tool works, and ends the tool where the run was lost or its turn has ended."""
        while True:
            await asyncio.sleep(self.settings.lease / 3)
            try:
                live = await verbs.renew(self.pool, run, self.settings.lease)
            except OUTAGES as error:
                log.warning("tool_run.lease_not_renewed", call_id=str(run.call_id), error=type(error).__name__)
                continue
            if not live:
                running.end(Cut.LOST if live is None else Cut.STOPPED)
                return

    async def _hand_back(self, run: StartedRun) -> None:
        """At a drain: whoever comes next need not wait for the lease. If this fails, they wait."""
        try:
            await verbs.renew(self.pool, run, 0)
        except OUTAGES as error:
            log.warning("tool_run.not_handed_back", call_id=str(run.call_id), error=type(error).__name__)

    async def _through_outages(self, work: Callable[[], Awaitable[T]]) -> T:
        """An outcome that is there is recorded as soon as Postgres is; for as long as a tool may take. Raises the outage then."""
        clock = asyncio.get_running_loop().time
        until = clock() + self.settings.tool_seconds
        while True:
            try:
                return await work()
            except OUTAGES as error:
                if clock() > until:
                    raise
                log.warning("tool_run.waits", error=type(error).__name__)
            await asyncio.sleep(REST)

    def _say(self, run: StartedRun, outcome: Outcome, *, recorded: bool) -> None:
        said = {
            "call_id": str(run.call_id),
            "tool": run.name if run.name in self.work.tools else "unknown",
            "state": outcome.state.value,
        }
        if not recorded:
            log.warning("tool_run.late", attempt=run.attempt, **said)
        elif outcome.state in {RunState.FAILED, RunState.UNKNOWN}:
            code = outcome.result.error.code if outcome.result and outcome.result.error else None
            log.warning("tool_run.finished", code=code, **said)
        else:
            log.info("tool_run.finished", **said)
