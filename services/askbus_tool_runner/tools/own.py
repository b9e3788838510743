"""A deployment's own tools at work: never on askbus's event loop, so that whatever they do, nothing else waits for them."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel

from askbus.errors import Unavailable
from askbus.records.model import QueryPlan, Rows
from askbus.records.names import ResolveRequest, ResolveResult
from askbus.records.query import query, query_all
from askbus.records.resolve import resolve
from askbus.tools.own import Call, Function, OwnTool
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.registry import Tool

log = structlog.get_logger()

T = TypeVar("T")

MOST_THREADS = 32
"""Calls of functions that are not `async`, at once in one process. No thread can be ended: what never returns keeps its own."""
TURNS_WITHIN = 0.5
"""Seconds in which the tools' loop has to come round after a call was ended; else it is blocked, and later calls get a new one."""


class Aside:
    """Where own tools run: `async` functions on one event loop of their own, the others in a thread each. All are daemons: a tool that
    never returns does not keep the process from ending."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()
        self._free = threading.BoundedSemaphore(MOST_THREADS)

    def tool(self, own: OwnTool) -> Tool:
        """The tool as the runner runs it. Raises BadTool where its function cannot be imported."""
        function = own.load()

        async def run(context: Context, given: BaseModel) -> BaseModel:
            reader = _Reader(context, asyncio.get_running_loop())
            call = Call(
                id=context.call_id,
                by=context.by,
                project_id=context.project_id,
                records=reader,
                presentation=context.presentation,
            )
            if inspect.iscoroutinefunction(function):
                return await self._on_the_loop(function(call, given))
            return await self._in_a_thread(function, call, given)

        return Tool(own.spec, run)

    async def close(self) -> None:
        """Ends the loop and what is left on it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._over.set)

    def _started(self) -> asyncio.AbstractEventLoop:
        loop, over = asyncio.new_event_loop(), self._over

        def live() -> None:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(over.wait())

        threading.Thread(target=live, name="own tools", daemon=True).start()
        return loop

    async def _on_the_loop(self, work: Coroutine[Any, Any, BaseModel]) -> BaseModel:
        loop = self._loop = self._loop or self._started()
        try:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_contained(work), loop))
        except asyncio.CancelledError:
            await self._look_after(loop)
            raise

    async def _look_after(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leaves a loop that does not turn any more to the call that blocks it."""
        home = asyncio.get_running_loop()
        turned: asyncio.Future[Any] = home.create_future()
        loop.call_soon_threadsafe(home.call_soon_threadsafe, _settle, turned, None, None)
        try:
            await asyncio.wait_for(turned, TURNS_WITHIN)
        except TimeoutError:
            if self._loop is loop:
                log.error("tool.blocks_its_loop")  # noqa: TRY400  # that it does is the whole of it
                self._loop, self._over = None, asyncio.Event()

    async def _in_a_thread(self, function: Function, call: Call, given: BaseModel) -> BaseModel:
        if not self._free.acquire(blocking=False):
            log.error("tool.no_thread", most=MOST_THREADS)
            raise Unavailable("Too many calls of this kind are under way. Try again later.")
        home = asyncio.get_running_loop()
        done: asyncio.Future[Any] = home.create_future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                output, error = context.run(function, call, given), None
            except BaseException as caught:  # noqa: BLE001  # a thread has nobody else to tell
                output, error = None, _as_exception(caught)
            finally:
                self._free.release()
            try:
                home.call_soon_threadsafe(_settle, done, output, error)
            except RuntimeError:  # askbus's loop is over, and nobody waits
                return

        threading.Thread(target=work, name="own tool", daemon=True).start()
        output: BaseModel = await done
        return output


class _Reader:
    """The records, read on askbus's own loop for a tool that runs on another."""

    def __init__(self, context: Context, home: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._home = home

    async def query(self, plan: QueryPlan) -> Rows:
        return await self._at_home(query(self._context.records, self._context.by, plan, self._context.presentation))

    async def query_all(self, plans: Sequence[QueryPlan]) -> list[Rows]:
        return await self._at_home(query_all(self._context.records, self._context.by, plans, self._context.presentation))

    async def resolve(self, request: ResolveRequest) -> ResolveResult:
        return await self._at_home(resolve(self._context.records, self._context.by, request))

    async def _at_home(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._home))


async def _contained(work: Coroutine[Any, Any, BaseModel]) -> BaseModel:
    """Keeps what would end a thread or a process, such as SystemExit, an error of this call."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise _as_exception(error) from None


def _as_exception(error: BaseException) -> Exception:
    """What a future can carry, and what ends nothing but its call."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"the tool raised {type(error).__name__}")


def _settle(done: "asyncio.Future[Any]", output: object, error: Exception | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(output)
    else:
        done.set_exception(error)
