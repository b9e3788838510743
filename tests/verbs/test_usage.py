"""What model calls cost: recorded once per attempt, whatever became of it, and summed for those who may see it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from tests.verbs.turn_rows import at_tools, new_thread, queued_turn, said, take, taken

from askbus.access import verbs as access
from askbus.access.model import Principal
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.errors import InvalidInput, PermissionDenied
from askbus.models.model import Usage
from askbus.testing.people import Company, give_token
from askbus.testing.servers import TestDatabase
from askbus.threads import reads as threads
from askbus.turns import reads as turns
from askbus.turns import verbs
from askbus.usage.model import By, Kind, Of, Outcome, Spent, Totals, UsageFilter
from askbus.usage.reads import report
from askbus.usage.verbs import record_call, record_step

NOTHING = Totals(calls=0, uncounted=0, input_tokens=0, cached_tokens=0, output_tokens=0, latency_ms=0)


@pytest.fixture
async def loop(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the agent-loop's own role."""
    async with open_pool(database.role_url(Service.AGENT_LOOP), size=2, name="agent-loop") as pool:
        yield pool


def spent(outcome: Outcome, read: int, cached: int | None = None, *, model: str = "scripted") -> Spent:
    return Spent(outcome, model, Usage(input_tokens=read, output_tokens=1, cached_tokens=cached), 10)


async def rows(pool: Pool) -> list[tuple[str, int, str | None, int | None]]:
    found = await pool.fetch("SELECT outcome, attempt, model, input_tokens FROM usage ORDER BY step, attempt")
    return [tuple(row) for row in found]


async def shares(pool: Pool, by: Principal, side: By, of: Of = Of.ME) -> dict[str, int]:
    """Calls by key."""
    found = await report(pool, by, UsageFilter(by=side, of=of))
    assert found.total.calls == sum(share.calls for share in found.shares)
    return {share.key: share.calls for share in found.shares}


@pytest.mark.requirement("C28")
async def test_both_attempts_of_a_restarted_step_are_recorded_and_what_is_not_known_of_one_is_not_made_up(
    loop: Pool, pool: Pool, company: Company
) -> None:
    """Who takes a step whose worker died records that worker's call as lost; what such a worker still tells takes its place, once."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    first = await taken(loop, turn_id, lease=-1)
    second = (await take(loop, turn_id)).claim
    assert second is not None
    assert await verbs.finish_model_step(loop, second, said(), trace=None)
    assert await rows(pool) == [("lost", 1, None, None), ("done", 2, "scripted", 1)]
    summed = (await turns.get(pool, company["mia"].principal, turn_id)).usage
    assert (summed.calls, summed.uncounted, summed.input_tokens) == (2, 1, 1)
    for outcome, read in ((Outcome.CUT, 40), (Outcome.FAILED, 99)):
        await record_step(loop, turn_id, step=1, attempt=first.attempt, spent=spent(outcome, read))
    await record_step(loop, turn_id, step=1, attempt=second.attempt, spent=spent(Outcome.CUT, 99))
    assert await rows(pool) == [("cut", 1, "scripted", 40), ("done", 2, "scripted", 1)]


@pytest.mark.requirement("C28")
async def test_a_step_that_was_handed_back_is_not_counted_as_lost(loop: Pool, pool: Pool, company: Company) -> None:
    """Its worker says itself what it spent, if anything."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    await verbs.release(loop, await taken(loop, turn_id), holder=UUID(int=7))
    await taken(loop, turn_id)
    assert await rows(pool) == []


@pytest.mark.requirement("C28")
async def test_usage_is_summed_by_turn_and_thread_and_outlives_them(loop: Pool, pool: Pool, company: Company) -> None:
    """Chat and pictures together; numbers too large for 32 bits are whole; a deleted conversation takes nothing back."""
    mia = company["mia"].principal
    thread_id = await new_thread(loop, company)
    turn_id = await queued_turn(loop, company, thread_id)
    call_id = await at_tools(loop, turn_id)
    await record_call(loop, call_id, attempt=1, kind=Kind.IMAGE, spent=spent(Outcome.DONE, 3_000_000_000, 7, model="painter"))
    await record_call(loop, call_id, attempt=1, kind=Kind.IMAGE, spent=spent(Outcome.DONE, 1))
    whole = Totals(calls=2, uncounted=0, input_tokens=3_000_000_001, cached_tokens=7, output_tokens=2, latency_ms=11)
    assert (await turns.get(pool, mia, turn_id)).usage == whole
    assert (await threads.get(pool, mia, thread_id)).usage == whole
    other = await queued_turn(loop, company, await new_thread(loop, company))
    assert (await turns.get(pool, mia, other)).usage == NOTHING
    await pool.execute("DELETE FROM threads WHERE id = $1", thread_id)
    assert (await report(pool, mia, UsageFilter())).total == whole
    assert await shares(pool, mia, By.KIND) == {"chat": 1, "image": 1}
    assert await shares(pool, mia, By.MODEL) == {"painter": 1, "scripted": 1}
    assert await shares(pool, mia, By.DAY) == {datetime.now(UTC).date().isoformat(): 2}
    assert await shares(pool, mia, By.PROJECT) == {str(company.north): 2}


@pytest.mark.requirement("C28", "I6")
async def test_everybody_sees_their_own_usage_and_who_runs_the_workspace_all_of_it(
    loop: Pool, pool: Pool, company: Company
) -> None:
    """What was used in a project that one does not see now is in no sum; another workspace is as if it were not there."""
    mia, max_, owner = (company[who].principal for who in ("mia", "max", "owner"))
    await at_tools(loop, await queued_turn(loop, company, await new_thread(loop, company)))
    assert await shares(pool, mia, By.USER) == {str(mia.user_id): 1}
    assert await shares(pool, owner, By.USER) == await shares(pool, max_, By.USER) == {}
    for who in ("owner", "admin"):
        assert await shares(pool, company[who].principal, By.USER, Of.WORKSPACE) == {str(mia.user_id): 1}
    assert await shares(pool, company["stranger"].principal, By.USER, Of.WORKSPACE) == {}
    for by in (mia, company["viewer"].principal, company["demo"].principal, (await give_token(pool, company["owner"])).principal):
        with pytest.raises(PermissionDenied):
            await report(pool, by, UsageFilter(of=Of.WORKSPACE))
    await access.add_to_project(pool, company.workspace_id, company.south, mia.user_id)
    elsewhere = await give_token(pool, company["mia"], projects=(company.south,))
    assert await shares(pool, elsewhere.principal, By.USER) == {}
    await access.remove_from_project(pool, company.workspace_id, company.north, mia.user_id)
    assert await shares(pool, mia, By.USER) == {}


@pytest.mark.requirement("C28")
async def test_a_report_spans_what_was_asked_for(loop: Pool, pool: Pool, company: Company) -> None:
    """Its end is not in it, a date is that day's beginning in UTC, and a span that cannot be is refused."""
    mia = company["mia"].principal
    await at_tools(loop, await queued_turn(loop, company, await new_thread(loop, company)))
    today = datetime.now(UTC).date()
    await pool.execute("UPDATE usage SET at = $1", datetime(today.year, today.month, today.day, tzinfo=UTC))

    async def calls(**span: str) -> int:
        return (await report(pool, mia, UsageFilter.model_validate_strings(span))).total.calls

    yesterday, tomorrow = str(today - timedelta(days=1)), str(today + timedelta(days=1))
    assert await calls(**{"from": str(today), "to": tomorrow}) == 1
    assert await calls(**{"from": yesterday, "to": str(today)}) == 0
    for wrong in ({"from": tomorrow, "to": yesterday}, {"from": "2020-01-01", "to": tomorrow}, {"from": tomorrow}):
        with pytest.raises(InvalidInput):
            await calls(**wrong)
