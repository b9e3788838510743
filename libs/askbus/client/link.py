"""An agent's own connection to NATS: its token for credentials, its own subjects and nothing else."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext
from typing import Any, Generic, TypeVar
from uuid import UUID

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import BaseModel, ConfigDict, ValidationError

from askbus.access.credentials import token_row
from askbus.bus import subjects
from askbus.errors import AskbusError, ErrorBody, Internal, InvalidInput, TimedOut, Unauthenticated, Unavailable

log = logging.getLogger("askbus.client")

M = TypeVar("M", bound=BaseModel)

ANSWER_TIMEOUT = 5.0
AT_ONCE = 32
"""Requests on their way at a time: thousands of waits queue here, where no timeout runs, and not at the broker."""
RECONNECT_WAIT = 0.5
LOOK_EVERY = 1.0
CONNECT_TIMEOUT = 2.0
"""Shorter than the gateway looks for an answer while its database is away: the next attempt finds the next gateway."""
PING_EVERY, LOST_PINGS = 20, 2
VERDICTS = ("maximum account active connections exceeded", "authentication expired")
"""What NATS says of a token that the gateway refused (`askbus.bus.accounts.REFUSED`), and of one whose time is over. `Authorization
Violation` is no verdict: NATS says that too while no gateway is there, or none that reaches its database."""

NOBODY = "no gateway could say whose this token is"


class _Answer(BaseModel, Generic[M]):
    model_config = ConfigDict(frozen=True)
    ok: M | None = None
    error: ErrorBody | None = None


class Link:
    """A connection that comes back by itself until it is closed or the token is refused.

    `woken(question_id)` is called, without waiting, when the agent has something to hear about this question, and with None when
    it may have missed such a call. Raises InvalidInput for a token that names no row.
    """

    def __init__(self, url: str, token: str, *, tls: SSLContext | None, woken: Callable[[UUID | None], None]) -> None:
        row = token_row(token)
        if row is None:
            raise InvalidInput("This is no API token of askbus: those start with askbus_ and are shown once, when they are made.")
        self.p = row
        self._url = url
        self._token = token
        self._tls = tls
        self._woken = woken
        self._nc: Client | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._trouble = "it does not answer"
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._asking: set[asyncio.Future[Msg]] = set()
        self._ended = asyncio.Event()
        self._why: tuple[type[Exception], str] | None = None

    async def open(self, seconds: float) -> None:
        """Connects. Raises Unauthenticated where the token is refused, Unavailable where nobody could say so for `seconds`."""
        self._keeper = asyncio.create_task(self._keep(), name="askbus link")
        async with _either(self._connected.wait(), self._ended.wait()) as tasks:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self.check()
        if not self._connected.is_set():
            raise Unavailable(f"The bus cannot be reached: {self._trouble}.")

    async def close(self) -> None:
        self._end(RuntimeError, "This client was closed.")
        if self._keeper is not None:
            await asyncio.gather(self._keeper, return_exceptions=True)

    def check(self) -> None:
        """Raises what ended this link, if anything did: Unauthenticated, or RuntimeError after `close`."""
        if self._why is not None:
            kind, message = self._why
            raise kind(message)

    async def request(self, verb: str, body: BaseModel, into: type[M]) -> M:
        """One request and its answer. Raises what the service refused it with, Unavailable or TimedOut where none answered."""
        async with self._slots:
            self.check()
            if self._nc is None or not self._nc.is_connected:
                raise Unavailable(f"The bus cannot be reached: {self._trouble}.")
            reply = await self._answer(self._nc, verb, body.model_dump_json(exclude_defaults=True).encode())
        return _decoded(reply, into)

    async def _answer(self, nc: Client, verb: str, data: bytes) -> Msg:
        subject = subjects.agent_request(self.p, "question", verb)
        asking = asyncio.ensure_future(nc.request(subject, data, timeout=ANSWER_TIMEOUT))
        self._asking.add(asking)
        try:
            await asyncio.wait({asking})
        finally:
            self._asking.discard(asking)
            asking.cancel()
        if asking.cancelled():
            raise Unavailable("The connection to the bus was lost.")
        try:
            return asking.result()
        except nats.errors.NoRespondersError:
            raise Unavailable("No question-broker is running.") from None
        except nats.errors.TimeoutError:
            raise TimedOut("The question-broker did not answer in time.") from None
        except nats.errors.MaxPayloadError:
            raise InvalidInput("This is too large for one message.") from None
        except nats.errors.Error as error:
            raise Unavailable(f"The bus cannot be reached: {type(error).__name__}.") from error

    async def _keep(self) -> None:
        """One connection after the other: nats-py reconnects by itself, but closes for good at errors that it does not know."""
        while not self._ended.is_set():
            nc = Client()
            async with _either(self._live(nc), self._ended.wait()) as tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await nc.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(RECONNECT_WAIT):
                    await self._ended.wait()

    async def _live(self, nc: Client) -> None:
        closed = asyncio.Event()
        try:
            await self._connect(nc, closed)
            self._nc = nc
            self._connected.set()
            self._woken(None)
            while not nc.is_closed:  # a write that fails while nats-py closes keeps it from calling back
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_EVERY):
                        await closed.wait()
            trouble = nc.last_error or nats.errors.ConnectionClosedError()
        except (nats.errors.Error, OSError) as error:
            trouble = nc.last_error or error
        await self._on_error(trouble)

    async def _connect(self, nc: Client, closed: asyncio.Event) -> None:
        """Returns once the agent hears what it is told. Raises what is in the way."""

        async def on_close() -> None:
            closed.set()

        await nc.connect(
            servers=[part.strip() for part in self._url.split(",")],
            name=f"agent {self.p}",
            token=self._token,
            tls=self._tls,
            inbox_prefix=subjects.agent_inbox(self.p),
            connect_timeout=CONNECT_TIMEOUT,  # type: ignore[arg-type]  # seconds; annotated int
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT,  # type: ignore[arg-type]  # seconds to sleep; annotated int
            ping_interval=PING_EVERY,
            max_outstanding_pings=LOST_PINGS,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnect,
            reconnected_cb=self._on_reconnect,
            closed_cb=on_close,
        )
        await nc.subscribe(subjects.all_told(self.p), cb=self._on_told)
        await nc.flush(CONNECT_TIMEOUT)  # type: ignore[arg-type]  # seconds; annotated int
        if not nc.is_connected:
            # nats-py takes the server's PING to one whom it still asks about for leave to enter, and never learns what came of it.
            raise nats.errors.ConnectionClosedError

    async def _on_error(self, error: Exception) -> None:
        said = str(error) or type(error).__name__
        violation = isinstance(error, nats.errors.AuthorizationError) or "authorization violation" in said.lower()
        self._trouble = NOBODY if violation else said
        if any(verdict in said.lower() for verdict in VERDICTS):
            self._end(Unauthenticated, "The bus refused this token: it is unknown, revoked or expired.")
        else:
            log.debug("bus: %s", said)

    async def _on_disconnect(self) -> None:
        self._give_up_asking()

    async def _on_reconnect(self) -> None:
        log.info("bus: connected again")
        self._woken(None)

    async def _on_told(self, message: Msg) -> None:
        self._woken(UUID(message.subject.rpartition(".")[2]))

    def _end(self, kind: type[Exception], message: str) -> None:
        if self._why is None:
            self._why = (kind, message)
            self._ended.set()
            self._give_up_asking()
            self._woken(None)

    def _give_up_asking(self) -> None:
        """What was asked over a connection that is gone gets no answer: it is asked again at once, not after its timeout."""
        for asking in self._asking:
            asking.cancel()


@asynccontextmanager
async def _either(*works: Coroutine[Any, Any, object]) -> AsyncIterator[set[asyncio.Task[object]]]:
    """The works as tasks, none of which outlives the context."""
    tasks = {asyncio.create_task(work) for work in works}
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _decoded(reply: Msg, into: type[M]) -> M:
    try:
        answer = _Answer[into].model_validate_json(reply.data)  # type: ignore[valid-type]  # pydantic makes the class at run time
    except ValidationError:
        raise Internal("The question-broker speaks another version than this client.") from None
    if answer.error is not None:
        raise AskbusError.of(answer.error)
    if answer.ok is None:
        raise Internal("The question-broker answered with neither a result nor an error.")
    return answer.ok
