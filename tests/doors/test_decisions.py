"""Decisions about single operations: some confirmed, some rejected with a reason, some with other values than were proposed."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest

from askbus.actions import reads
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.actions import NEW, OLD, at_rest, confirmed, create, email_of, proposed, undone, update
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.turns import running_turn
from askbus_action_applier.app import make_app as make_applier
from askbus_gateway.app import make_app as make_gateway


def yes(operation: str, **values: object) -> dict[str, Any]:
    return {"operation": operation, "confirm": True, "values": values}


def no(operation: str, reason: str | None = None) -> dict[str, Any]:
    return {"operation": operation, "confirm": False, "reason": reason}


async def decide(client: Any, action: Any, *decisions: dict[str, Any], digest: str | None = None) -> Any:
    body = {"digest": digest or action["digest"], "decisions": decisions}
    return await client.post(f"/v1/actions/{action['id']}/decide", json=body)


async def events_of(pool: Pool, action_id: str) -> Sequence[str]:
    rows = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY at, id", UUID(action_id))
    return [row["event"] for row in rows]


@pytest.mark.requirement("R14", "R22")
async def test_some_operations_are_confirmed_and_others_rejected_with_a_reason(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """What was confirmed is applied, what was rejected is not; the card says so of each, also to the agent that proposed it."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["max"]) as max_:
        action = await proposed(robot, company, update({"email": NEW}), update({"country": "NO"}, record=2, id="b"))
        answer = await decide(max_, action, yes("a"), no("b", "he lives in Paris"))
        assert answer.status_code == 200, answer.text
        done = await at_rest(robot, action["id"])
        assert (done["state"], done["decided_by_name"]) == ("applied", "max")
        assert [(one["decision"], one["reason"]) for one in done["card"]] == [
            ("confirmed", None),
            ("rejected", "he lives in Paris"),
        ]
        assert await shop.rows("SELECT email, country FROM customers WHERE id < 3 ORDER BY id") == [
            (NEW, "UK"),
            ("emile@example.org", "FR"),
        ]
        assert await events_of(pool, action["id"]) == ["action.proposed", "action.confirmed", "action.applied"]
        trail = (await max_.get("/v1/trail", params={"action_id": action["id"]})).json()["entries"]
        assert [one["decision"] for one in trail[1]["decisions"]] == ["confirmed", "rejected"]
        assert (await undone(max_, action["id"]))["state"] == "undone"
        assert await email_of(shop) == OLD


@pytest.mark.requirement("R14")
async def test_a_value_is_edited_before_it_is_confirmed(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """What was edited is applied; the card shows both, and the trail who edited which field."""
    async with actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await proposed(mia, company, update({"email": NEW, "country": "SE"}))
        answer = await decide(max_, action, yes("a", country="NO"))
        assert answer.status_code == 200, answer.text
        done = await at_rest(mia, action["id"])
        (card,) = done["card"]
        assert (done["state"], card["decision"]) == ("applied", "edited")
        assert [(one["before"], one["after"]) for one in card["changes"]] == [(OLD, NEW), ("UK", "NO")]
        assert [one["after"] for one in card["proposed"]] == [NEW, "SE"]
        assert await shop.rows("SELECT email, country FROM customers WHERE id = 1") == [(NEW, "NO")]
        trail = (await mia.get("/v1/trail", params={"action_id": action["id"]})).json()["entries"]
        assert (trail[1]["by_name"], trail[1]["decisions"][0]["fields"]) == ("max", ["country"])


@pytest.mark.requirement("R14", "R10")
async def test_an_edited_value_is_validated_like_a_proposed_one(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """A wrong one is refused by operation and field, and the action stays pending; so is a field that was not proposed."""
    async with actions.client(company["mia"]) as mia:
        operations = [
            update({"amount": "5.00", "stage": "won"}, collection="orders", id="o"),
            update({"email": NEW}),
        ]
        action = await proposed(mia, company, *operations)
        for values, field in (
            ({"amount": "1.234"}, "amount"),
            ({"stage": "wonn"}, "stage"),
            ({"note": "not proposed"}, "note"),
            ({"amount": None}, "amount"),
        ):
            answer = await decide(mia, action, yes("o", **values), yes("a"))
            assert answer.status_code == 400, (values, answer.text)
            assert [(one["operation"], one["field"]) for one in answer.json()["details"]["problems"]] == [("o", field)]
            assert (await mia.get(f"/v1/actions/{action['id']}")).json()["state"] == "pending"
        assert await email_of(shop) == OLD


@pytest.mark.requirement("R14", "R12")
async def test_what_needs_a_rejected_record_cannot_be_confirmed(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """It is refused with the reason; with a record that exists in its place it can be, and so can its rejection."""
    async with actions.client(company["mia"]) as mia:
        changes = [
            create({"name": "Grace"}, id="c"),
            create({"id": 500, "customer_id": "$ref:c", "amount": "12.50"}, collection="orders", id="o"),
            update({"email": NEW}),
        ]
        action = await proposed(mia, company, *changes)
        refused = await decide(mia, action, no("c"), yes("o"), yes("a"))
        assert refused.status_code == 400
        (problem,) = refused.json()["details"]["problems"]
        assert (problem["operation"], problem["field"]) == ("o", "customer_id")
        assert "rejected" in problem["message"]
        again = await decide(mia, action, no("c"), yes("o", customer_id="$ref:c"), yes("a"))
        assert again.status_code == 400
        instead = await decide(mia, action, no("c"), yes("o", customer_id=2), no("a", "not yet"))
        assert instead.status_code == 200, instead.text
        done = await at_rest(mia, action["id"])
        assert done["state"] == "applied", done
        assert await shop.rows("SELECT customer_id, amount::text FROM orders WHERE id = 500") == [(2, "12.50")]
        assert await shop.value("SELECT count(*)::int FROM customers") == 3
        assert await email_of(shop) == OLD


@pytest.mark.requirement("R14")
async def test_an_edit_beside_a_new_record_keeps_its_reference(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """The order's amount is edited; it still goes to the customer that the same action creates, whose name is edited too."""
    async with actions.client(company["mia"]) as mia:
        changes = [
            create({"name": "Grace"}, id="c"),
            create({"id": 500, "customer_id": "$ref:c", "amount": "12.50"}, collection="orders", id="o"),
        ]
        action = await proposed(mia, company, *changes)
        answer = await decide(mia, action, yes("c", name="Grace Hopper"), yes("o", amount="20"))
        assert answer.status_code == 200, answer.text
        done = await at_rest(mia, action["id"])
        assert (done["state"], done["card"][0]["label"]) == ("applied", "Grace Hopper"), done
        statement = "SELECT c.name, o.amount::text FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = 500"
        assert await shop.rows(statement) == [("Grace Hopper", "20.00")]


@pytest.mark.requirement("R14", "R15")
async def test_an_edited_value_does_not_hide_that_the_record_changed(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """Somebody changed the field after it was shown: the old value of the card still counts, so it conflicts and nothing is written."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company)
        await shop.run("UPDATE customers SET email = 'by@hand.example' WHERE id = 1")
        await decide(mia, action, yes("a", email="third@example.org"))
        done = await at_rest(mia, action["id"])
        assert done["state"] == "conflicted"
        assert await email_of(shop) == "by@hand.example"


@pytest.mark.requirement("R14")
async def test_all_operations_rejected_is_a_rejected_action(actions: Composed, company: Company, pool: Pool) -> None:
    """Its reason is that of its operations, and nothing is left to apply; a second decision learns of the first."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, update({"email": NEW}), update({"country": "NO"}, record=2, id="b"))
        key = {"idempotency-key": str(uuid4())}
        body = {"digest": action["digest"], "decisions": [no("a", "wrong Ada"), no("b")]}
        for _ in range(2):
            done = await mia.post(f"/v1/actions/{action['id']}/decide", json=body, headers=key)
            assert (done.status_code, done.json()["state"], done.json()["reason"]) == (200, "rejected", "a: wrong Ada")
        late = await decide(mia, action, yes("a"), yes("b"))
        assert (late.status_code, late.json()["details"]["action"]["state"]) == (409, "rejected")
        assert await events_of(pool, action["id"]) == ["action.proposed", "action.rejected"]


@pytest.mark.requirement("R14", "I4")
async def test_a_decision_names_what_was_shown_and_is_a_persons(actions: Composed, company: Company, pool: Pool) -> None:
    """Another digest is 409 with the card; each operation is decided once and none is left out; no token, viewer or stranger decides."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, update({"email": NEW}), update({"country": "NO"}, record=2, id="b"))
        changed = await decide(mia, action, yes("a"), no("b"), digest="0" * 64)
        assert (changed.status_code, len(changed.json()["details"]["card"])) == (409, 2)
        overfull = {**no("b"), "values": {"country": "X"}}
        for wrong in ([yes("a")], [yes("a"), yes("a")], [yes("a"), yes("b"), yes("c")], [yes("a"), overfull]):
            assert (await decide(mia, action, *wrong)).status_code == 400
        for who, status in ((agent, 403), (company["viewer"], 403), (company["stranger"], 404)):
            async with actions.client(who) as other:
                assert (await decide(other, action, yes("a"), no("b"))).status_code == status
        assert (await mia.get(f"/v1/actions/{action['id']}")).json()["state"] == "pending"
        assert await events_of(pool, action["id"]) == ["action.proposed"]


@pytest.mark.requirement("R14", "R18")
async def test_the_model_is_told_what_was_decided_on_each_operation(actions: Composed, company: Company, pool: Pool) -> None:
    """One line for each: confirmed, confirmed with another value, rejected with the reason."""
    async with actions.client(company["mia"]) as mia:
        turn = await running_turn(pool, company)
        changes = [
            update({"email": NEW}),
            update({"country": "NO"}, record=2, id="b"),
            update({"country": "DK"}, record=3, id="c"),
        ]
        action = await proposed(mia, company, *changes)
        statement = "UPDATE actions SET turn_id = $2, thread_id = $3 WHERE id = $1"
        await pool.execute(statement, UUID(action["id"]), turn.id, turn.thread_id)
        await decide(mia, action, yes("a"), yes("b", country="SE"), no("c", "unknown"))
        await at_rest(mia, action["id"])
    (note,) = await reads.outcomes_of_thread(pool, turn.thread_id)
    assert note.changes == (
        f"confirmed: update customers Ada Lovelace (id 1): email {OLD} → {NEW}",
        "confirmed with another value for country: update customers Émile Zola (id 2): country FR → SE",
        "rejected (unknown): update customers Zoë (id 3): country — → DK",
    )


@pytest.mark.requirement("R14")
async def test_confirming_may_be_limited_to_a_role(
    database: TestDatabase, nats_server: Server, company: Company, shop: TeamDatabase
) -> None:
    """Where a deployment says admin, a member may propose and reject and not confirm, wholly or in part; an admin and an owner may."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.ACTION_APPLIER, make_applier)]
    async with (
        compose(database, nats_server.url, services, records_url=shop.url, confirm_role="admin") as limited,
        limited.client(company["mia"]) as mia,
        limited.client(company["admin"]) as admin,
        limited.client(company["owner"]) as owner,
    ):
        first, second, third = [await proposed(mia, company, update({"country": f"C{each}"}, record=each)) for each in (1, 2, 3)]
        whole = await mia.post(f"/v1/actions/{first['id']}/confirm", json={"digest": first["digest"]})
        assert (whole.status_code, (await decide(mia, first, yes("a"))).status_code) == (403, 403)
        assert "not confirm" in whole.json()["message"]
        assert (await mia.get(f"/v1/actions/{first['id']}")).json()["state"] == "pending"
        assert (await decide(mia, third, no("a", "wrong"))).json()["state"] == "rejected"
        assert (await decide(admin, first, yes("a"))).status_code == 200
        assert (await at_rest(mia, first["id"]))["state"] == "applied"
        assert (await confirmed(owner, second))["state"] == "applied"


@pytest.mark.requirement("R14")
async def test_of_twenty_confirms_and_a_rejection_one_wins(actions: Composed, company: Company, pool: Pool) -> None:
    """At the same moment over HTTP: one decision stands, the others are told which, and it is audited once and applied at most once."""
    async with actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await proposed(mia, company)
        confirms = [
            client.post(f"/v1/actions/{action['id']}/confirm", json={"digest": action["digest"]}) for client in (mia, max_) * 10
        ]
        answers = await asyncio.gather(*confirms[:10], max_.post(f"/v1/actions/{action['id']}/reject", json={}), *confirms[10:])
        won = [answer for answer in answers if answer.status_code == 200]
        assert len(won) == 1
        lost = [answer for answer in answers if answer.status_code == 409]
        assert len(lost) == 20
        assert {answer.json()["details"]["action"]["id"] for answer in lost} == {action["id"]}
        done = await at_rest(mia, action["id"])
        assert done["state"] == ("rejected" if answers.index(won[0]) == 10 else "applied")
    decided = "SELECT count(*) FROM audit_log WHERE entity_id = $1 AND event IN ('action.confirmed', 'action.rejected')"
    assert await pool.fetchval(decided, action["id"]) == 1
