"""Gateways that are fed from the bus: one of them reads the log for all."""

import asyncio

import nats
import pytest
from tests.events.conftest import Gateways

from askbus.bus import subjects
from askbus.db.pool import Pool
from askbus.testing.events import following
from askbus.testing.people import Company
from askbus.testing.questions import open_question
from askbus.testing.servers import Server
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("S10")


async def connections(pool: Pool, name: str) -> list[int]:
    rows = await pool.fetch(
        "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database() ORDER BY backend_start",
        name,
    )
    return [row["pid"] for row in rows]


async def test_one_gateway_reads_the_log_for_all_and_another_takes_over(
    gateways: Gateways, company: Company, pool: Pool, nats_server: Server
) -> None:
    """Postgres has one listener for two gateways; the news travel with the message; and what commits while nobody is the bridge comes."""
    spy = await nats.connect(nats_server.url)
    pages = await spy.subscribe(subjects.FEED)
    async with (
        gateways(2, feed="bus") as running,
        following(running.url(0), company["max"]) as one,
        following(running.url(1), company["max"]) as other,
    ):
        await one.next()
        await other.next()

        async def bridged() -> bool:
            return len(await connections(pool, "askbus gateway listen")) == 1

        await until(bridged)
        assert len(await connections(pool, "askbus gateway bridge")) == 2
        holder = await pool.fetchval("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted")
        for lost in (False, True):
            if lost:
                await pool.execute("SELECT pg_terminate_backend($1)", holder)
            asked = str((await open_question(pool, company["mia"].principal, company.north)).id)
            for client in (one, other):
                assert [change["id"] for change in await client.changes()] == [asked]
            if not lost:
                async with asyncio.timeout(5):
                    while asked not in (await pages.next_msg(timeout=5)).data.decode():
                        pass

        async def taken_over() -> bool:
            found = await pool.fetchval("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted")
            return found not in {None, holder} and await bridged()

        await until(taken_over)
        later = str((await open_question(pool, company["mia"].principal, company.north)).id)
        for client in (one, other):
            assert [change["id"] for change in await client.changes()] == [later]
    await spy.close()
