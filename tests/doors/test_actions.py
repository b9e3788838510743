"""Actions over HTTP: proposed by anybody who may, decided by people, applied to the team's own database."""

from typing import Any
from uuid import uuid4

import pytest

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.testing.actions import (
    NEW,
    OLD,
    at_rest,
    confirmed,
    create,
    email_of,
    proposed,
    update,
)
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase
from askbus.testing.streams import events


async def count(pool: Pool, table: str) -> int:
    found: int = await pool.fetchval(f"SELECT count(*) FROM {table}")
    return found


@pytest.mark.requirement("R9", "R13", "R14", "R15", "R18", "R22")
async def test_an_agent_proposes_a_person_confirms_and_the_record_is_changed(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """The whole way: nothing is written before a person has confirmed what the card shows; who did what is on record."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["max"]) as max_:
        action = await proposed(robot, company, summary="Ada has moved")
        assert (action["state"], action["headline"]) == ("pending", "Update customers Ada Lovelace: email")
        assert await email_of(shop) == OLD
        change = action["card"][0]["changes"][0]
        assert (change["field"], change["before_display"], change["after_display"]) == ("email", OLD, NEW)
        done = await confirmed(max_, action)
        assert (done["state"], done["decided_by_name"], done["proposed_by"]) == ("applied", "max", "mia")
        assert await email_of(shop) == NEW
        written = done["outcome"]["records"][0]
        assert (written["before"], written["after"]) == ({"email": OLD}, {"email": NEW})
        trail = await pool.fetch("SELECT event, user_id, via FROM audit_log WHERE entity_id = $1 ORDER BY id", action["id"])
        assert [tuple(row) for row in trail] == [
            ("action.proposed", company["mia"].id, "token"),
            ("action.confirmed", company["max"].id, "session"),
            ("action.applied", company["max"].id, "service"),
        ]


@pytest.mark.requirement("R12", "R15")
async def test_a_later_operation_uses_the_record_that_an_earlier_one_creates(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """A customer and their first order in one action; the order refers to the customer that did not exist before."""
    async with actions.client(company["mia"]) as mia:
        customer = create({"name": "Grace Hopper", "country": "US"}, id="grace")
        order = create({"customer_id": "$ref:grace", "amount": "12.50"}, collection="orders", id="first")
        done = await confirmed(mia, await proposed(mia, company, customer, order))
        assert done["state"] == "applied"
        keys = [record["key"]["id"] for record in done["outcome"]["records"]]
        found = await shop.rows(
            "SELECT c.id::text, o.id::text, o.amount::text FROM orders o JOIN customers c ON c.id = o.customer_id "
            "WHERE c.name = 'Grace Hopper'"
        )
        assert found == [(*keys, "12.50")]


NONSENSE: list[tuple[list[dict[str, Any]], str]] = [
    ([], "operations"),
    ([update({"email": f"a{n}@b.example"}, id=f"op{n}") for n in range(101)], "operations"),
    ([{"id": "a", "kind": "delete", "collection": "customers", "record": 1, "values": {"email": "x"}}], "kind"),
    ([{"id": "a", "kind": "update", "collection": "customers", "values": {"email": "x"}}], "record"),
    ([update({"phone": "1"})], "phone"),
    ([update({"email": NEW}, collection="customer")], "customers"),
    ([update({"email": NEW}, record=99)], "no such record"),
    ([update({"name": None})], "name"),
    ([update({"email": "emile@example.org"})], "already has"),
    ([update({"amount": "12.345"}, collection="orders")], "decimal"),
    ([update({"stage": "gone"}, collection="orders")], "lead"),
    ([update({"email": "x@y.example"}, collection="logins")], "logins"),
    ([update({"state": "applied"}, collection="pg_class")], "pg_class"),
    ([create({"customer_id": 77, "amount": 1}, collection="orders")], "customer_id"),
    ([create({"customer_id": "$ref:nobody", "amount": 1}, collection="orders")], "nobody"),
]


@pytest.mark.requirement("R9", "R10", "R11")
@pytest.mark.parametrize(("operations", "named"), NONSENSE, ids=[named for _, named in NONSENSE])
async def test_what_could_not_be_applied_is_refused_when_it_is_proposed(
    operations: list[dict[str, Any]], named: str, actions: Composed, company: Company, pool: Pool
) -> None:
    """The refusal names what is wrong, so that whoever proposed can send something better, and nothing is stored."""
    async with actions.client(company["mia"]) as mia:
        refused = await mia.post("/v1/actions", json={"project_id": str(company.north), "operations": operations})
        assert refused.status_code == 400, refused.text
        assert named in refused.text
        assert await count(pool, "actions") == 0


@pytest.mark.requirement("R13")
async def test_a_long_value_is_cut_on_the_card_and_whole_on_request(actions: Composed, company: Company) -> None:
    """What the person cannot see at a glance is said to be cut, and is one request away."""
    note = "long " * 1000
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, update({"note": note}, collection="orders"))
        shown = action["card"][0]["changes"][0]
        assert shown["cut"] is True
        assert len(shown["after"]) == 300
        whole = (await mia.get(f"/v1/actions/{action['id']}", params={"full": "true"})).json()
        assert whole["card"][0]["changes"][0]["after"] == note
        assert whole["digest"] == action["digest"]


@pytest.mark.requirement("R14")
async def test_confirming_another_digest_is_refused_with_the_card_as_it_is(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """A page that shows something else cannot confirm by accident what it does not show."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company)
        refused = await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": "something else"})
        assert refused.status_code == 409
        details = refused.json()["details"]
        assert details["action"]["digest"] == action["digest"]
        assert details["card"] == action["card"]
        assert (await mia.get(f"/v1/actions/{action['id']}")).json()["state"] == "pending"
        assert await email_of(shop) == OLD


@pytest.mark.requirement("R14", "I3", "I4")
async def test_only_a_person_who_may_write_there_decides(actions: Composed, company: Company, pool: Pool) -> None:
    """Tokens, viewers and demo users are refused; to strangers, and outside of one's projects, there is nothing."""
    agent = await give_token(pool, company["owner"])
    async with actions.client(company["owner"]) as owner:
        here = await proposed(owner, company)
        there = (
            await owner.post("/v1/actions", json={"project_id": str(company.south), "operations": [update({"country": "IE"})]})
        ).json()
    decisions = [("confirm", {"digest": here["digest"]}), ("reject", {}), ("undo", {}), ("undo", {"dry_run": True})]
    for who, action, status in (
        (agent, here, 403),
        (company["viewer"], here, 403),
        (company["demo"], here, 403),
        (company["stranger"], here, 404),
        (company["mia"], there, 404),
    ):
        async with actions.client(who) as client:
            for verb, body in decisions:
                response = await client.post(f"/v1/actions/{action['id']}/{verb}", json=body)
                assert response.status_code == status, f"{verb}: {response.text}"
    async with actions.client(company["stranger"]) as stranger, actions.client() as nobody:
        assert (await stranger.get(f"/v1/actions/{here['id']}")).status_code == 404
        assert (await stranger.get("/v1/actions")).json()["actions"] == []
        assert (await nobody.get(f"/v1/actions/{here['id']}")).status_code == 401


@pytest.mark.requirement("I3", "I4")
async def test_proposing_needs_the_scope_and_the_project(actions: Composed, company: Company, pool: Pool) -> None:
    """Not without the scope, nor as viewer or demo user; a project that one does not see is not there, whatever is proposed."""
    body = {"project_id": str(company.north), "operations": [update({"email": NEW})]}
    reader = await give_token(pool, company["mia"], scopes=(Scope.DATA_READ,))
    for who in (reader, company["viewer"], company["demo"]):
        async with actions.client(who) as client:
            assert (await client.post("/v1/actions", json=body)).status_code == 403
    elsewhere = {**body, "project_id": str(company.south), "operations": [update({"nonsense": 1}, collection="nonsense")]}
    for who in (company["mia"], company["stranger"], await give_token(pool, company["owner"], projects=(company.north,))):
        async with actions.client(who) as client:
            assert (await client.post("/v1/actions", json=elsewhere)).status_code == 404
    assert await count(pool, "actions") == 0


@pytest.mark.requirement("R14", "R18", "R22")
async def test_a_rejection_reaches_who_waits_for_it_with_its_reason(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """An agent that proposed and waits hears it at once; nothing is written."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["max"]) as max_:
        action = await proposed(robot, company)
        refused = await max_.post(f"/v1/actions/{action['id']}/reject", json={"reason": "Ada has not moved"})
        assert (refused.json()["state"], refused.json()["decided_by_name"]) == ("rejected", "max")
        heard = await at_rest(robot, action["id"])
        assert (heard["state"], heard["reason"]) == ("rejected", "Ada has not moved")
        assert await email_of(shop) == OLD


@pytest.mark.requirement("R22")
async def test_a_proposer_withdraws_what_is_its_own_while_it_is_pending(actions: Composed, company: Company, pool: Pool) -> None:
    """Nobody else may, not even the person whose token proposed it; afterwards nobody confirms it."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["mia"]) as mia:
        action = await proposed(robot, company)
        assert (await mia.post(f"/v1/actions/{action['id']}/withdraw", json={})).status_code == 403
        withdrawn = await robot.post(f"/v1/actions/{action['id']}/withdraw", json={})
        assert (withdrawn.status_code, withdrawn.json()["state"]) == (200, "withdrawn")
        late = await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
        assert (late.status_code, late.json()["details"]["action"]["state"]) == (409, "withdrawn")


@pytest.mark.requirement("R22")
async def test_a_proposer_lists_its_own_pending_actions(actions: Composed, company: Company, pool: Pool) -> None:
    """Those of others, and its own that are settled, are not among them."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["mia"]) as mia:
        kept = await proposed(robot, company)
        settled = await proposed(robot, company, update({"country": "IE"}))
        await robot.post(f"/v1/actions/{settled['id']}/withdraw", json={})
        await proposed(mia, company, update({"country": "PT"}))
        mine = (await robot.get("/v1/actions", params={"mine": "true", "state": "pending"})).json()["actions"]
        assert [action["id"] for action in mine] == [kept["id"]]
        everything = (await mia.get("/v1/actions")).json()["actions"]
        assert len(everything) == 3


@pytest.mark.requirement("R22")
async def test_proposing_the_same_again_finds_the_first(actions: Composed, company: Company, pool: Pool) -> None:
    """By the dedupe key, and by the id of the request; also when what was proposed could not be proposed any more."""
    async with actions.client(company["mia"]) as mia:
        body = {"project_id": str(company.north), "operations": [update({"email": NEW})], "dedupe_key": "ada moves"}
        key = {"idempotency-key": str(uuid4())}
        first = await mia.post("/v1/actions", json=body, headers=key)
        assert first.json()["id"] == key["idempotency-key"]
        assert (await confirmed(mia, first.json()))["state"] == "applied"
        again = await mia.post("/v1/actions", json=body, headers=key)
        deduped = await mia.post("/v1/actions", json=body)
        assert (again.status_code, deduped.status_code) == (201, 200)
        assert {again.json()["id"], deduped.json()["id"]} == {first.json()["id"]}
        assert again.json()["state"] == "applied"
        assert await count(pool, "actions") == 1


@pytest.mark.requirement("R14")
async def test_the_same_confirmation_sent_again_succeeds_and_another_is_late(
    actions: Composed, company: Company, pool: Pool
) -> None:
    """A client that did not hear the answer sends its request again; one audit row says who confirmed."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company)
        key = {"idempotency-key": str(uuid4())}
        address, body = f"/v1/actions/{action['id']}/confirm", {"digest": action["digest"]}
        assert (await mia.post(address, json=body, headers=key)).status_code == 200
        await at_rest(mia, action["id"])
        assert (await mia.post(address, json=body, headers=key)).json()["state"] == "applied"
        assert (await mia.post(address, json=body)).status_code == 409
        trail = await pool.fetch("SELECT FROM audit_log WHERE entity_id = $1 AND event = 'action.confirmed'", action["id"])
        assert len(trail) == 1


@pytest.mark.requirement("R14", "O9")
async def test_a_pending_action_expires(actions: Composed, company: Company, pool: Pool) -> None:
    """Who waits is told the moment its time is over, a confirmation after that is refused, and the sweep moves the row."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, expires_in=1)
        assert (await at_rest(mia, action["id"]))["state"] == "expired"
        late = await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
        assert (late.status_code, late.json()["details"]["action"]["state"]) == (409, "expired")
        assert (await mia.get("/v1/actions", params={"state": "pending"})).json()["actions"] == []
        assert len((await mia.get("/v1/actions", params={"state": "expired"})).json()["actions"]) == 1


@pytest.mark.requirement("R18", "S3")
async def test_a_pending_action_is_on_the_stream_by_id_and_state_alone(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """What is going on at connect, then each change; never a word of what is changed."""
    async with actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await proposed(mia, company, summary="secret plans")
        heard: list[str] = []
        async with max_.stream("GET", "/v1/events", params={"entities": "action"}) as stream:
            async for event in events(stream):
                heard.append(f"{event.name} {event.data}")
                if event.name == "state":
                    assert [one["status"] for one in event.data["entities"]] == ["pending"]
                    await mia.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]})
                elif "applied" in heard[-1]:
                    break
        assert all(action["id"] in line for line in heard)
        assert not any(word in line for line in heard for word in ("secret", "Ada", "email", NEW, OLD))
