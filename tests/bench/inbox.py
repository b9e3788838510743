"""`python -m tests.bench.inbox [count]`: what a hundred thousand open questions cost the database, and their end.

Counts and pages as the gateway reads them, in milliseconds of Postgres's own time beside a look-up by primary key; then all of them expire,
swept by two instances, while somebody wants the same rows. It asserts nothing.
"""

import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from uuid import UUID

from tests.bench import machine

from askbus.bus.envelope import Service
from askbus.db.migrate import migrate
from askbus.db.pool import Pool, open_pool
from askbus.questions import attending, reads, verbs
from askbus.questions.model import Priority, QuestionFilter, QuestionState
from askbus.runtime.secrets import service_database_url
from askbus.stack.ports import free_port
from askbus.stack.postgres import Postgres
from askbus.testing.people import Company, found_company, give_token
from askbus.testing.servers import SECRET
from askbus_expiry.sweep import QUESTIONS

COUNT = 100_000
TIMES = 30
MARKED = 1000
"""Questions that the measured person has seen or put off."""
TARGET = 20.0
"""Milliseconds of database time."""
LONGEST_LOCK = 100.0
"""Milliseconds."""

FILL = """
    INSERT INTO questions (id, workspace_id, project_id, user_id, token_id, asker_id, text, priority, assignee_id, asked_at, expires_at,
                           asked_command, escalate_at, escalate_role)
    SELECT uuidv7(), $1, $2, $3, $4, $4, 'Ship it ' || n, (ARRAY['low', 'normal', 'normal', 'high', 'urgent']::priority[])[1 + n % 5],
           CASE n % 10 WHEN 0 THEN $5::uuid WHEN 1 THEN $3::uuid END, now() - make_interval(secs => 10 + n % 80000),
           now() + make_interval(secs => 100000 + n % 1000), uuidv7(),
           CASE WHEN n % 100 = 0 THEN now() - interval '1 second' END, CASE WHEN n % 100 = 0 THEN 'admin'::role END
      FROM generate_series(1, $6::int) n"""
MARK = """
    INSERT INTO question_marks (question_id, user_id, seen_at, snoozed_at, snoozed_until)
    SELECT id, $1, now(), CASE WHEN n % 2 = 0 THEN now() END, CASE WHEN n % 2 = 0 THEN now() + interval '1 day' END
      FROM (SELECT id, row_number() OVER (ORDER BY priority DESC, asked_at DESC) AS n FROM questions) q WHERE n <= $2"""


async def bench(count: int) -> None:
    """One run."""
    for name, fact in machine.facts().items():
        _say(f"{name}: {fact}")
    with tempfile.TemporaryDirectory(prefix="askbus-inbox-") as folder:
        postgres = Postgres(Path(folder) / "postgres", port=free_port(), log=Path(folder) / "postgres.log")
        await postgres.start()
        try:
            url = await postgres.ensure_database("inbox")
            await migrate(url, SECRET)
            async with open_pool(url, size=4, name="bench") as pool:
                company = await found_company(pool)
                await _fill(pool, company, count)
                gateway = service_database_url(url, Service.GATEWAY, SECRET)
                await _read(gateway, company)
                await _sweep(pool, service_database_url(url, Service.EXPIRY, SECRET), count)
        finally:
            await postgres.stop()


async def _fill(pool: Pool, company: Company, count: int) -> None:
    mia, agent = company["mia"].principal, (await give_token(pool, company["mia"])).principal
    started = perf_counter()
    await pool.execute(FILL, company.workspace_id, company.north, mia.user_id, agent.id, company["max"].id, count, timeout=600)
    _say(f"{count} questions asked in {perf_counter() - started:.0f} s")
    await attending.fold_tallies(pool, batch=count)
    await pool.execute(MARK, company["owner"].id, MARKED)
    await pool.execute("ANALYZE", timeout=600)


async def _read(url: str, company: Company) -> None:
    """Each read on a connection that keeps its plans, as the gateway's do; Postgres's time is told by its backend's CPU and the clock."""
    owner = company["owner"].principal
    state = QuestionState.OPEN
    async with open_pool(url, size=1, name="gateway") as pool:
        first = (await reads.list_page(pool, owner, QuestionFilter(state=state, limit=1))).questions[0]
        deep = (await reads.list_page(pool, owner, QuestionFilter(state=state, priority=Priority.LOW, limit=200))).questions[-1]

        def page(**wanted: object) -> Callable[[], Awaitable[object]]:
            found = QuestionFilter.model_validate(wanted)
            return lambda: reads.list_page(pool, owner, found)

        measured: dict[str, Callable[[], Awaitable[object]]] = {
            "look-up by primary key (floor)": lambda: pool.fetchrow("SELECT * FROM questions WHERE id = $1", first.id),
            "one question as a person sees it": lambda: reads.get(pool, owner, first.id),
            f"counts, {MARKED} of them marked": lambda: reads.counts(pool, owner),
            "page: open": page(state=state),
            "page: open, from the end on": page(state=state, before=deep.id),
            "page: for me": page(state=state, for_me=True),
            "page: for me, unseen": page(state=state, for_me=True, unseen=True),
            "page: assigned to one": page(state=state, assignee_id=company["max"].id),
            "page: of one asker": page(state=state, asker_id=first.asker_id),
            "page: of a priority": page(state=state, priority="low"),
            "page: any state, newest first": page(),
        }
        pid = int(await pool.fetchval("SELECT pg_backend_pid()"))
        floor = 0.0
        for name, read in measured.items():
            cpu, clock = await _time(read, pid)
            floor = floor or cpu
            met = "" if cpu < TARGET else f"  above {TARGET:g} ms"
            _say(f"{name:38} {cpu:6.2f} ms CPU of Postgres, {cpu / floor:5.1f} of the floor, {clock:6.2f} ms by the clock{met}")


async def _time(read: Callable[[], Awaitable[object]], pid: int) -> tuple[float, float]:
    """Milliseconds of one call: of its backend's CPU, and by the clock (median)."""
    for _ in range(3):
        await read()
    before = _cpu(pid)
    clocks = []
    for _ in range(TIMES):
        started = perf_counter()
        await read()
        clocks.append((perf_counter() - started) * 1000)
    return (_cpu(pid) - before) / TIMES, median(clocks)


def _cpu(pid: int) -> float:
    """Milliseconds that the process has been on a CPU (Linux, Documentation/scheduler/sched-stats.rst)."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


async def _sweep(pool: Pool, url: str, count: int) -> None:
    """Everything is over at once: two instances sweep, while somebody takes the lock of one row after the other."""
    await pool.execute(
        "UPDATE questions SET asked_at = now() - interval '2 days', expires_at = now() - interval '1 day', escalate_at = NULL,"
        " escalate_role = NULL",
        timeout=600,
    )
    ids = [row["id"] for row in await pool.fetch("SELECT id FROM questions ORDER BY random() LIMIT 5000")]
    batches: list[float] = []
    waits: list[float] = []
    started = perf_counter()
    async with open_pool(url, size=2, name="expiry") as expiry:

        async def sweep() -> int:
            swept = 0
            while True:
                began = perf_counter()
                moved = len(await verbs.expire_due(expiry, batch=QUESTIONS))
                if not moved:
                    return swept
                batches.append((perf_counter() - began) * 1000)
                swept += moved

        wanting = asyncio.create_task(_want(pool, ids, waits))
        swept = await asyncio.gather(sweep(), sweep())
        wanting.cancel()
    took = perf_counter() - started
    facts = await pool.fetchval("SELECT count(*) FROM change_log WHERE fact = 'question.expired'")
    batches.sort()
    longest = max(waits, default=0)
    met = "" if longest < LONGEST_LOCK else f"  above {LONGEST_LOCK:g} ms"
    _say(
        f"{sum(swept)} of {count} expired by two in {took:.0f} s ({facts} facts); a batch of {QUESTIONS} takes {median(batches):.1f} ms"
        f" (p99 {batches[len(batches) * 99 // 100]:.1f}, longest {batches[-1]:.1f}); the longest of {len(waits)} waits for a row's lock was"
        f" {longest:.1f} ms{met}"
    )


async def _want(pool: Pool, ids: list[UUID], waits: list[float]) -> None:
    async with pool.acquire() as db:
        for one in ids:
            started = perf_counter()
            async with db.transaction():
                await db.fetchval("SELECT state FROM questions WHERE id = $1 FOR UPDATE", one)
            waits.append((perf_counter() - started) * 1000)


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(bench(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT))
