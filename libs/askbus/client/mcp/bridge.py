"""From lines to the gateway and back: many requests at once, each answered when it is."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from askbus.client.mcp import waits
from askbus.client.mcp.gateway import Gateway
from askbus.client.mcp.messages import (
    INVALID_REQUEST,
    Message,
    MessageError,
    RequestId,
    error_line,
    failure_line,
    progress_line,
    read_line,
)
from askbus.client.mcp.stdio import LONGEST_LINE, Output
from askbus.errors import AskbusError, Internal, Unauthenticated

log = logging.getLogger("askbus.mcp")

AT_ONCE = 16
"""Requests on their way to the gateway beside those that wait for people: a client that writes a thousand lines needs no thousand
connections."""
LAST_WORDS = 1.0
"""Seconds that what was asked before the end of the input still has to be answered; its client waits for two."""
TOO_LONG = f"This line is longer than {LONGEST_LINE >> 20} MiB, and was not read."


class Bridge:
    """Serves one client. `every`: seconds between words of progress during a wait; `hold`: seconds that one call may wait at most."""

    def __init__(self, gateway: Gateway, output: Output, *, every: float, hold: float) -> None:
        self._gateway = gateway
        self._output = output
        self._every = every
        self._hold = hold
        self._calls: dict[RequestId, asyncio.Task[None]] = {}
        self._unnamed: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._greeting: asyncio.Task[None] | None = None
        self._agreed: str | None = None
        self._refused: asyncio.Future[Unauthenticated] = asyncio.get_running_loop().create_future()

    async def serve(self, lines: AsyncIterator[bytes | None]) -> None:
        """Until the lines end, or nobody reads what is said. Raises Unauthenticated once the token does not count: every request that is
        still on its way is answered with that."""
        reading = asyncio.create_task(self._read(lines), name="askbus mcp: reading")
        broken = asyncio.create_task(self._output.broken())
        try:
            ends: set[asyncio.Future[Any]] = {reading, broken, self._refused}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not self._refused.done() and not broken.done() and self._running:
                await asyncio.wait(self._running, timeout=LAST_WORDS)
        finally:
            unanswered = [request_id for request_id, call in self._calls.items() if not call.done()]
            await _end(reading, broken, *self._running)
        if reading.done() and not reading.cancelled():
            reading.result()
        if self._refused.done():
            for request_id in unanswered:
                self._output.say(failure_line(request_id, self._refused.result()))
            raise self._refused.result()

    @property
    def _running(self) -> set[asyncio.Task[None]]:
        return {*self._calls.values(), *self._unnamed}

    async def _read(self, lines: AsyncIterator[bytes | None]) -> None:
        async for line in lines:
            try:
                message = self._message(line)
            except MessageError as error:
                self._output.say(error_line(error.request_id, error.code, error.message))
                continue
            if message is not None:
                self._take(message)

    def _message(self, line: bytes | None) -> Message | None:
        if line is None:
            raise MessageError(INVALID_REQUEST, TOO_LONG)
        message = read_line(line)
        if message is not None and message.id in self._calls:
            raise MessageError(INVALID_REQUEST, "A request with this id is still on its way.", message.id)
        return message

    def _take(self, message: Message) -> None:
        """Begins what the message asks for. The gateway remembers nothing between requests, so no notification but one is of use to it,
        and that one is ours: over HTTP a call is cancelled by closing its response."""
        if message.id is None and message.method:
            if message.method == "notifications/cancelled":
                self._cancel(message)
            return
        task = asyncio.create_task(self._answer(message, self._greeting), name=f"askbus mcp: {message.method or 'batch'}")
        if message.method == "initialize":
            self._greeting = task
        if message.id is None:
            self._unnamed.add(task)
            task.add_done_callback(self._unnamed.discard)
        else:
            self._calls[message.id] = task
            task.add_done_callback(partial(self._forget, message.id))

    def _cancel(self, message: Message) -> None:
        """What it asked for stays asked; nobody is answered."""
        request_id = message.params.get("requestId")
        if isinstance(request_id, str | int) and (task := self._calls.pop(request_id, None)) is not None:
            task.cancel()

    def _forget(self, request_id: RequestId, done: asyncio.Task[None]) -> None:
        """The id may be another request's by now."""
        if self._calls.get(request_id) is done:
            del self._calls[request_id]

    async def _answer(self, message: Message, greeting: asyncio.Task[None] | None) -> None:
        if greeting is not None:
            await asyncio.wait({greeting})  # it says which revision everything after it speaks
        try:
            if line := await self._answered(message):  # a batch of notifications has no answer
                self._output.say(line)
        except Unauthenticated as error:
            self._output.say(failure_line(message.id, error))
            if not self._refused.done():
                self._refused.set_result(error)
        except AskbusError as error:
            log.warning("%s: %s", message.name, error.message)
            self._output.say(failure_line(message.id, error))
        except Exception:
            log.exception("%s failed", message.name)
            self._output.say(failure_line(message.id, Internal("The bridge failed at this request; its log says why.")))

    async def _answered(self, message: Message) -> bytes:
        reporting = asyncio.create_task(self._report(message))
        try:
            async with nullcontext() if waits.wished(message, self._hold) else self._room:
                answer = await waits.call(self._gateway, message, self._agreed, self._output.say, hold=self._hold)
        finally:
            reporting.cancel()
        if message.method == "initialize" and answer.result is not None:
            agreed = answer.result.get("protocolVersion")
            self._agreed = agreed if isinstance(agreed, str) else None
        return answer.line

    async def _report(self, message: Message) -> None:
        """Tells the client that its wait goes on, also while no gateway is there to say so."""
        token, seconds = message.progress_token, waits.wished(message, self._hold)
        if token is None or not seconds:
            return
        waited = 0.0
        while (waited := waited + self._every) < seconds:
            await asyncio.sleep(self._every)
            self._output.say(progress_line(token, waited, seconds, "Waiting for a person."))


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
