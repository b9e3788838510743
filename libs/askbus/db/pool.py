"""Connections to askbus's own Postgres."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import asyncpg
from pydantic_core import to_json

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

SETTINGS = {
    "search_path": "askbus, pg_catalog",
    "timezone": "UTC",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
}
"""Each statement is planned once for a connection's life, with an index for every table: planning costs more than most of them do, and
a plan that was made while a table was nearly empty must not read all of it when it has grown."""


async def prepare(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Makes jsonb arrive as Python values and leave from anything that pydantic can write."""
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", encoder=lambda value: to_json(value).decode(), decoder=json.loads
    )


async def _keep(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Connections go back to the pool as they are: nobody changes session state, and a reset would cost a round trip."""


@asynccontextmanager
async def open_pool(url: str, *, size: int, name: str) -> AsyncIterator[Pool]:
    """A pool of up to `size` connections that shows as `name` in pg_stat_activity. The server may be down: it opens none yet."""
    pool = asyncpg.create_pool(
        url,
        min_size=0,
        max_size=size,
        init=prepare,
        reset=_keep,
        command_timeout=30,
        timeout=10,
        server_settings={**SETTINGS, "application_name": name},
    )
    async with pool:
        try:
            yield pool
        finally:
            pool.terminate()
