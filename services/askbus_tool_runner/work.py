"""The work of one call, whoever asked for it: rights and arguments, the tool within its time, and what it comes to."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import structlog
from opentelemetry.trace import StatusCode
from pydantic import BaseModel

from askbus.access.model import Principal, Scope
from askbus.bus import faults
from askbus.bus.commands import Commands
from askbus.db.pool import Pool
from askbus.errors import AskbusError, Internal, InvalidInput, PermissionDenied, TimedOut
from askbus.models.images import ImageMaker
from askbus.models.model import parse_arguments
from askbus.records.display import Presentation
from askbus.records.engine import Records
from askbus.redaction import REDACTED
from askbus.runtime import telemetry
from askbus.runtime.settings import Settings
from askbus.tools.arguments import read, unknown_tool
from askbus.tools.model import STOPPED, Outcome
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.registry import Tool

log = structlog.get_logger()

LETTING_GO = 1.0
"""Seconds that a tool may take to end once it was told to."""


class Cut(StrEnum):
    """Why a tool was ended before it came to anything."""

    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    LOST = "lost"


class Running:
    """A call in this process's hands. It can be ended from the moment at which its turn is known, before anything began."""

    def __init__(self, turn_id: UUID | None = None) -> None:
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


@dataclass(frozen=True)
class Job:
    """A call to be run. `arguments` is the JSON that was written; `by` has the rights of this moment, or is None where there are none
    left; `visible` says whether they see the project; a direct call has no thread and no turn. `time_zone`
    and `locale` are those that they chose."""

    call_id: UUID
    name: str
    arguments: str
    by: Principal | None
    project_id: UUID
    visible: bool
    thread_id: UUID | None = None
    turn_id: UUID | None = None
    attempt: int = 1
    time_zone: str | None = None
    locale: str | None = None


NOT_SHOWN = f"{REDACTED} stands for a secret that you were not shown: it would take its place. Leave this field out."


class Work:
    """The tools of one process, and what they work with."""

    def __init__(
        self,
        pool: Pool,
        commands: Commands,
        records: Records | None,
        tools: Sequence[Tool],
        settings: Settings,
        *,
        pictures: ImageMaker | None,
    ) -> None:
        self.pool = pool
        self.pictures = pictures
        self.commands = commands
        self.records = records
        self.settings = settings
        self.tools = {tool.spec.name: tool for tool in tools}
        self.repeatable = [tool.spec.name for tool in tools if tool.spec.repeatable]

    async def outcome(self, job: Job, running: Running) -> Outcome | None:
        """What the call comes to; None where it is not ours any more. Raises nothing that a tool raises."""
        if running.cut is not None:
            return None if running.cut is Cut.LOST else Outcome.failed(STOPPED)
        try:
            tool, work = self._begun(job)
        except AskbusError as error:
            return Outcome.failed(error)
        task = running.task = asyncio.create_task(work)
        try:
            await self._until_done(job, running, task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done() or task.cancelled():
            return self._cut_short(job, tool, running)
        return None if running.cut is Cut.LOST else self._ended(job, task)

    def _begun(self, job: Job) -> tuple[Tool, Coroutine[Any, Any, BaseModel]]:
        """The tool, and its work that has not begun. Raises the refusal where the call cannot be run."""
        tool = self.tools.get(job.name)
        if tool is None:
            raise unknown_tool(job.name, list(self.tools))
        if job.by is None or not job.visible:
            raise PermissionDenied("The person of this conversation has no access here any more.")
        job.by.require(tool.spec.scope)
        if REDACTED in job.arguments and tool.spec.scope is Scope.ACTIONS_PROPOSE:
            raise InvalidInput(NOT_SHOWN)
        arguments, problem = parse_arguments(job.arguments)
        if arguments is None:
            raise InvalidInput(f"Not run: {problem}")
        given = read(tool.spec, arguments)
        context = Context(
            by=job.by,
            project_id=job.project_id,
            thread_id=job.thread_id,
            turn_id=job.turn_id,
            call_id=job.call_id,
            commands=self.commands,
            team=self.records,
            most_bytes=self.settings.tool_result_bytes,
            pool=self.pool,
            attempt=job.attempt,
            pictures=self.pictures,
            presentation=Presentation(locale=job.locale or self.settings.locale, zone=job.time_zone or self.settings.time_zone),
        )
        return tool, _in_span(tool, context, given)

    async def _until_done(self, job: Job, running: Running, task: "asyncio.Task[BaseModel]") -> None:
        """Returns when the tool is done, and soon after it was told to end, whether it obeys or not."""
        ends: set[asyncio.Future[Any]] = {task, running.told}
        await asyncio.wait(ends, timeout=self.settings.tool_seconds, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            running.end(Cut.TIMED_OUT)
            await asyncio.wait({task}, timeout=LETTING_GO)
        if not task.done():
            task.add_done_callback(_forget)
            log.error("tool.does_not_end", call_id=str(job.call_id), tool=job.name)

    def _cut_short(self, job: Job, tool: Tool, running: Running) -> Outcome | None:
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
                    "tool.timed_out", call_id=str(job.call_id), tool=job.name, setting="ASKBUS_TOOL_SECONDS", seconds=seconds
                )
                return Outcome.failed(
                    TimedOut(f"{job.name} did not finish within {seconds:g} s and was ended. Ask for less at once.")
                )
            case None:
                log.error("tool.ended_itself", call_id=str(job.call_id), tool=job.name)
                return Outcome.failed(Internal.hidden())

    def _ended(self, job: Job, task: "asyncio.Task[BaseModel]") -> Outcome:
        """What the tool returned or raised; a defect of ours is logged and explained to nobody."""
        try:
            return Outcome.of(task.result(), self.settings.tool_result_bytes)
        except AskbusError as error:
            if error.code != Internal.code:
                return Outcome.failed(error)
            defect: Exception = error
        except Exception as error:  # noqa: BLE001  # whatever a tool raises is a result for the model, and ends no turn
            defect = error
        log.error("tool.failed", call_id=str(job.call_id), tool=job.name, error=faults.kind(defect), frames=faults.stack(defect))
        return Outcome.failed(Internal.hidden())


async def _in_span(tool: Tool, context: Context, given: BaseModel) -> BaseModel:
    """Runs the tool in a span of its own. What it raises is raised outside of the span, which would record its words."""
    with telemetry.span(f"tool {tool.spec.name}", call_id=str(context.call_id)) as span:
        try:
            output = await tool.function(context, given)
        except Exception as error:  # noqa: BLE001  # raised below
            failure = error
        else:
            if isinstance(output, tool.spec.output):
                return output
            failure = TypeError(f"{tool.spec.name} returned {type(output).__name__} and not {tool.spec.output.__name__}")
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", type(failure).__name__)
    raise failure


def _forget(task: "asyncio.Task[BaseModel]") -> None:
    """What a tool does after it was given up is of no interest, and no unretrieved exception either."""
    if not task.cancelled():
        task.exception()
