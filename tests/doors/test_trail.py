"""The audit trail over HTTP: who did what to which record and when, and how it was before and after."""

import json
from typing import Any

import pytest

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.testing.actions import NEW, OLD, confirmed, create, proposed, undone, update
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token


async def trail_of(client: Any, **wanted: object) -> Any:
    response = await client.get("/v1/trail", params={name: str(value) for name, value in wanted.items()})
    assert response.status_code == 200, response.text
    return response.json()


def of_customer(number: int) -> dict[str, object]:
    return {"collection": "customers", "key": json.dumps({"id": number})}


@pytest.mark.requirement("R18")
async def test_the_trail_of_an_action_says_who_did_what_and_how_the_record_was_before_and_after(
    actions: Composed, company: Company, pool: Pool
) -> None:
    """Proposed with a token, confirmed by one person, undone by another: newest first, each outcome with its own before and after."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["mia"]) as mia, actions.client(company["max"]) as max_:
        action = await confirmed(max_, await proposed(robot, company))
        await undone(mia, action["id"])
        entries = (await trail_of(mia, action_id=action["id"]))["entries"]
        assert [(one["event"], one["by_name"], one["via"]) for one in reversed(entries)] == [
            ("action.proposed", "mia", "token"),
            ("action.confirmed", "max", "session"),
            ("action.applied", "max", "service"),
            ("action.undo_requested", "mia", "session"),
            ("action.undone", "mia", "service"),
        ]
        assert entries[-1]["with_token"] is not None
        applied, taken_back = entries[2]["outcome"]["records"][0], entries[0]["outcome"]["records"][0]
        assert (applied["before"], applied["after"]) == ({"email": OLD}, {"email": NEW})
        assert (taken_back["before"], taken_back["after"]) == ({"email": NEW}, {"email": OLD})
        assert entries[0]["undo_id"] == entries[1]["undo_id"] is not None
        assert [one["at"] for one in entries] == sorted((one["at"] for one in entries), reverse=True)


@pytest.mark.requirement("R18")
async def test_the_trail_of_a_record_holds_every_action_about_it_and_of_each_that_record_alone(
    actions: Composed, company: Company
) -> None:
    """Also the action that created it, and one that was rejected with its reason; other records and their actions are not in it."""
    async with actions.client(company["mia"]) as mia:
        both = await confirmed(
            mia, await proposed(mia, company, update({"country": "SE"}), update({"country": "NO"}, record=2, id="b"))
        )
        other = await confirmed(mia, await proposed(mia, company, update({"country": "DK"}, record=3)))
        turned_down = await proposed(mia, company)
        await mia.post(f"/v1/actions/{turned_down['id']}/reject", json={"reason": "wrong Ada"})
        made = await confirmed(mia, await proposed(mia, company, create({"name": "Grace Hopper"})))
        entries = (await trail_of(mia, **of_customer(1)))["entries"]
        assert {one["action_id"] for one in entries} == {both["id"], turned_down["id"]}
        assert other["id"] not in str(entries)
        assert [one["reason"] for one in entries if one["event"] == "action.rejected"] == ["wrong Ada"]
        (applied,) = [one for one in entries if one["event"] == "action.applied"]
        assert [image["after"] for image in applied["outcome"]["records"]] == [{"country": "SE"}]
        grace = made["outcome"]["records"][0]["key"]["id"]
        assert {one["action_id"] for one in (await trail_of(mia, **of_customer(int(grace))))["entries"]} == {made["id"]}


@pytest.mark.requirement("R18")
async def test_the_trail_is_read_page_by_page(actions: Composed, company: Company) -> None:
    """Pages of two, put together, are the whole, without a gap or a repetition."""
    async with actions.client(company["mia"]) as mia:
        for _ in range(2):
            await confirmed(mia, await proposed(mia, company, update({"country": f"C{_}"})))
        whole = (await trail_of(mia))["entries"]
        assert len(whole) == 6
        found: list[object] = []
        page = await trail_of(mia, limit=2)
        while page["next"]:
            found += page["entries"]
            page = await trail_of(mia, limit=2, before=page["next"])
        assert found + page["entries"] == whole


@pytest.mark.requirement("R18", "I1")
async def test_the_trail_shows_nobody_what_they_may_not_see(actions: Composed, company: Company, pool: Pool) -> None:
    """A stranger, and tokens for another project or without the right, find nothing; a record is named wholly or not at all."""
    south = await give_token(pool, company["owner"], projects=(company.south,))
    reader = await give_token(pool, company["mia"], scopes=(Scope.QUESTIONS_ASK,))
    async with actions.client(company["mia"]) as mia, actions.client(company["stranger"]) as stranger:
        action = await confirmed(mia, await proposed(mia, company))
        for wanted in ({}, {"action_id": action["id"]}, of_customer(1)):
            assert (await trail_of(stranger, **wanted))["entries"] == []
        async with actions.client(south) as elsewhere, actions.client(reader) as unable:
            assert (await trail_of(elsewhere))["entries"] == []
            assert (await unable.get("/v1/trail")).status_code == 403
        for wrong in ({"collection": "customers"}, {"key": '{"id": 1}'}, {"collection": "customers", "key": "1"}, {"limit": "0"}):
            assert (await mia.get("/v1/trail", params=wrong)).status_code == 400
