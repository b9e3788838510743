"""What is deleted when its time is over: expiry's verbs. Nothing relies on them: what is past its time is refused at use."""

from datetime import datetime
from uuid import UUID

from askbus.db.statements import Executor, Statement

DROP_REQUESTS = Statement("askbus.oauth", "sql/drop_requests.sql")
DROP_ACCESS_TOKENS = Statement("askbus.oauth", "sql/drop_access_tokens.sql")
DROP_REFRESH_TOKENS = Statement("askbus.oauth", "sql/drop_refresh_tokens.sql")
DROP_CLIENTS = Statement("askbus.oauth", "sql/drop_clients.sql")

KEEP = 24 * 3600
"""Seconds for which codes are kept, so that a replay is known as one."""
KEEP_CLIENTS = 24 * 3600
"""Seconds in which a registration is used, or goes: apps register just before they send the person along."""


async def drop_requests(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` requests of a day ago, with their codes."""
    return [row["id"] for row in await DROP_REQUESTS.rows(db, batch=batch, keep=KEEP, now=now)]


async def drop_tokens(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` access tokens, and as many refresh tokens, past their time."""
    access = await DROP_ACCESS_TOKENS.rows(db, batch=batch, now=now)
    return [row["id"] for row in (*access, *await DROP_REFRESH_TOKENS.rows(db, batch=batch, now=now))]


async def drop_clients(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` apps of a day ago that nobody allowed anything."""
    return [row["id"] for row in await DROP_CLIENTS.rows(db, batch=batch, keep=KEEP_CLIENTS, now=now)]
