"""Standing approvals over HTTP: made by people, used by the owner of actions once everybody could see the proposal pending."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest

from askbus.access.model import Role
from askbus.actions import reads
from askbus.approvals.reads import candidates
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.runtime.settings import Settings
from askbus.testing.actions import NEW, OLD, at_rest, email_of, proposed, undone, update
from askbus.testing.approvals import proposed_in, standing_approval
from askbus.testing.composed import Composed, compose
from askbus.testing.events import following
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.turns import running_turn
from askbus.testing.waiting import until
from askbus_action_applier.app import make_app as make_applier
from askbus_action_applier.apply import Applier
from askbus_action_applier.standing import Standing
from askbus_action_applier.sweep import Sweep
from askbus_action_applier.target import Target
from askbus_action_applier.undo import Undoer
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway

pytestmark = pytest.mark.requirement("R20")

WEEK = 7 * 86400
EMAIL = {"collection": "customers", "kinds": ["update"], "fields": [{"field": "email"}]}


@pytest.fixture
async def allowing(database: TestDatabase, nats_server: Server, company: Company, shop: TeamDatabase) -> AsyncIterator[Composed]:
    """Gateway, action-applier and expiry of a deployment that allows standing approvals of a week."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.ACTION_APPLIER, make_applier), (Service.EXPIRY, make_expiry)]
    async with compose(database, nats_server.url, services, records_url=shop.url, standing_approval_days=7) as running:
        yield running


def terms(company: Company, **said: object) -> dict[str, Any]:
    return {"project_id": str(company.north), "allow": EMAIL, "most_uses": 2, "expires_in": 3600, **said}


async def made(client: httpx2.AsyncClient, body: Mapping[str, Any]) -> Any:
    response = await client.post("/v1/standing-approvals", json=body)
    assert response.status_code == 201, response.text
    return response.json()


@pytest.mark.requirement("R14", "R17", "R18", "R22", "S2", "S11")
async def test_what_a_token_proposes_within_its_persons_approval_is_pending_then_confirmed_by_it(
    allowing: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Seen pending before it is confirmed; applied, undone and in the trail like any other, there by the approval of who made it; the
    proposer learns the outcome as after a press. What is not covered, and what comes when the uses are over, waits for people."""
    agent = await give_token(pool, company["mia"])
    async with (
        allowing.client(agent) as robot,
        allowing.client(company["mia"]) as mia,
        allowing.client(company["max"]) as max_,
        following(allowing.http, company["max"]) as feed,
    ):
        await feed.next()
        approval = await made(mia, terms(company, token_id=str(agent.id)))
        assert (approval["state"], approval["made_by"], approval["uses"]) == ("active", "mia", 0)
        done = await proposed(robot, company, wait_seconds=20)
        assert (done["state"], done["approval_id"], done["decided_by_name"]) == ("applied", approval["id"], "mia")
        assert await email_of(shop) == NEW
        assert await pool.fetchval("SELECT untold FROM actions WHERE id = $1", done["id"]) == 1

        seen: list[tuple[str, str]] = []
        while ("action", "applied") not in seen:
            seen += [(change["entity"], change["status"]) for change in await feed.changes()]
        assert [status for entity, status in seen if entity == "action"] == ["pending", "confirmed", "applied"]
        assert [status for entity, status in seen if entity == "standing_approval"] == ["active", "active"]

        entries = (await max_.get("/v1/trail", params={"action_id": done["id"]})).json()["entries"]
        told = [(one["event"], one["by_name"], one["via"], one["approval_id"]) for one in reversed(entries)]
        assert told == [
            ("action.proposed", "mia", "token", None),
            ("action.confirmed", "mia", "standing-approval", approval["id"]),
            ("action.applied", "mia", "service", None),
        ]
        listed = (await max_.get("/v1/actions", params={"approval_id": approval["id"]})).json()["actions"]
        assert [one["id"] for one in listed] == [done["id"]]

        outside = await proposed(robot, company, update({"country": "SE"}))
        assert (await undone(mia, done["id"]))["state"] == "undone"
        assert await email_of(shop) == OLD
        assert (await proposed(robot, company, wait_seconds=20))["state"] == "applied"
        over = await proposed(robot, company, update({"email": "third@example.org"}))
        page = (await max_.get("/v1/standing-approvals")).json()
        assert [(one["id"], one["state"], one["uses"]) for one in page["approvals"]] == [(approval["id"], "used_up", 2)]
        assert page["longest_days"] == 7
        weighed = "SELECT weighed_at IS NOT NULL FROM actions WHERE id = $1"
        await until(lambda: pool.fetchval(weighed, outside["id"]))
        for waiting in (outside, over):
            rejected = await max_.post(f"/v1/actions/{waiting['id']}/reject", json={})
            assert (rejected.status_code, rejected.json()["approval_id"]) == (200, None)


@pytest.mark.requirement("R18", "R19")
async def test_the_model_is_told_the_outcome_just_as_after_a_press(
    allowing: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """The same change twice in a conversation, once pressed and once confirmed by its approval: the two notes differ in ids and times."""
    turn = await running_turn(pool, company)
    async with allowing.client(company["mia"]) as mia:
        pressed = await proposed_in(pool, turn)
        answer = await mia.post(f"/v1/actions/{pressed.id}/confirm", json={"digest": pressed.digest})
        assert answer.status_code == 200, answer.text
        assert (await at_rest(mia, str(pressed.id)))["state"] == "applied"
        await shop.run(f"UPDATE customers SET email = '{OLD}' WHERE id = 1")  # our own constant
        approval = await made(mia, terms(company, thread_id=str(turn.thread_id)))
        standing = await proposed_in(pool, turn)
        done = await at_rest(mia, str(standing.id))
        assert (done["state"], done["approval_id"]) == ("applied", approval["id"])
    apart = {"id", "proposed_at", "settled_at"}
    first, second = [note.model_dump(exclude=apart) for note in await reads.outcomes_of_thread(pool, turn.thread_id)]
    assert first == second


@pytest.mark.requirement("I4", "Q9", "I6")
async def test_only_people_who_may_confirm_make_them_and_only_where_they_are_allowed(
    allowing: Composed, company: Company, pool: Pool
) -> None:
    """No token, viewer or demo user; nobody for a conversation of another's; what it is to cover is checked like a proposal, by field."""
    turn = await running_turn(pool, company)
    agent = await give_token(pool, company["mia"])
    body = terms(company, thread_id=str(turn.thread_id))
    for who, status in (
        (agent, 403),
        (company["viewer"], 403),
        (company["demo"], 403),
        (company["max"], 404),
        (company["stranger"], 404),
        (None, 401),
    ):
        async with allowing.client(who) as client:
            assert (await client.post("/v1/standing-approvals", json=body)).status_code == status, who
    async with allowing.client(agent) as robot:
        assert (await robot.get("/v1/standing-approvals")).status_code == 403
    wrong: list[tuple[dict[str, Any], int, str]] = [
        ({"expires_in": WEEK + 1}, 400, "7 days"),
        ({"most_uses": 0}, 400, "most_uses"),
        ({"token_id": str(agent.id)}, 400, "one conversation"),
        ({"allow": {**EMAIL, "collection": "customer"}}, 404, "customers"),
        ({"allow": {**EMAIL, "kinds": ["delete"]}}, 400, "kinds"),
        ({"allow": {**EMAIL, "fields": [{"field": "phone"}]}}, 404, "phone"),
        ({"allow": {**EMAIL, "fields": [{"field": "password_hash"}]}}, 404, "password_hash"),
        ({"allow": {**EMAIL, "collection": "logins"}}, 403, "logins"),
        ({"allow": {**EMAIL, "fields": [{"field": "email", "minimum": "a"}]}}, 400, "email"),
        ({"allow": {**EMAIL, "fields": [{"field": "email"}, {"field": "email"}]}}, 400, "once"),
        ({"allow": {**EMAIL, "collection": "orders", "fields": [{"field": "stage", "values": ["wonn"]}]}}, 400, "stage"),
        ({"allow": {**EMAIL, "collection": "orders", "fields": [{"field": "amount", "maximum": "much"}]}}, 400, "amount"),
    ]
    async with allowing.client(company["mia"]) as mia:
        for said, status, named in wrong:
            refused = await mia.post("/v1/standing-approvals", json=body | said)
            assert (refused.status_code, named in refused.text) == (status, True), (said, refused.text)
        assert (await mia.get("/v1/standing-approvals")).json()["approvals"] == []

        orders = {"collection": "orders", "kinds": ["update"], "most_records": 5}
        fields = [{"field": "stage", "values": ["won"]}, {"field": "amount", "minimum": 0, "maximum": "99.5"}]
        key = {"idempotency-key": "0192f0aa-0000-7000-8000-000000000001"}
        sent = body | {"allow": {**orders, "fields": fields}}
        answers = [await mia.post("/v1/standing-approvals", json=sent, headers=key) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 201]
        shown, again = [answer.json() for answer in answers]
        assert shown == again
        bounds = [(one["field"], one["kind"], one["values"], one["minimum"], one["maximum"]) for one in shown["cover"]["fields"]]
        assert bounds == [("stage", "enum", ["won"], None, None), ("amount", "decimal", None, "0", "99.5")]
        async with allowing.client(company["max"]) as max_, allowing.client(company["stranger"]) as stranger:
            assert (await max_.post(f"/v1/standing-approvals/{shown['id']}/revoke", json={})).status_code == 403
            assert (await stranger.get(f"/v1/standing-approvals/{shown['id']}")).status_code == 404
            assert (await max_.get(f"/v1/standing-approvals/{shown['id']}")).json() == shown
        async with allowing.client(company["owner"]) as owner:
            revoked = await owner.post(f"/v1/standing-approvals/{shown['id']}/revoke", json={})
            assert (revoked.json()["state"], revoked.json()["revoked_by_name"]) == ("revoked", "owner")
        late = await mia.post(f"/v1/standing-approvals/{shown['id']}/revoke", json={})
        assert (late.status_code, late.json()["details"]["approval"]["state"]) == (409, "revoked")
        assert len((await mia.get("/v1/standing-approvals", params={"state": "active"})).json()["approvals"]) == 0


async def test_they_are_off_unless_the_deployment_says_for_how_long(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase, database: TestDatabase
) -> None:
    """None can be made, the setting is named, and one that was made before confirms nothing. A wake-up that was lost is made up for."""
    turn = await running_turn(pool, company)
    mia = turn.person.principal
    async with actions.client(company["mia"]) as browser:
        refused = await browser.post("/v1/standing-approvals", json=terms(company, thread_id=str(turn.thread_id)))
        assert (refused.status_code, refused.json()["details"]) == (403, {"setting": "ASKBUS_STANDING_APPROVAL_DAYS"})
        assert (await browser.get("/v1/standing-approvals")).json()["longest_days"] == 0
    await standing_approval(pool, mia, company.north, thread_id=turn.thread_id)
    action = await proposed_in(pool, turn)
    assert len(await candidates(pool, action.id)) == 1
    target = Target(Settings.load(database_url=database.url, nats_url="nats://nowhere", records_url=shop.url))
    states = []
    for days in (0, 7):
        standing = Standing(pool, target, Role.MEMBER, days)
        await standing.weigh(action.id)
        states.append(await pool.fetchval("SELECT state::text FROM actions WHERE id = $1", action.id))
    assert states == ["pending", "confirmed"]

    lost = await proposed_in(pool, turn)
    sweep = Sweep(
        pool,
        Standing(pool, target, Role.MEMBER, 7),
        Applier(pool, target),
        Undoer(pool, target),
        rested=0,
        committed=lambda: None,
    )
    await sweep.wake()
    assert await pool.fetchval("SELECT approval_id IS NOT NULL FROM actions WHERE id = $1", lost.id)
    await target.records.dispose()
