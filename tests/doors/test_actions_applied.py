"""What becomes of confirmed actions: once, all or nothing, whoever edits, races, loses rights or goes away meanwhile."""

import asyncio
from collections import Counter
from functools import partial
from uuid import UUID

import pytest

from askbus.access.verbs import remove_from_project
from askbus.actions.model import ActionState
from askbus.bus.connection import connect
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.provision import provision
from askbus.bus.publisher import publish_facts
from askbus.db.pool import Pool
from askbus.records.ledger import prepare_ledger
from askbus.testing.actions import NEW, OLD, action_in, at_rest, confirmed, create, email_of, pending_action, proposed, update
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.unreachable import away
from askbus.testing.waiting import until
from askbus_action_applier.app import make_app as make_applier
from askbus_gateway.app import make_app as make_gateway

DECISIONS = {"action.confirmed", "action.rejected", "action.expired"}
OUTCOMES = {"action.applied", "action.failed", "action.conflicted"}


async def trail(pool: Pool, action_id: str) -> Counter[str]:
    rows = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1", UUID(action_id))
    return Counter(row["event"] for row in rows)


async def ledger(shop: TeamDatabase) -> list[object]:
    return [row[0] for row in await shop.rows("SELECT state FROM askbus_ledger.outcomes ORDER BY at")]


async def state(pool: Pool, action_id: str | UUID) -> str:
    found: str = await pool.fetchval("SELECT state::text FROM actions WHERE id = $1", UUID(str(action_id)))
    return found


@pytest.mark.requirement("R15")
async def test_a_human_edit_in_between_makes_it_conflicted_and_nothing_is_written(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """Both values are shown; the other operation of the action, which nobody disturbed, is not written either."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, update({"country": "IE"}, record=2, id="other"), update({"email": NEW}))
        await shop.run("UPDATE customers SET email = 'ada@by.hand' WHERE id = 1")
        done = await confirmed(mia, action)
        assert done["state"] == "conflicted"
        (mismatch,) = done["outcome"]["mismatches"]
        assert (mismatch["field"], mismatch["expected"], mismatch["found"]) == ("email", OLD, "ada@by.hand")
        assert await shop.rows("SELECT email, country FROM customers WHERE id <= 2 ORDER BY id") == [
            ("ada@by.hand", "UK"),
            ("emile@example.org", "FR"),
        ]
        assert await ledger(shop) == ["conflicted"]


@pytest.mark.requirement("R15")
async def test_an_edit_of_another_field_is_no_conflict(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """Only what the action touches has to be as it was."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company)
        await shop.run("UPDATE customers SET country = 'FR' WHERE id = 1")
        assert (await confirmed(mia, action))["state"] == "applied"
        assert await shop.rows("SELECT email, country FROM customers WHERE id = 1") == [(NEW, "FR")]


@pytest.mark.requirement("R15", "R16")
async def test_what_the_database_refuses_fails_whole(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """The operation that failed is named, the one before it is not written, and the ledger keeps the failure."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, create({"name": "Grace"}, id="fine"), update({"email": NEW}, id="taken"))
        await shop.run(f"UPDATE customers SET email = '{NEW}' WHERE id = 2")
        done = await confirmed(mia, action)
        assert (done["state"], done["outcome"]["problem"]["operation"]) == ("failed", "taken")
        assert "already has this value" in done["outcome"]["problem"]["message"]
        assert await shop.value("SELECT count(*)::int FROM customers WHERE name = 'Grace'") == 0
        assert await email_of(shop) == OLD
        assert await ledger(shop) == ["failed"]


@pytest.mark.requirement("R14", "R16")
async def test_of_twenty_confirmations_and_a_rejection_exactly_one_wins(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Two people, many tabs: one decision stands, the others are shown it, and the record is written at most once."""
    async with actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await proposed(mia, company)
        address = f"/v1/actions/{action['id']}"
        decisions = [
            (mia if number % 2 else max_).post(f"{address}/confirm", json={"digest": action["digest"]}) for number in range(20)
        ]
        decisions.insert(10, mia.post(f"{address}/reject", json={}))
        answers = await asyncio.gather(*decisions)
        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 20}
        done = await at_rest(mia, action["id"])
        events = await trail(pool, action["id"])
        assert sum(events[event] for event in DECISIONS) == 1
        if done["state"] == "rejected":
            assert (await ledger(shop), await email_of(shop)) == ([], OLD)
        else:
            assert (done["state"], await ledger(shop), await email_of(shop)) == ("applied", ["applied"], NEW)
            assert events["action.applied"] == 1


@pytest.mark.requirement("R14", "O9")
async def test_a_confirmation_races_its_expiry(actions: Composed, company: Company, pool: Pool, shop: TeamDatabase) -> None:
    """At the moment when its time is over: confirmed or expired, never both, and what is shown is what was written."""
    async with actions.client(company["mia"]) as mia:
        waiting = [await proposed(mia, company, update({"note": str(n)}, collection="orders"), expires_in=600) for n in range(6)]
        due = "UPDATE actions SET proposed_at = now() - interval '1 hour', expires_at = clock_timestamp() WHERE state = 'pending'"
        confirming = [mia.post(f"/v1/actions/{one['id']}/confirm", json={"digest": one["digest"]}) for one in waiting]
        _, answers = await asyncio.gather(pool.execute(due), asyncio.gather(*confirming))
        for one, answer in zip(waiting, answers, strict=True):
            done = await at_rest(mia, one["id"])
            won = "action.confirmed" if answer.status_code == 200 else "action.expired"
            assert (done["state"] == "expired") == (won == "action.expired")
            await until(partial(_decided, pool, one["id"]))
            events = await trail(pool, one["id"])
            assert {event: events[event] for event in DECISIONS if events[event]} == {won: 1}


async def _decided(pool: Pool, action_id: str) -> bool:
    return await state(pool, action_id) != "pending"


@pytest.mark.requirement("R16")
async def test_a_fact_that_is_delivered_many_times_applies_once(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Two instances, the same wake-up ten times over: one ledger row, one outcome, one audit row."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.ACTION_APPLIER, make_applier), (Service.ACTION_APPLIER, make_applier)]
    nc = await connect(nats_server.url, "twice")
    together = compose(database, nats_server.url, services, records_url=shop.url)
    async with together as running, running.client(company["mia"]) as mia:
        action = await proposed(mia, company)
        fact = Fact(
            fact="action.confirmed", entity="action", entity_id=UUID(action["id"]), status="confirmed",
            workspace_id=company.workspace_id, project_id=company.north, traceparent=None, delivery=1,
        )  # fmt: skip
        confirmation = mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
        await asyncio.gather(confirmation, publish_facts(nc.jetstream(), [fact] * 5))
        await publish_facts(nc.jetstream(), [fact] * 5)
        assert (await at_rest(mia, action["id"]))["state"] == "applied"
    await nc.close()
    assert await ledger(shop) == ["applied"]
    assert await trail(pool, action["id"]) == {"action.proposed": 1, "action.confirmed": 1, "action.applied": 1}


@pytest.mark.requirement("R16")
async def test_an_outcome_that_is_in_the_ledger_already_is_copied_from_there(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Whoever applied it and died before it could say so: the record is not written again, whatever it holds by now."""
    mia = company["mia"].principal
    action = await action_in(pool, ActionState.CONFIRMED, mia, mia, company.north)
    await shop.run(
        f"INSERT INTO askbus_ledger.outcomes (id, kind, action_id, state, user_id, workspace_id, mismatches) "
        f"VALUES ('{action.id}', 'apply', '{action.id}', 'conflicted', '{mia.user_id}', '{mia.workspace_id}', '[]')"
    )
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.ACTION_APPLIER, make_applier)], records_url=shop.url):
        await until(lambda: _settled(pool, action.id))
    assert await state(pool, action.id) == "conflicted"
    assert await email_of(shop) == OLD


async def _settled(pool: Pool, action_id: UUID) -> bool:
    return await state(pool, action_id) != "confirmed"


@pytest.mark.requirement("R16")
async def test_a_confirmed_action_whose_wake_up_was_lost_is_applied_by_the_sweep(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """The fact never reached anybody; the row is the truth."""
    mia = company["mia"].principal
    action = await action_in(pool, ActionState.CONFIRMED, mia, mia, company.north)
    await pool.execute("UPDATE relays SET cursor = pg_current_snapshot()::text WHERE owner = 'action-applier'")
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.ACTION_APPLIER, make_applier)], records_url=shop.url):
        await until(lambda: _settled(pool, action.id))
    assert (await state(pool, action.id), await email_of(shop)) == ("applied", NEW)


@pytest.mark.requirement("R16")
async def test_while_the_records_are_away_a_confirmed_action_waits_and_is_then_applied(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase, postgres_server: Server
) -> None:
    """Nothing is lost and nothing fails; proposing says that the database cannot be reached."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company)
        async with away(postgres_server, shop):
            response = await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
            assert response.json()["state"] == "confirmed"
            body = {"project_id": str(company.north), "operations": [update({"country": "IE"})]}
            assert (await mia.post("/v1/actions", json=body)).status_code == 503
            waited = await mia.get(f"/v1/actions/{action['id']}", params={"wait": 1.5})
            assert waited.json()["state"] == "confirmed"
        assert (await at_rest(mia, action["id"]))["state"] == "applied"
        assert await ledger(shop) == ["applied"]


@pytest.mark.requirement("R16")
async def test_without_a_ledger_nothing_is_applied_until_there_is_one(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool, postgres_server: Server
) -> None:
    """The records are not touched unproved; preparing the database is enough for what waits."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.ACTION_APPLIER, make_applier)]
    async with team_database(postgres_server.url, ledger=False) as team:
        await team.run(SHOP)
        together = compose(database, nats_server.url, services, records_url=team.url)
        async with together as running, running.client(company["mia"]) as mia:
            action = await proposed(mia, company)
            await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
            waited = await mia.get(f"/v1/actions/{action['id']}", params={"wait": 1.5})
            assert (waited.json()["state"], await email_of(team)) == ("confirmed", OLD)
            await prepare_ledger(team.url)
            assert (await at_rest(mia, action["id"]))["state"] == "applied"


@pytest.mark.requirement("R11")
async def test_whoever_lost_the_right_to_write_since_writes_nothing(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase, postgres_server: Server
) -> None:
    """Permission is asked for again when it is applied, for the person who confirmed, as it is by then."""
    async with actions.client(company["mia"]) as mia, actions.client(company["owner"]) as owner:
        action = await proposed(mia, company)
        async with away(postgres_server, shop):
            await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
            await remove_from_project(pool, company.workspace_id, company.north, company["mia"].id)
        done = await at_rest(owner, action["id"])
        assert (done["state"], await email_of(shop)) == ("failed", OLD)
        assert "change nothing" in done["outcome"]["problem"]["message"]


async def test_an_action_that_can_never_be_applied_fails_rather_than_rest(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """What is stored cannot be read back: after some tries the action fails, in the ledger too; why is in the log alone."""
    action = await pending_action(pool, company["mia"].principal, company.north)
    await pool.execute('UPDATE actions SET operations = \'[{"id": "broken"}]\' WHERE id = $1', action.id)
    async with actions.client(company["mia"]) as mia:
        command = {"digest": action.digest}
        assert (await mia.post(f"/v1/actions/{action.id}/confirm", json=command)).status_code == 500
    await until(lambda: _settled(pool, action.id), within=30)
    assert (await state(pool, action.id), await ledger(shop)) == ("failed", ["failed"])


@pytest.mark.requirement("O3")
async def test_without_records_the_answer_names_the_setting(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool
) -> None:
    """Nothing can be proposed or confirmed; what is pending can still be rejected."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.ACTION_APPLIER, make_applier)]
    action = await pending_action(pool, company["mia"].principal, company.north)
    async with compose(database, nats_server.url, services) as running, running.client(company["mia"]) as mia:
        body = {"project_id": str(company.north), "operations": [update({"email": NEW})]}
        for response in (
            await mia.post("/v1/actions", json=body),
            await mia.post(f"/v1/actions/{action.id}/confirm", json={"digest": action.digest}),
            await mia.post(f"/v1/actions/{action.id}/undo", json={}),
        ):
            assert (response.status_code, "ASKBUS_RECORDS_URL" in response.json()["message"]) == (503, True)
        assert (await mia.post(f"/v1/actions/{action.id}/reject", json={})).json()["state"] == "rejected"
