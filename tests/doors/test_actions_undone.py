"""Undo: what an action changed goes back, and only that, while it is still as the action left it."""

import asyncio
from collections import Counter
from uuid import UUID, uuid4

import pytest

from askbus.db.pool import Pool
from askbus.testing.actions import NEW, OLD, at_rest, confirmed, create, email_of, proposed, undone, update
from askbus.testing.composed import Composed
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server
from askbus.testing.unreachable import away


async def ledger(shop: TeamDatabase) -> list[object]:
    return [row[0] for row in await shop.rows("SELECT state FROM askbus_ledger.outcomes ORDER BY at")]


async def undos(pool: Pool) -> list[str]:
    return [row["state"] for row in await pool.fetch("SELECT state::text FROM undos ORDER BY requested_at")]


@pytest.mark.requirement("R17", "R18")
async def test_an_undo_restores_what_the_action_changed(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Another field of the record that was edited since keeps its value; who undid what is on record."""
    async with actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await confirmed(mia, await proposed(mia, company))
        await shop.run("UPDATE customers SET country = 'PT' WHERE id = 1")
        done = await undone(max_, action["id"])
        assert (done["state"], [undo["state"] for undo in done["undos"]]) == ("undone", ["done"])
        assert done["undos"][0]["requested_by"] == "max"
        assert done["undos"][0]["outcome"]["records"][0]["after"] == {"email": OLD}
        assert await shop.rows("SELECT email, country FROM customers WHERE id = 1") == [(OLD, "PT")]
        rows = await pool.fetch("SELECT event, user_id FROM audit_log WHERE entity_id = $1 ORDER BY id", UUID(action["id"]))
        assert [tuple(row) for row in rows[-2:]] == [
            ("action.undo_requested", company["max"].id),
            ("action.undone", company["max"].id),
        ]
        assert await ledger(shop) == ["applied", "undone"]


@pytest.mark.requirement("R17")
async def test_what_was_edited_since_is_not_overwritten(actions: Composed, company: Company, shop: TeamDatabase) -> None:
    """One of three records was edited by hand: nothing goes back, the edit is listed with both values."""
    async with actions.client(company["mia"]) as mia:
        changes = [update({"country": f"C{number}"}, record=number, id=f"op{number}") for number in (1, 2, 3)]
        action = await confirmed(mia, await proposed(mia, company, *changes))
        await shop.run("UPDATE customers SET country = 'by hand' WHERE id = 2")
        done = await undone(mia, action["id"])
        assert (done["state"], [undo["state"] for undo in done["undos"]]) == ("applied", ["refused"])
        (mismatch,) = done["undos"][0]["outcome"]["mismatches"]
        assert (mismatch["operation"], mismatch["expected"], mismatch["found"]) == ("op2", "C2", "by hand")
        assert await shop.rows("SELECT country FROM customers ORDER BY id") == [("C1",), ("by hand",), ("C3",)]
        await shop.run("UPDATE customers SET country = 'C2' WHERE id = 2")
        again = await undone(mia, action["id"])
        assert (again["state"], [undo["state"] for undo in again["undos"]]) == ("undone", ["refused", "done"])
        assert await shop.rows("SELECT country FROM customers ORDER BY id") == [("UK",), ("FR",), (None,)]


@pytest.mark.requirement("R17")
async def test_a_created_record_is_removed_unless_something_refers_to_it(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """An order that was placed since keeps its customer; once it is gone the customer goes too."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company, create({"name": "Grace Hopper"})))
        customer = action["outcome"]["records"][0]["key"]["id"]
        await shop.run(f"INSERT INTO orders (id, customer_id, amount) VALUES (500, {int(customer)}, 1)")
        refused = await undone(mia, action["id"])
        assert refused["undos"][0]["state"] == "refused"
        assert "refers to" in refused["undos"][0]["outcome"]["mismatches"][0]["message"]
        assert await shop.value("SELECT count(*)::int FROM customers") == 4
        await shop.run("DELETE FROM orders WHERE id = 500")
        assert (await undone(mia, action["id"]))["state"] == "undone"
        assert await shop.value("SELECT count(*)::int FROM customers") == 3


@pytest.mark.requirement("R17")
async def test_a_dry_run_says_what_would_happen_and_changes_nothing(
    actions: Composed, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """Neither the records nor the ledger nor the action know of it; what it says is what an undo then does."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company))
        preview = await mia.post(f"/v1/actions/{action['id']}/undo", json={"dry_run": True})
        assert (preview.status_code, preview.json()["state"]) == (200, "done")
        assert preview.json()["outcome"]["records"][0]["after"] == {"email": OLD}
        await shop.run("UPDATE customers SET email = 'by@hand.example' WHERE id = 1")
        refusal = (await mia.post(f"/v1/actions/{action['id']}/undo", json={"dry_run": True})).json()
        assert (refusal["state"], refusal["outcome"]["mismatches"][0]["found"]) == ("refused", "by@hand.example")
        assert (await mia.get(f"/v1/actions/{action['id']}")).json()["state"] == "applied"
        assert (await undos(pool), await ledger(shop), await email_of(shop)) == ([], ["applied"], "by@hand.example")


@pytest.mark.requirement("R17")
async def test_only_an_applied_action_can_be_undone_and_only_once(actions: Composed, company: Company) -> None:
    """Before it is applied and after it is undone there is nothing to undo; the refusal shows where it stands."""
    async with actions.client(company["mia"]) as mia:
        pending = await proposed(mia, company)
        for body in ({}, {"dry_run": True}):
            early = await mia.post(f"/v1/actions/{pending['id']}/undo", json=body)
            assert (early.status_code, early.json()["details"]["action"]["state"]) == (409, "pending")
        await confirmed(mia, pending)
        assert (await undone(mia, pending["id"]))["state"] == "undone"
        late = await mia.post(f"/v1/actions/{pending['id']}/undo", json={})
        assert (late.status_code, late.json()["details"]["action"]["state"]) == (409, "undone")


@pytest.mark.requirement("R16", "R17")
async def test_of_twenty_undos_one_is_done(actions: Composed, company: Company, pool: Pool, shop: TeamDatabase) -> None:
    """The others learn that it is being undone, or that it is; the record goes back once."""
    async with actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await confirmed(mia, await proposed(mia, company))
        asked = [(mia if number % 2 else max_).post(f"/v1/actions/{action['id']}/undo", json={}) for number in range(20)]
        answers = await asyncio.gather(*asked)
        assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 19}
        assert (await at_rest(mia, action["id"]))["state"] == "undone"
        assert (await undos(pool), await ledger(shop), await email_of(shop)) == (["done"], ["applied", "undone"], OLD)


@pytest.mark.requirement("R17")
async def test_the_same_undo_sent_again_is_the_same_request(actions: Composed, company: Company, pool: Pool) -> None:
    """A client that did not hear the answer sends it again with its key, at once or when it is done."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company))
        key = {"idempotency-key": str(uuid4())}
        for _ in range(2):
            assert (await mia.post(f"/v1/actions/{action['id']}/undo", json={}, headers=key)).status_code == 200
        await at_rest(mia, action["id"])
        again = await mia.post(f"/v1/actions/{action['id']}/undo", json={}, headers=key)
        assert (again.status_code, again.json()["state"]) == (200, "undone")
        assert await undos(pool) == ["done"]


@pytest.mark.requirement("R17")
async def test_an_undo_waits_while_the_records_are_away(
    actions: Composed, company: Company, shop: TeamDatabase, postgres_server: Server
) -> None:
    """The action stays applied, with its request; when they are back it is undone."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company))
        async with away(postgres_server, shop):
            asked = await mia.post(f"/v1/actions/{action['id']}/undo", json={})
            assert (asked.json()["state"], asked.json()["undos"][0]["state"]) == ("applied", "requested")
            preview = await mia.post(f"/v1/actions/{action['id']}/undo", json={"dry_run": True})
            assert preview.status_code == 503
        assert (await at_rest(mia, action["id"]))["state"] == "undone"
        assert await email_of(shop) == OLD


@pytest.mark.requirement("R17")
async def test_records_that_were_restored_from_before_the_action_refuse_its_undo(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """Their ledger knows of nothing to undo: the request ends as refused and says so, it does not rest for ever."""
    async with actions.client(company["mia"]) as mia:
        action = await confirmed(mia, await proposed(mia, company))
        await shop.run("TRUNCATE askbus_ledger.outcomes")
        done = await undone(mia, action["id"])
        assert (done["state"], done["undos"][0]["state"]) == ("applied", "refused")
        assert "not there" in done["undos"][0]["outcome"]["problem"]["message"]
        assert await email_of(shop) == NEW
