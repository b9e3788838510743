"""What it looks like when Postgres is away: no fault of the request or fact in hand, so it is to be sent again."""

import asyncpg

OUTAGES: tuple[type[Exception], ...] = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
"""OSError covers refused connections and time-outs. InterfaceError is also how asyncpg says that it was called wrongly: see `is_outage`.
InternalClientError is what the next user of a connection gets that broke in the middle of an answer."""

TROUBLE: tuple[type[Exception], ...] = (*OUTAGES, asyncpg.PostgresError)
"""Whatever a statement of our own may meet: what loops that must never end wait out."""


def is_outage(error: BaseException) -> bool:
    """Whether the error says that the database cannot be reached now, rather than that we asked it something wrong."""
    return isinstance(error, OUTAGES) and not isinstance(error, ValueError)
