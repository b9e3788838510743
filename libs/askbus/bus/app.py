"""The owner's side of request/reply: FastStream on the process's own connection, with defaults that lose nothing.

FastStream gives the subscriptions, the typing of handlers and the AsyncAPI document. The rest is done here: each request runs in
a task of its own, every error becomes a typed reply (an undecodable request too), and stopping finishes what has arrived.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Annotated, Any, TypeVar, get_type_hints
from uuid import UUID

import nats.errors
import structlog
from faststream import Path
from faststream.message import StreamMessage
from faststream.middlewares import BaseMiddleware
from faststream.nats import NatsBroker
from nats.aio.client import Client
from nats.aio.msg import Msg
from opentelemetry.trace import SpanKind, StatusCode
from pydantic import BaseModel, ValidationError

from askbus.bus import faults, subjects
from askbus.bus.accounts import VERBS
from askbus.bus.connection import Connection, settle
from askbus.bus.envelope import Command, Reply, Service
from askbus.db.outages import is_outage
from askbus.errors import AskbusError, Internal, InvalidInput, TimedOut, TooLarge, Unavailable, problems
from askbus.incoming import DEEPEST_JSON, refuse_hostile, refuse_large
from askbus.runtime import telemetry

log = structlog.get_logger()

C = TypeVar("C", bound=Command[Any])
Result = TypeVar("Result", bound=BaseModel)
H = TypeVar("H", bound=Callable[..., Awaitable[BaseModel]])

TokenId = Annotated[UUID, Path("p")]
"""How a door's handler learns which agent asks: the token row's id, from the subject and never from the body."""

WRAPPED = 4
"""Levels that a request on the bus has around what somebody sent to another door."""
AT_ONCE = 64
"""How many requests one process works on at once; the rest wait their turn here."""


class Broker(NatsBroker):
    """FastStream's broker on a connection that is already there; whoever opened that closes it. Made by `make_broker`."""

    def __init__(self, nc: Connection, drain: float) -> None:
        self._nc = nc
        self._drain = drain
        self._requests = _Requests(nc)
        super().__init__(
            middlewares=[partial(_Answering, self._requests)],
            logger=None,
            graceful_timeout=drain,
            description="askbus commands and agents' doors",
        )

    async def _connect(self) -> Client:
        self.config.connect(self._nc)
        return self._nc

    async def start(self) -> None:
        """Returns once the server knows what is answered here: from then on nobody is told that no owner is running."""
        await super().start()
        await settle(self._nc)

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Takes no new request, then finishes those that have arrived; what is left after the drain time is cancelled and its
        caller told so."""
        await asyncio.gather(*(self._leave(subscriber) for subscriber in self.subscribers))
        await self._requests.finish(self._drain)
        self._connection = None
        await super().stop(exc_type, exc_val, exc_tb)

    async def _leave(self, subscriber: Any) -> None:
        """Unsubscribes, and hands over what the server had already sent."""
        subscription, subscriber.subscription = subscriber.subscription, None
        if subscription is None or not self._nc.is_connected:
            return
        try:
            async with asyncio.timeout(self._drain):
                await subscription.drain()
        except (TimeoutError, nats.errors.Error) as error:
            log.warning("bus.unsubscribe_failed", error=type(error).__name__)


def make_broker(nc: Connection, *, drain: float = 10) -> Broker:
    """A broker for this process's commands and doors. Register handlers, then `await broker.start()`, at the end `stop()`."""
    return Broker(nc, drain)


def command(broker: Broker, kind: type[C]) -> Callable[[Callable[[C], Awaitable[Result]]], Callable[[C], Awaitable[Result]]]:
    """Registers the one handler of a command, shared with the owner's other instances: `command(broker, AskQuestion)(on_ask)`.

    The handler returns the reply or raises an AskbusError; anything else that it raises is logged and answered as `internal`.
    Raises ValueError for a command that no NATS user may send.
    """

    if kind.__name__ not in VERBS.get(kind.owner, ()):
        raise ValueError(f"{kind.__name__} is not in askbus.bus.accounts.VERBS of {kind.owner.value}: nobody could send it")

    def register(handler: Callable[[C], Awaitable[Result]]) -> Callable[[C], Awaitable[Result]]:
        _subscribe(broker, handler, subject=kind.subject(), owner=kind.owner, title=kind.__name__, body=kind)
        return handler

    return register


def agent_door(broker: Broker, owner: Service, noun: str, verb: str) -> Callable[[H], H]:
    """Registers the handler of `agent.<p>.<noun>.<verb>`: `async def on_ask(request: Ask, token: TokenId) -> Question`.

    The handler's first parameter says what the body is. Only the agent that owns the subject is answered, in its own inbox;
    whether its token still works is for the handler to check, at each call.
    """

    def register(handler: H) -> H:
        body = next(hint for name, hint in get_type_hints(handler).items() if name != "return")
        subject = f"agent.{{p}}.{noun}.{verb}"
        _subscribe(broker, handler, subject=subject, owner=owner, title=f"agent {noun}.{verb}", body=body)
        return handler

    return register


def _subscribe(
    broker: Broker, handler: Callable[..., Any], *, subject: str, owner: Service, title: str, body: type[BaseModel]
) -> None:
    async def decode(message: StreamMessage[Msg]) -> BaseModel:
        refuse_large(message.body)
        refuse_hostile(message.body, DEEPEST_JSON + WRAPPED)
        try:
            request = body.model_validate_json(message.body)
        except ValidationError as error:
            raise InvalidInput(_what_is_wrong(error)) from None
        telemetry.mark(request)
        return request

    subscriber = broker.subscriber(subject, queue=owner.value, decoder=decode, title=title, no_reply=True)
    subscriber(handler)


def _what_is_wrong(error: ValidationError) -> str:
    return "; ".join(f"{where or 'body'}: {how}" for where, how in problems(error)[:5])


class _Requests:
    """The requests in work in this process."""

    def __init__(self, nc: Connection) -> None:
        self._nc = nc
        self._running: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)

    def start(self, call: Callable[[StreamMessage[Msg]], Awaitable[Any]], message: StreamMessage[Msg]) -> None:
        task = asyncio.create_task(self._answer(call, message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def finish(self, seconds: float) -> None:
        if not self._running:
            return
        _, late = await asyncio.wait(set(self._running), timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            log.warning("bus.requests_cut", count=len(late))
            await asyncio.wait(late)

    async def _answer(self, call: Callable[[StreamMessage[Msg]], Awaitable[Any]], message: StreamMessage[Msg]) -> None:
        raw = message.raw_message
        if not subjects.may_answer(raw.subject, raw.reply):
            log.warning("bus.reply_subject_refused", subject=_name_of(raw.subject))
            return
        async with self._slots:
            name = _name_of(raw.subject)
            with telemetry.span(
                name, kind=SpanKind.SERVER, parent=message.headers.get("traceparent"), subject=raw.subject
            ) as span:
                reply = await _reply_of(name, call, message)
                if reply.error is not None:
                    span.set_attribute("error.type", reply.error.code)
                    if reply.error.code == Internal.code:
                        span.set_status(StatusCode.ERROR)
        data = reply.model_dump_json().encode()
        if len(data) > self._nc.max_payload:
            too_large = TooLarge("The answer is too large for one message. Ask for less.")
            data = Reply.failure(too_large.body()).model_dump_json().encode()
        try:
            await self._nc.publish(raw.reply, data)
        except nats.errors.Error as error:
            log.warning("bus.reply_failed", request=name, error=type(error).__name__)


async def _reply_of(name: str, call: Callable[[StreamMessage[Msg]], Awaitable[Any]], message: StreamMessage[Msg]) -> Reply:
    try:
        return Reply.success(await call(message))
    except AskbusError as error:
        if error.code == Internal.code:
            _log_defect(name, error)
        return Reply.failure(error.body())
    except asyncio.CancelledError:
        log.warning("bus.request_cut", request=name)
        return Reply.failure(TimedOut("The service is stopping and could not finish this. Send it again.").body())
    except Exception as error:  # noqa: BLE001  # a defect must be answered too, or the caller waits in vain
        if is_outage(error):
            log.warning("bus.request_outage", request=name, error=faults.kind(error))
            return Reply.failure(Unavailable("The database is not reachable right now. Try again.").body())
        _log_defect(name, error)
        return Reply.failure(Internal.hidden().body())


def _log_defect(name: str, error: Exception) -> None:
    log.error("bus.request_failed", request=name, error=faults.kind(error), frames=faults.stack(error))


def _name_of(subject: str) -> str:
    """The request's name without ids: the verb of a command, `agent question.ask` for a door."""
    tokens = subject.split(".")
    return f"agent {'.'.join(tokens[2:])}" if tokens[0] == "agent" else tokens[-1]


class _Answering(BaseMiddleware[Any, Any]):
    """Takes each request out of FastStream's one-at-a-time subscription, and answers it."""

    def __init__(self, requests: _Requests, msg: Any, /, *, context: Any) -> None:
        super().__init__(msg, context=context)
        self._requests = requests

    async def consume_scope(self, call_next: Callable[[Any], Awaitable[Any]], msg: StreamMessage[Any]) -> None:
        self._requests.start(call_next, msg)
