"""Webhooks' secrets, sealed anew when the deployment's key is rotated."""

from uuid import UUID

from askbus.db.statements import Executor, Statement
from askbus.runtime.sealing import Resealed, Sealer
from askbus.webhooks.model import whose

SEALED = Statement("askbus.webhooks", "sql/sealed.sql")
RESEAL = Statement("askbus.webhooks", "sql/reseal.sql")


async def reseal(db: Executor, sealer: Sealer, *, after: UUID, batch: int) -> Resealed:
    """Seals a batch of what follows `after` under the sealer's first key. What does not open stays as it is."""
    rows = await SEALED.rows(db, after=after, batch=batch)
    done, unreadable = 0, []
    for row in rows:
        moved = {name: sealer.resealed(row[name], whose(row["id"])) for name in ("secret", "old_secret") if row[name]}
        if None in moved.values():
            unreadable.append(row["id"])
        new = {name: moved.get(name) or row[name] for name in ("secret", "old_secret")}
        if new != {name: row[name] for name in new}:
            done += await RESEAL.run(db, id=row["id"], from_secret=row["secret"], from_old_secret=row["old_secret"], **new)
    return Resealed(done, len(rows), tuple(unreadable), rows[-1]["id"] if len(rows) == batch else None)
