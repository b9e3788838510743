"""The sweeps: however many run, each row once, one fact per row; and the log behind everybody who reads it."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from askbus.access import reads as access_reads
from askbus.access import verbs as access
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.questions import verbs
from askbus.testing.people import Company, give_token
from askbus.testing.questions import open_question
from askbus.testing.servers import TestDatabase
from askbus_expiry.sweep import Sweep

pytestmark = pytest.mark.requirement("O9")

HOUR_AGO = datetime.now(UTC) - timedelta(hours=1)


async def facts(pool: Pool, entity: str) -> Counter[tuple[UUID, str]]:
    rows = await pool.fetch("SELECT entity_id, fact FROM change_log WHERE entity = $1 AND fact LIKE '%.expired'", entity)
    return Counter((row["entity_id"], row["fact"]) for row in rows)


@pytest.mark.requirement("Q5")
async def test_several_sweeps_at_once_expire_each_question_once(database: TestDatabase, pool: Pool, company: Company) -> None:
    """Four instances in small batches: one move and one fact for each, and the owner's relay is nudged."""
    agent = (await give_token(pool, company["mia"])).principal
    due = [(await open_question(pool, agent, company.north, now=HOUR_AGO, expires_in=60)).id for _ in range(30)]
    left = (await open_question(pool, agent, company.north)).id
    async with open_pool(database.role_url(Service.EXPIRY), size=4, name="expiry") as expiry:

        async def instance() -> list[UUID]:
            moved: list[UUID] = []
            while batch := await verbs.expire_due(expiry, batch=3):
                moved += batch
            return moved

        moved = [question_id for part in await asyncio.gather(*(instance() for _ in range(4))) for question_id in part]
    assert Counter(moved) == Counter(due)
    assert await facts(pool, "question") == Counter((question_id, "question.expired") for question_id in due)
    rows = await pool.fetch("SELECT id, state, untold, settled_at IS NOT NULL AS settled FROM questions")
    assert {row["id"]: tuple(row)[1:] for row in rows} == {
        **dict.fromkeys(due, ("expired", 1, True)),
        left: ("open", 0, False),
    }


@pytest.mark.requirement("I1", "I7")
async def test_sessions_tokens_and_codes_end_with_their_time(database: TestDatabase, pool: Pool, company: Company) -> None:
    """Each once, as expiry's own role; what is revoked stays revoked, and a code that nobody can use is gone."""
    mia = company["mia"]
    over, revoked, lasting = [await give_token(pool, mia) for _ in range(3)]
    await access.revoke_token(pool, mia.principal, revoked.id)
    await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = ANY ($1)", [over.id, revoked.id])
    await pool.execute("UPDATE sessions SET expires_at = now() WHERE user_id = $1", company["max"].id)
    late = datetime.now(UTC) - timedelta(minutes=16)
    await access.create_login_code(pool, company.workspace_id, mia.id, now=late)
    fresh = await access.create_login_code(pool, company.workspace_id, mia.id)
    codes = await pool.fetchval("SELECT count(*) FROM login_links")
    async with open_pool(database.role_url(Service.EXPIRY), size=4, name="expiry") as expiry:
        await asyncio.gather(*(Sweep(expiry, lambda _owner: None).expire_credentials() for _ in range(3)))
    assert await facts(pool, "token") == Counter({(over.id, "token.expired"): 1})
    assert await facts(pool, "session") == Counter({(company["max"].principal.id, "session.expired"): 1})
    states = {row["id"]: row["state"] for row in await pool.fetch("SELECT id, state FROM tokens")}
    assert states == {over.id: "expired", revoked.id: "revoked", lasting.id: "active"}
    assert await access_reads.principal_of_token(pool, lasting.token) is not None
    assert await pool.fetchval("SELECT count(*) FROM login_links") == codes - 1
    assert (await access.sign_in(pool, fresh)).user_id == mia.id


async def log_of(pool: Pool, hours_ago: float, part: int | None = None) -> int:
    """A change of that age, in this part of the log or in that of now; returns its transaction."""
    return int(
        await pool.fetchval(
            "INSERT INTO change_log (part, fact, entity, entity_id, status, workspace_id, at)"
            " VALUES (coalesce($2, extract(epoch FROM now())::bigint / 14400 % 8)::smallint,"
            "         'question.asked', 'question', uuidv7(), 'open', uuidv7(), now() - make_interval(secs => $1))"
            " RETURNING xid::text::bigint",
            hours_ago * 3600,
            part,
        )
    )


@pytest.mark.requirement("S4")
async def test_a_part_of_the_log_is_emptied_once_it_is_a_day_old_and_every_relay_has_passed_it(
    database: TestDatabase, pool: Pool, company: Company
) -> None:
    """As a whole, and not while a writer is in it; the part that is written to stays, and so does one with a younger change."""
    slot = await pool.fetchval("SELECT extract(epoch FROM now())::bigint / 14400")
    oldest, next_to_it = (slot + 1) % 8, (slot + 2) % 8
    gone = max([await log_of(pool, hours, oldest) for hours in (30, 29, 28)])
    kept = [await log_of(pool, 23, next_to_it), await log_of(pool, 1)]
    before = await pool.fetchval("SELECT count(*) FROM change_log")
    async with open_pool(database.role_url(Service.EXPIRY), size=1, name="expiry") as expiry, pool.acquire() as writer:
        sweep = Sweep(expiry, lambda _owner: None)
        await sweep.prune()
        assert await pool.fetchval("SELECT count(*) FROM change_log") == before
        await pool.execute("UPDATE relays SET cursor = pg_current_snapshot()::text")
        writing = writer.transaction()
        await writing.start()
        await writer.execute(f"LOCK TABLE change_log_{oldest} IN ROW EXCLUSIVE MODE")
        await sweep.prune()
        assert await pool.fetchval("SELECT count(*) FROM change_log") == before
        await writing.rollback()
        await sweep.prune()
        assert await pool.fetchval(f"SELECT count(*) FROM change_log_{oldest}") == 0
        assert await pool.fetchval("SELECT count(*) FROM change_log") == before - 3
        assert await pool.fetchval("SELECT pruned::text::bigint FROM feed") == gone < min(kept)


@pytest.mark.requirement("S4")
async def test_the_log_is_kept_for_a_day_and_for_the_slowest_relay(database: TestDatabase, pool: Pool, company: Company) -> None:
    """What goes is remembered by its newest transaction, so that a client from before it is told to start anew."""
    old, middle = await log_of(pool, 48), await log_of(pool, 33)
    behind = await pool.fetchval("SELECT pg_current_snapshot()::text")
    beyond, young = await log_of(pool, 40), await log_of(pool, 23)
    everything = await pool.fetchval("SELECT count(*) FROM change_log")
    async with open_pool(database.role_url(Service.EXPIRY), size=4, name="expiry") as expiry:

        async def prune() -> None:
            await asyncio.gather(*(Sweep(expiry, lambda _owner: None).prune() for _ in range(3)))

        async def left() -> tuple[set[int], int]:
            rows = await pool.fetch("SELECT xid::text::bigint AS xid FROM change_log WHERE at < now() - interval '22 hours'")
            return {row["xid"] for row in rows}, await pool.fetchval("SELECT pruned::text::bigint FROM feed")

        await prune()
        assert await left() == ({old, middle, beyond, young}, 0)
        await pool.execute("UPDATE relays SET cursor = pg_current_snapshot()::text")
        await pool.execute("UPDATE relays SET cursor = $1 WHERE owner = 'agent-loop'", behind)
        await prune()
        assert await left() == ({beyond, young}, middle)
        await pool.execute("UPDATE relays SET cursor = pg_current_snapshot()::text")
        await prune()
        assert await left() == ({young}, beyond)
        assert await pool.fetchval("SELECT count(*) FROM change_log") == everything - 3
