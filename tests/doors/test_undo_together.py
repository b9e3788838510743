"""Undo beyond one whole action: for the rest, of all that a turn changed, and taken back itself."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from askbus.db.pool import Pool
from askbus.testing.actions import NEW, OLD, at_rest, confirmed, create, email_of, proposed, undone, update
from askbus.testing.composed import Composed
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase
from askbus.testing.turns import running_turn


async def applied_in_turn(client: Any, company: Company, pool: Pool, *operations: dict[str, Any]) -> tuple[UUID, list[str]]:
    """One action for each operation, applied one after the other, as if one turn had proposed them."""
    turn = uuid4()
    ids = []
    for operation in operations:
        action = await confirmed(client, await proposed(client, company, operation))
        assert action["state"] == "applied", action
        await pool.execute("UPDATE actions SET turn_id = $2, thread_id = $2 WHERE id = $1", UUID(action["id"]), turn)
        ids.append(action["id"])
    return turn, ids


async def turn_undone(client: Any, turn: UUID, **said: object) -> Any:
    """Asks for it, and waits for what becomes of each."""
    asked = await client.post(f"/v1/turns/{turn}/undo", json=said)
    assert asked.status_code == 200, asked.text
    for one in asked.json()["undos"]:
        await at_rest(client, one["action_id"])
    return (await client.get(f"/v1/undos/{asked.json()['id']}")).json()


@pytest.mark.requirement("R17")
async def test_the_rest_is_undone_on_request_with_a_list_of_what_was_left_out(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """Of one record a field was edited since, and a created one is in use: both stay as they are and are named, all else goes back."""
    async with actions.client(company["mia"]) as mia:
        changes = [
            update({"country": "SE", "email": NEW}),
            update({"country": "NO"}, record=2, id="b"),
            create({"name": "Grace"}, id="c"),
        ]
        action = await confirmed(mia, await proposed(mia, company, *changes))
        grace = int(action["outcome"]["records"][2]["key"]["id"])
        await shop.run("UPDATE customers SET email = 'by@hand.example' WHERE id = 1")
        await shop.run(f"INSERT INTO orders (id, customer_id, amount) VALUES (500, {grace:d}, 1)")
        assert (await undone(mia, action["id"]))["undos"][0]["state"] == "refused"
        path = f"/v1/actions/{action['id']}/undo"
        preview = (await mia.post(path, json={"dry_run": True, "rest": True})).json()
        await mia.post(path, json={"rest": True})
        done = await at_rest(mia, action["id"])
        assert (done["state"], done["undos"][1]["state"], done["undos"][1]["rest"]) == ("undone", "done", True)
        for outcome in (preview["outcome"], done["undos"][1]["outcome"]):
            assert [(one["operation"], one["field"]) for one in outcome["mismatches"]] == [("a", "email"), ("c", "")]
            assert [(one["operation"], sorted(one["after"])) for one in outcome["records"]] == [
                ("b", ["country"]),
                ("a", ["country"]),
            ]
        rows = await shop.rows("SELECT country, email FROM customers WHERE id IN (1, 2) ORDER BY id")
        assert rows[0] == ("UK", "by@hand.example")
        assert rows[1][0] == "FR"
        assert await shop.value("SELECT count(*)::int FROM customers") == 4


@pytest.mark.requirement("R17")
async def test_an_undo_for_the_rest_is_refused_where_there_is_no_rest(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """All that it changed was edited since: nothing is written, and the action stays applied."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company))
        await shop.run("UPDATE customers SET email = 'by@hand.example' WHERE id = 1")
        await mia.post(f"/v1/actions/{action['id']}/undo", json={"rest": True})
        done = await at_rest(mia, action["id"])
        assert (done["state"], done["undos"][0]["state"]) == ("applied", "refused")
        assert await email_of(shop) == "by@hand.example"


@pytest.mark.requirement("R17")
async def test_all_actions_of_a_turn_are_undone_the_last_one_first(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Two changed the same field one after the other: only in reverse order does it come back to what it was. A dry run says so first."""
    async with actions.client(company["mia"]) as mia:
        turn, ids = await applied_in_turn(
            mia, company, pool, update({"country": "SE"}), update({"country": "NO"}), update({"email": NEW})
        )
        preview = (await mia.post(f"/v1/turns/{turn}/undo", json={"dry_run": True})).json()
        assert (preview["state"], [one["action_id"] for one in preview["undos"]]) == ("done", list(reversed(ids)))
        assert await shop.value("SELECT country FROM customers WHERE id = 1") == "NO"
        done = await turn_undone(mia, turn)
        assert (done["state"], [(one["action_id"], one["state"]) for one in done["undos"]]) == (
            "done",
            [(one, "done") for one in reversed(ids)],
        )
        assert await shop.rows("SELECT country, email FROM customers WHERE id = 1") == [("UK", OLD)]
        late = await mia.post(f"/v1/turns/{turn}/undo", json={})
        assert (late.status_code, late.json()["code"]) == (409, "conflict")


@pytest.mark.requirement("R17")
async def test_one_that_is_refused_leaves_a_clear_account(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """The newest is undone, the next is refused with what is in its way, the oldest is not tried; the dry run said the same."""
    async with actions.client(company["mia"]) as mia:
        turn, ids = await applied_in_turn(
            mia, company, pool, update({"country": "SE"}), update({"country": "NO"}, record=2), update({"email": NEW})
        )
        await shop.run("UPDATE customers SET country = 'by hand' WHERE id = 2")
        preview = (await mia.post(f"/v1/turns/{turn}/undo", json={"dry_run": True})).json()
        assert (preview["state"], [one["state"] for one in preview["undos"]]) == ("refused", ["done", "refused"])
        assert preview["not_tried"] == ids[:1]
        done = await turn_undone(mia, turn)
        assert (done["state"], [one["state"] for one in done["undos"]]) == ("refused", ["done", "refused", "refused"])
        assert done["undos"][1]["outcome"]["mismatches"][0]["found"] == "by hand"
        assert "Not tried" in done["undos"][2]["outcome"]["problem"]["message"]
        assert [(await mia.get(f"/v1/actions/{one}")).json()["state"] for one in ids] == ["applied", "applied", "undone"]
        assert await shop.rows("SELECT country FROM customers WHERE id < 3 ORDER BY id") == [("SE",), ("by hand",)]
        rest = await turn_undone(mia, turn, rest=True)
        assert [one["state"] for one in rest["undos"]] == ["refused", "done"]
        assert await shop.value("SELECT country FROM customers WHERE id = 1") == "UK"


@pytest.mark.requirement("R17", "I1")
async def test_a_turn_is_undone_only_by_who_may_and_the_same_request_is_one(
    actions: Composed, company: Company, pool: Pool
) -> None:
    """A viewer may not, to a stranger there is no such turn; sent again with its key it is the same undo, and nobody else's."""
    async with actions.client(company["mia"]) as mia, actions.client(company["viewer"]) as viewer:
        turn, ids = await applied_in_turn(mia, company, pool, update({"country": "SE"}), update({"email": NEW}))
        assert (await viewer.post(f"/v1/turns/{turn}/undo", json={})).status_code == 403
        async with actions.client(company["stranger"]) as stranger:
            assert (await stranger.post(f"/v1/turns/{turn}/undo", json={})).status_code == 404
        key = {"idempotency-key": str(uuid4())}
        first = await mia.post(f"/v1/turns/{turn}/undo", json={}, headers=key)
        again = await mia.post(f"/v1/turns/{turn}/undo", json={}, headers=key)
        assert (first.status_code, again.status_code, first.json()["id"]) == (200, 200, again.json()["id"])
        async with actions.client(company["max"]) as max_:
            assert (await max_.post(f"/v1/turns/{turn}/undo", json={}, headers=key)).status_code == 400
        for one in ids:
            assert (await at_rest(mia, one))["state"] == "undone"
        assert await pool.fetchval("SELECT count(*) FROM undos") == 2


@pytest.mark.requirement("R17")
async def test_what_was_undone_is_proposed_again_as_a_new_action(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """It is pending and changes nothing by itself; confirmed, it does what the first one did, references to new records too."""
    async with actions.client(company["mia"]) as mia:
        changes = [
            create({"name": "Grace"}, id="c"),
            create({"id": 500, "customer_id": "$ref:c", "amount": "12.50"}, collection="orders", id="o"),
            update({"email": NEW}),
        ]
        first = await confirmed(mia, await proposed(mia, company, *changes))
        early = await mia.post(f"/v1/actions/{first['id']}/propose-again", json={})
        assert early.status_code == 409
        turn = await running_turn(pool, company)
        statement = "UPDATE actions SET turn_id = $2, thread_id = $3 WHERE id = $1"
        await pool.execute(statement, UUID(first["id"]), turn.id, turn.thread_id)
        await undone(mia, first["id"])
        key = {"idempotency-key": str(uuid4())}
        again = await mia.post(f"/v1/actions/{first['id']}/propose-again", json={}, headers=key)
        assert again.status_code == 201, again.text
        assert (again.json()["state"], again.json()["turn_id"]) == ("pending", str(turn.id))
        assert await email_of(shop) == OLD
        repeated = await mia.post(f"/v1/actions/{first['id']}/propose-again", json={}, headers=key)
        assert repeated.json()["id"] == again.json()["id"] != first["id"]
        done = await confirmed(mia, again.json())
        assert done["state"] == "applied", done
        assert await email_of(shop) == NEW
        assert await shop.rows(
            "SELECT c.name, o.amount::text FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.id = 500"
        ) == [("Grace", "12.50")]


@pytest.mark.requirement("R17")
async def test_only_what_was_taken_back_is_proposed_again(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """An undo left one of two fields as it was edited: the new action holds the other one alone."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company, update({"country": "SE", "email": NEW})))
        await shop.run("UPDATE customers SET email = 'by@hand.example' WHERE id = 1")
        await mia.post(f"/v1/actions/{action['id']}/undo", json={"rest": True})
        await at_rest(mia, action["id"])
        again = await mia.post(f"/v1/actions/{action['id']}/propose-again", json={})
        (change,) = again.json()["card"][0]["changes"]
        assert (change["field"], change["before"], change["after"]) == ("country", "UK", "SE")
