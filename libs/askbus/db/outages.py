"""What it looks like when Postgres is away: no fault of the request or fact in hand, so it is to be sent again."""

import asyncpg

OUTAGES: tuple[type[Exception], ...] = (
    OSError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
)
"""OSError covers refused connections and time-outs. InterfaceError is also how asyncpg says that it was called wrongly: see `is_outage`."""


def is_outage(error: BaseException) -> bool:
    """Whether the error says that the database cannot be reached now, rather than that we asked it something wrong."""
    return isinstance(error, OUTAGES) and not isinstance(error, ValueError)
