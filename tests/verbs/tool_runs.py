"""Beginning a run in a test, as the tool-runner does."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from askbus.db.pool import Pool
from askbus.tools import verbs
from askbus.tools.model import MOST_ATTEMPTS, Asked, Claimed, Outcome, StartedRun

LEASE = 6.0
LATER = datetime.now(UTC) + timedelta(hours=1)
"""After every lease of these tests."""
DONE = Outcome.of(Asked(question_id=uuid4()))


async def start(
    runner: Pool, call_id: UUID, *, repeatable: bool = True, now: datetime | None = None, most: int = MOST_ATTEMPTS
) -> Claimed:
    names = ["resolve"] if repeatable else []
    return await verbs.start_run(runner, call_id, claim=uuid4(), lease=LEASE, repeatable=names, trace=None, most=most, now=now)


async def started(runner: Pool, call_id: UUID, *, repeatable: bool = True, now: datetime | None = None) -> StartedRun:
    claimed = await start(runner, call_id, repeatable=repeatable, now=now)
    assert isinstance(claimed, StartedRun)
    return claimed
