"""What happens to buckets: one function, one statement each. Each runs on the connection that it is given, which should be in no
transaction: a bucket's row stays locked until it ends. `now` is for tests alone: the database's clock rules.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from askbus.db.statements import Executor, Statement
from askbus.limits.model import Bucket, key_of

TAKE = Statement("askbus.limits", "sql/take.sql")
EXPIRE_DUE = Statement("askbus.limits", "sql/expire_due.sql")


@dataclass(frozen=True)
class Taken:
    """How many permits were taken; where none were: after what time there are enough, if nobody else takes them."""

    permits: int
    wait: timedelta


async def take_some(
    db: Executor, bucket: Bucket, key: UUID | str, *, least: int = 1, most: int = 1, now: datetime | None = None
) -> Taken:
    """Takes as many permits as there are, `most` at most; none where there are fewer than `least`."""
    row = await TAKE.one(
        db,
        bucket=bucket.name.value,
        key=key if isinstance(key, UUID) else key_of(key),
        cost=bucket.cost,
        room=bucket.room,
        least=bucket.clamped(least),
        most=bucket.clamped(most),
        now=now,
    )
    return Taken(row["taken"], row["wait"])


async def take(db: Executor, bucket: Bucket, key: UUID | str, n: int = 1, *, now: datetime | None = None) -> None:
    """Takes `n` permits or none. Raises RateLimited, which says when to come back."""
    taken = await take_some(db, bucket, key, least=n, most=n, now=now)
    if not taken.permits:
        raise bucket.refusal(taken.wait)


async def expire_due(db: Executor, *, batch: int, now: datetime | None = None) -> int:
    """Forgets the buckets that are full, and says how many they were."""
    return await EXPIRE_DUE.run(db, batch=batch, now=now)
