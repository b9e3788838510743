"""What the log forgets: whole parts of it, and stragglers row by row; and it remembers up to where."""

import asyncpg

from askbus.db.pool import Pool
from askbus.db.statements import Statement

PARTS = Statement("askbus.feed", "sql/parts.sql")
FORGET_PART = Statement("askbus.feed", "sql/forget_part.sql")
PRUNE = Statement("askbus.feed", "sql/prune.sql")

SPAN = 4 * 3600
"""Seconds that one part of the log is written to."""
BATCH = 1000
PATIENCE = "200ms"
"""How long writers and readers may have to wait behind a part that is about to be emptied."""


async def prune(pool: Pool, keep: float) -> int:
    """Forgets what every relay has passed and is older than `keep` seconds, part by part; returns how many changes that were.

    What stayed in a part with younger changes goes one by one, once it is older by the span of a part.
    """
    forgotten = 0
    for row in await PARTS.rows(pool, keep=int(keep)):
        forgotten += await _empty(pool, row["part"], keep)
    while found := await PRUNE.row(pool, keep=keep + 2 * SPAN, batch=BATCH):
        forgotten += found["pruned_rows"]
    return forgotten


async def _empty(pool: Pool, part: int, keep: float) -> int:
    name = f"askbus.change_log_{part:d}"
    async with pool.acquire() as db:
        try:
            async with db.transaction():
                await db.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
                await db.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
                found = await FORGET_PART.row(db, part=part, keep=keep)
                if found is None:
                    return 0
                await db.execute(f"TRUNCATE {name}")
                return int(found["rows"])
        except asyncpg.LockNotAvailableError:
            return 0  # somebody has been at it for long: the next round tries again
