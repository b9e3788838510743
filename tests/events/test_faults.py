"""Streams whose connections, clients and gateways fail."""

import asyncio
import json
from pathlib import Path
from time import monotonic

import pytest
from tests.events.conftest import BOTH_WAYS, Gateways

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, connect, following
from askbus.testing.people import Company
from askbus.testing.questions import open_question
from askbus.testing.waiting import until
from askbus_gateway.sse.hub import Hub

CASES = Path(__file__).parents[1] / "cases" / "sse"
S03 = json.loads((CASES / "S03.json").read_text("utf-8"))
S09 = json.loads((CASES / "S09.json").read_text("utf-8"))


async def asked(pool: Pool, company: Company) -> str:
    return str((await open_question(pool, company["mia"].principal, company.north)).id)


async def collected(client: EventClient, number: int) -> list[str]:
    """The next so many changed entities."""
    seen: list[str] = []
    while len(seen) < number:
        seen += [change["id"] for change in await client.changes(within=S03["expected"]["within_seconds_without_new_event"])]
    return seen


async def flood(pool: Pool, company: Company, rows: int) -> list[str]:
    """So many changes in one transaction."""
    found = await pool.fetch(
        "WITH made AS (INSERT INTO change_log (fact, entity, entity_id, status, workspace_id, project_id)"
        " SELECT 'question.asked', 'question', uuidv7(), 'open', $1, $2 FROM generate_series(1, $3::int) RETURNING entity_id)"
        " SELECT entity_id, pg_notify('askbus', '') FROM made",
        company.workspace_id,
        company.north,
        rows,
    )
    return [str(row["entity_id"]) for row in found]


@pytest.mark.requirement("S10")
@BOTH_WAYS
@pytest.mark.requirement("S7")
@pytest.mark.parametrize("lost", ["askbus gateway listen", "askbus gateway%"])
async def test_a_lost_connection_to_postgres_loses_no_event(lost: str, gateway: Composed, company: Company, pool: Pool) -> None:
    """Case S03: the LISTEN connection is killed, or all of the gateway's; what commits meanwhile comes without a nudge."""
    async with following(gateway.http, company["max"]) as client:
        await client.next()
        first = await asked(pool, company)
        assert await collected(client, 1) == [first]
        await pool.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE $1 AND datname = current_database()",
            lost,
        )
        missed = [await asked(pool, company) for _ in range(2)]
        assert await collected(client, 2) == missed

        async def listens() -> bool:
            count = await pool.fetchval(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'askbus gateway listen' AND datname = current_database()"
            )
            return bool(count == 1)

        await until(listens)
        nudged = await asked(pool, company)
        assert await collected(client, 1) == [nudged]
    ids = [change["id"] for event in client.events if event.name == "changes" for change in event.data]
    assert len(ids) == len(set(ids)) == 1 + len(S03["expected"]["client_receives"])


@pytest.mark.requirement("S5")
async def test_clients_that_go_away_leave_nothing_behind(
    gateways: Gateways, hubs: list[Hub], company: Company, pool: Pool
) -> None:
    """Case S09: 200 connections reset before the body, 30 in mid-stream; the one that stays goes on."""
    async with gateways() as running:
        (hub,) = hubs
        for _ in range(200):
            client = await connect(running.http, company["max"])
            client.reset()
        async with following(running.http, company["max"]) as stays:
            await stays.next()
            others = [await connect(running.http, company["mia"]) for _ in range(30)]
            for other in others:
                await other.begin()
            writing = asyncio.ensure_future(flood(pool, company, 500))
            for other in others:
                other.reset()
            await writing

            async def alone() -> bool:
                return bool(len(hub) == S09["expected"]["live_subscriptions_after"])

            await until(alone)
            assert await collected(stays, 500) == writing.result()

            async def at_rest() -> bool:
                return hub.pool.get_size() == hub.pool.get_idle_size() + 1  # the tail keeps the one that it reads with

            await until(at_rest)
            stuck = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'askbus gateway' AND state <> 'idle'"
            assert await pool.fetchval(stuck) == 0
            later = await asked(pool, company)
            assert await collected(stays, 1) == [later]

        async def empty() -> bool:
            return len(hub) == 0

        await until(empty)


@pytest.mark.requirement("S6")
async def test_a_stalled_client_is_cut_off_and_slows_nobody(gateway: Composed, company: Company, pool: Pool) -> None:
    """It never reads; the others get everything meanwhile; and when it comes back with its last id it has missed nothing."""
    stalled = await connect(gateway.http, company["max"], receive_buffer=4096)
    await stalled.begin()
    await stalled.next()
    sent: list[str] = []
    async with following(gateway.http, company["mia"]) as client:
        await client.next()
        for _ in range(22):
            batch = await flood(pool, company, 200)
            assert await collected(client, 200) == batch
            sent += batch
    await stalled.end()
    await stalled.close()
    got = [change["id"] for event in stalled.events if event.name == "changes" for change in event.data]
    assert 0 < len(got) < len(sent) / 2
    async with following(gateway.http, company["max"], after=stalled.events[-1].id) as back:
        rest: list[str] = []
        while len(got) + len(rest) < len(sent):
            event = await back.next()
            if event.name == "reset":
                pytest.fail("the client was not brought up to date by a replay")
            rest += [change["id"] for change in event.data]
    assert got + rest == sent


@pytest.mark.requirement("S5")
async def test_a_stream_is_closed_at_its_age_and_resumed_without_loss(gateways: Gateways, company: Company, pool: Pool) -> None:
    """Not before nine tenths of it, so that clients come back one by one, and wherever the balancer sends them."""
    async with gateways(stream_age=1.0, heartbeat=0.2) as running:
        began = monotonic()
        async with following(running.http, company["max"]) as client:
            await client.next()
            first = await asked(pool, company)
            left = await client.end(within=5)
        assert 0.9 <= monotonic() - began < 3
        assert [change["id"] for event in left for change in event.data] == [first]
        missed = await asked(pool, company)
        async with following(running.http, company["max"], after=client.last_id) as client:
            assert await collected(client, 1) == [missed]


@pytest.mark.requirement("S6", "O2")
async def test_a_stalled_client_does_not_keep_a_gateway_from_stopping(
    gateways: Gateways, hubs: list[Hub], company: Company, pool: Pool
) -> None:
    """What it does not read in time it gets from another gateway."""
    async with gateways(drain=20.0) as running:
        stalled = await connect(running.http, company["max"], receive_buffer=4096)
        await stalled.begin()
        await stalled.next()
        (stream,) = hubs[0]._all()
        held, grown = 0, 0
        while grown < 3:
            await flood(pool, company, 20)
            await until(lambda: delivered(hubs[0], pool))
            assert stream.transport is not None
            grown = grown + 1 if stream.transport.get_write_buffer_size() > held else 0
            held = stream.transport.get_write_buffer_size()
        began = monotonic()
    assert monotonic() - began < 10
    await stalled.end()
    await stalled.close()


async def delivered(hub: Hub, pool: Pool) -> bool:
    """Whether the gateway has read all that was committed."""
    newest = await pool.fetchval("SELECT max(xid::text::bigint) FROM change_log")
    return hub.tail.cursor is not None and hub.tail.cursor.sees(newest)


@pytest.mark.requirement("S5", "O2")
async def test_a_gateway_that_stops_ends_its_streams_at_once(gateways: Gateways, company: Company, pool: Pool) -> None:
    """The client finds out, and goes on with another."""
    async with gateways() as stays:
        async with gateways() as stops:
            client = await connect(stops.http, company["max"])
            await client.begin()
            await client.next()
            first = await asked(pool, company)
            assert await collected(client, 1) == [first]
            began = monotonic()
        assert await client.end(within=1) == []
        assert monotonic() - began < 5
        missed = await asked(pool, company)
        async with following(stays.http, company["max"], after=client.last_id) as resumed:
            assert await collected(resumed, 1) == [missed]
        await client.close()
