"""Runs one call: claimed in Postgres, its lease kept while the tool works, ended by its outcome, the clock or a stop."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID, uuid4

import structlog
from opentelemetry.trace import StatusCode
from pydantic import BaseModel

from askbus.access import reads as access
from askbus.access.model import Principal
from askbus.bus import faults
from askbus.bus.commands import Commands
from askbus.db.outages import OUTAGES
from askbus.db.pool import Pool
from askbus.errors import AskbusError, Internal, InvalidInput, PermissionDenied, TimedOut
from askbus.models.model import parse_arguments
from askbus.records.engine import Records
from askbus.runtime import crash, telemetry
from askbus.runtime.settings import Settings
from askbus.tools import verbs
from askbus.tools.arguments import read, unknown_tool
from askbus.tools.model import STOPPED, Held, Outcome, Over, RunState, StartedRun
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.registry import Tool

log = structlog.get_logger()

T = TypeVar("T")

LETTING_GO = 1.0
"""Seconds that a tool may take to end once it was told to."""
REST = 0.2


class Cut(StrEnum):
    """Why a tool was ended before it came to anything."""

    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    LOST = "lost"


class Running:
    """A call in this process's hands. It can be ended from the moment at which its turn is known, before anything began."""

    def __init__(self, turn_id: UUID | None) -> None:
        self.turn_id = turn_id
        self.cut: Cut | None = None
        self.task: asyncio.Task[BaseModel] | None = None
        self.told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end(self, why: Cut) -> None:
        """Tells the tool to stop; the first reason counts."""
        if self.cut is None and not (self.task is not None and self.task.done()):
            self.cut = why
            self.told.set_result(None)
            if self.task is not None:
                self.task.cancel()


class Runner:
    """Everything that runs tools in one process."""

    def __init__(
        self, pool: Pool, commands: Commands, records: Records | None, tools: Sequence[Tool], settings: Settings
    ) -> None:
        self.pool = pool
        self.commands = commands
        self.records = records
        self.settings = settings
        self.tools = {tool.spec.name: tool for tool in tools}
        self.repeatable = [tool.spec.name for tool in tools if tool.spec.repeatable]
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
                repeatable=self.repeatable,
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
        by = await access.refreshed(self.pool, run.principal)
        if running.cut is not None:
            return None if running.cut is Cut.LOST else Outcome.failed(STOPPED)
        try:
            tool, work = self._work(run, by)
        except AskbusError as error:
            return Outcome.failed(error)
        task = running.task = asyncio.create_task(work)
        try:
            await self._until_done(run, running, task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done() or task.cancelled():
            return self._cut_short(run, tool, running)
        return None if running.cut is Cut.LOST else self._ended(run, task)

    def _work(self, run: StartedRun, by: Principal | None) -> tuple[Tool, Coroutine[Any, Any, BaseModel]]:
        """The tool, and its work that has not begun. Raises the refusal where the call cannot be run."""
        tool = self.tools.get(run.name)
        if tool is None:
            raise unknown_tool(run.name, list(self.tools))
        if by is None or not run.visible:
            raise PermissionDenied("The person of this conversation has no access here any more.")
        by.require(tool.spec.scope)
        arguments, problem = parse_arguments(run.arguments)
        if arguments is None:
            raise InvalidInput(f"Not run: {problem}")
        given = read(tool.spec, arguments)
        context = Context(
            by=by,
            project_id=run.project_id,
            thread_id=run.thread_id,
            turn_id=run.turn_id,
            call_id=run.call_id,
            commands=self.commands,
            team=self.records,
            most_bytes=self.settings.tool_result_bytes,
        )
        return tool, _in_span(tool, context, given)

    async def _until_done(self, run: StartedRun, running: Running, task: "asyncio.Task[BaseModel]") -> None:
        """Returns when the tool is done, and soon after it was told to end, whether it obeys or not."""
        ends: set[asyncio.Future[Any]] = {task, running.told}
        await asyncio.wait(ends, timeout=self.settings.tool_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            running.end(Cut.TIMED_OUT)
            await asyncio.wait({task}, timeout=LETTING_GO)
        if not task.done():
            task.add_done_callback(_forget)
            log.error("tool.does_not_end", call_id=str(run.call_id), tool=run.name)

    def _cut_short(self, run: StartedRun, tool: Tool, running: Running) -> Outcome | None:
        """A tool that may not be repeated and was ended may have done its work: that is unknown, not failed."""
        match running.cut:
            case Cut.LOST:
                return None
            case Cut.STOPPED | Cut.TIMED_OUT if not tool.spec.repeatable:
                return Outcome.unknown()
            case Cut.STOPPED:
                return Outcome.failed(STOPPED)
            case Cut.TIMED_OUT:
                seconds = self.settings.tool_seconds
                log.warning(
                    "tool.timed_out", call_id=str(run.call_id), tool=run.name, setting="ASKBUS_TOOL_SECONDS", seconds=seconds
                )
                return Outcome.failed(
                    TimedOut(f"{run.name} did not finish within {seconds:g} s and was ended. Ask for less at once.")
                )
            case None:
                log.error("tool.ended_itself", call_id=str(run.call_id), tool=run.name)
                return Outcome.failed(Internal.hidden())

    def _ended(self, run: StartedRun, task: "asyncio.Task[BaseModel]") -> Outcome:
        """What the tool returned or raised; a defect of ours is logged and explained to nobody."""
        try:
            return Outcome.of(task.result(), self.settings.tool_result_bytes)
        except AskbusError as error:
            if error.code != Internal.code:
                return Outcome.failed(error)
            defect: Exception = error
        except Exception as error:  # noqa: BLE001  # whatever a tool raises is a result for the model, and ends no turn
            defect = error
        log.error("tool.failed", call_id=str(run.call_id), tool=run.name, error=faults.kind(defect), frames=faults.stack(defect))
        return Outcome.failed(Internal.hidden())

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
            "tool": run.name if run.name in self.tools else "unknown",
            "state": outcome.state.value,
        }
        if not recorded:
            log.warning("tool_run.late", attempt=run.attempt, **said)
        elif outcome.state in {RunState.FAILED, RunState.UNKNOWN}:
            code = outcome.result.error.code if outcome.result and outcome.result.error else None
            log.warning("tool_run.finished", code=code, **said)
        else:
            log.info("tool_run.finished", **said)


async def _in_span(tool: Tool, context: Context, given: BaseModel) -> BaseModel:
    """Runs the tool in a span of its own. What it raises is raised outside of the span, which would record its words."""
    with telemetry.span(f"tool {tool.spec.name}", call_id=str(context.call_id)) as span:
        try:
            return await tool.function(context, given)
        except Exception as error:  # noqa: BLE001  # raised below
            span.set_status(StatusCode.ERROR)
            span.set_attribute("error.type", type(error).__name__)
            failure = error
    raise failure


def _forget(task: "asyncio.Task[BaseModel]") -> None:
    """What a tool does after it was given up is of no interest, and no unretrieved exception either."""
    if not task.cancelled():
        task.exception()
