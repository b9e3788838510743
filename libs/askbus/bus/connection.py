"""The one NATS connection of a process: it never gives up, never floods the log, and says when it has come back."""

import contextlib
from collections.abc import Callable
from ssl import SSLContext

import nats.errors
import structlog
from nats.aio.client import Client

from askbus.bus import subjects

log = structlog.get_logger()

RECONNECT_WAIT = 0.25
PING_EVERY = 10
LOST_PINGS = 2
FLUSH = 5
BUFFER = 8 << 20
"""Bytes that may wait to be sent while the server is away; beyond it publishing raises."""


class Connection(Client):
    """nats-py's client. `reconnected` holds what to call, without waiting, after each reconnect: what was asked of the old
    connection is not coming, and core messages sent meanwhile were not seen."""

    def __init__(self) -> None:
        super().__init__()
        self.reconnected: set[Callable[[], None]] = set()

    async def flush(self, timeout: int = FLUSH) -> None:
        """Returns once the server has seen everything that was sent before. Raises nats.errors.Error.

        nats-py writes its PING past what still lies in its own buffer, an UNSUB for one; the second PING comes after that.
        """
        await super().flush(timeout)
        await super().flush(timeout)

    @property
    def alive(self) -> bool:
        """False once the client is closed for good: the process must be started anew."""
        return not self.is_closed


async def settle(nc: Connection) -> None:
    """Returns once the server knows every subscription; one that is made while the connection is lost is sent when it is back."""
    with contextlib.suppress(nats.errors.Error):
        await nc.flush()


async def connect(
    url: str,
    name: str,
    inbox_prefix: str | None = None,
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls: SSLContext | None = None,
) -> Connection:
    """Connects as `name`, waiting for as long as the server is down or refuses, and reconnects for ever.

    `url` may list several servers, comma-separated, and hold the credentials. `inbox_prefix` (`_INBOX.<name>`) is where replies
    arrive: the user's permissions must allow to subscribe below it.
    """
    nc = Connection()
    said: list[str] = []

    async def on_error(error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        if said != [text]:
            said[:] = [text]
            denied = "permissions violation" in text.lower()
            (log.error if denied else log.warning)("nats.error", connection=name, error=text)

    async def on_disconnect() -> None:
        if nc.alive:
            log.warning("nats.disconnected", connection=name)

    async def on_reconnect() -> None:
        said.clear()
        log.info("nats.reconnected", connection=name)
        for listener in tuple(nc.reconnected):
            listener()

    async def on_close() -> None:
        log.info("nats.closed", connection=name)

    await nc.connect(
        servers=[part.strip() for part in url.split(",")],
        name=name,
        inbox_prefix=inbox_prefix or subjects.inbox(name),
        user=user,
        password=password,
        token=token,
        tls=tls,
        max_reconnect_attempts=-1,
        reconnect_time_wait=RECONNECT_WAIT,  # type: ignore[arg-type]  # seconds to sleep; annotated int
        ping_interval=PING_EVERY,
        max_outstanding_pings=LOST_PINGS,
        pending_size=BUFFER,
        flush_timeout=5,
        error_cb=on_error,
        disconnected_cb=on_disconnect,
        reconnected_cb=on_reconnect,
        closed_cb=on_close,
    )
    return nc
