"""The inbox over HTTP: lists by what matters, what was seen and put off, many answers at once, and texts that stay texts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access.model import Principal
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.events import following
from askbus.testing.people import Company, give_token
from askbus.testing.questions import open_question
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("Q11")

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;\u2028</textarea>{{7*7}}"


async def listed(client: httpx2.AsyncClient, **wanted: object) -> list[str]:
    """Every page of two, joined."""
    found: list[str] = []
    while True:
        response = await client.get("/v1/questions", params={"limit": 2, **wanted})  # type: ignore[dict-item]
        assert response.status_code == 200, response.text
        found += [question["id"] for question in response.json()["questions"]]
        if response.json()["next"] is None:
            return found
        wanted["before"] = response.json()["next"]


@pytest.mark.requirement("Q3", "Q1")
async def test_open_questions_come_by_priority_and_by_what_is_asked_for(
    questions: Composed, company: Company, pool: Pool
) -> None:
    """The most urgent first, then the newest, through every page; by project, priority, asker and assignee."""
    owner, max_ = company["owner"], company["max"]
    agent = await give_token(pool, owner)
    start = datetime.now(UTC) - timedelta(minutes=10)
    asked: dict[str, str] = {}
    scene: tuple[tuple[str, Principal, dict[str, Any]], ...] = (
        ("old", owner.principal, {}),
        ("low", owner.principal, {"priority": "low"}),
        ("urgent", agent.principal, {"priority": "urgent"}),
        ("new", owner.principal, {}),
        ("high", agent.principal, {"priority": "high", "assignee_id": max_.id}),
        ("urgent too", owner.principal, {"priority": "urgent", "assignee_id": owner.id}),
        ("south", owner.principal, {"project_id": company.south}),
    )
    for n, (name, by, more) in enumerate(scene):
        project = more.pop("project_id", company.north)
        question = await open_question(pool, by, project, now=start + timedelta(seconds=n), **more)
        asked[str(question.id)] = name
    async with questions.client(owner) as client, questions.client(max_) as maxs:

        async def names(who: httpx2.AsyncClient = client, **wanted: object) -> list[str]:
            return [asked[one] for one in await listed(who, state="open", **wanted)]

        assert await names() == ["urgent too", "urgent", "high", "south", "new", "old", "low"]
        assert await names(project_id=company.south) == ["south"]
        assert await names(priority="urgent") == ["urgent too", "urgent"]
        assert await names(assignee_id=max_.id) == ["high"]
        assert await names(asker_id=agent.id) == ["urgent", "high"]
        assert await names(mine="true") == ["urgent too", "south", "new", "old", "low"]
        assert await names(for_me="true") == ["urgent too", "urgent", "south", "new", "old", "low"]
        assert await names(maxs, for_me="true") == ["urgent", "high", "new", "old", "low"]
        assert await names(maxs, for_me="true", asker_id=agent.id, priority="high") == ["high"]
        everything = [asked[one] for one in await listed(client)]
        assert everything == ["south", "urgent too", "high", "new", "urgent", "low", "old"]
        assert [asked[one] for one in await listed(client, asker_id=agent.id)] == ["high", "urgent"]
        assert await listed(client, before=uuid4()) == await names(before=uuid4()) == []
        for wrong in ({"unseen": "true"}, {"mine": "true", "asker_id": str(agent.id)}, {"priority": "vital"}):
            assert (await client.get("/v1/questions", params=wrong)).status_code == 400, wrong


@pytest.mark.requirement("Q12", "Q10", "S3")
async def test_what_is_seen_and_put_off_is_told_to_ones_own_tabs(questions: Composed, company: Company, pool: Pool) -> None:
    """Marked in one tab, told in another as an id and a state; the counts follow, and it comes back at its time by itself."""
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:
        ids = [str((await open_question(pool, company["mia"].principal, company.north)).id) for _ in range(2)]
        async with following(questions.http, company["max"]) as tab, following(questions.http, company["mia"]) as other:
            for stream in (tab, other):
                await stream.until("state")
            seen = await max_.post("/v1/questions/seen", json={"question_ids": ids})
            assert set(seen.json()["question_ids"]) == set(ids)
            changes = await tab.changes()
            assert {(one["id"], one["status"]) for one in changes} <= {(one, "open") for one in ids}
            until_then = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
            put_off = (await max_.post(f"/v1/questions/{ids[0]}/snooze", json={"until": until_then})).json()
            assert (put_off["seen"], put_off["snoozed_until"] is None) == (True, False)
            await mia.post(f"/v1/questions/{ids[1]}/cancel", json={})
            assert [one["id"] for one in await other.changes()] == [ids[1]]
        assert (await mia.get("/v1/questions/counts")).json() == {"open": 1, "for_me": 1, "unseen": 1}

        async def back() -> bool:
            facts = await pool.fetch("SELECT fact FROM change_log WHERE entity_id = $1 ORDER BY seq", ids[0])
            return [row["fact"].partition(".")[2] for row in facts] == ["asked", "seen", "snoozed", "unsnoozed"]

        await until(back)
        assert (await max_.get("/v1/questions/counts")).json() == {"open": 1, "for_me": 1, "unseen": 0}
        assert (await max_.post(f"/v1/questions/{ids[1]}/snooze", json={"until": None})).status_code == 409
        for wrong in (until_then, "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"):
            assert (await max_.post(f"/v1/questions/{ids[0]}/snooze", json={"until": wrong})).status_code == 400


@pytest.mark.requirement("Q4")
async def test_many_answers_at_once_are_each_taken_or_refused(questions: Composed, company: Company, pool: Pool) -> None:
    """One result each, in order: taken, wrong, lost to somebody else, not theirs, not there; sent again the same."""
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:

        async def asked(**said: object) -> str:
            body = {"project_id": str(company.north), "text": "Ship it?", **said}
            return str((await mia.post("/v1/questions", json=body)).json()["id"])

        good, wrong, lost = await asked(), await asked(options=["a"], free_text=False), await asked()
        foreign = await asked(assignee_id=str(company["owner"].id))
        await mia.post(f"/v1/questions/{lost}/answer", json={"answer": "first"})
        wanted = [good, wrong, lost, foreign, str(uuid4())]
        key = {"idempotency-key": str(uuid4())}
        body = {"answers": [{"question_id": one, "answer": "yes"} for one in wanted]}
        first, again = [(await max_.post("/v1/questions/answers", json=body, headers=key)).json() for _ in range(2)]
        assert first == again
        results: list[Any] = first["results"]
        assert [one["question_id"] for one in results] == wanted
        assert [one["question"] and one["question"]["answer"] for one in results] == ["yes", None, None, None, None]
        codes = [one["error"] and one["error"]["code"] for one in results]
        assert codes == [None, "invalid_input", "conflict", "permission_denied", "not_found"]
        assert results[2]["error"]["details"]["question"]["answer"] == "first"
        twice = {"answers": [{"question_id": good, "answer": "yes"}] * 2}
        assert (await max_.post("/v1/questions/answers", json=twice)).status_code == 400
    assert await pool.fetchval("SELECT count(*) FROM audit_log WHERE event = 'question.answered'") == 2


@pytest.mark.requirement("I12", "Q4")
async def test_hostile_texts_come_back_as_the_texts_that_they_are(questions: Composed, company: Company) -> None:
    """Markup in every field that an agent or a person fills: JSON that no browser takes for a page, unchanged."""
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:
        body = {"project_id": str(company.north), "text": HOSTILE, "title": HOSTILE, "reference": HOSTILE, "options": [HOSTILE]}
        question_id = (await mia.post("/v1/questions", json=body)).json()["id"]
        await max_.post(f"/v1/questions/{question_id}/ask-back", json={"text": HOSTILE})
        await max_.post(f"/v1/questions/{question_id}/answer", json={"answer": HOSTILE})
        for path in (f"/v1/questions/{question_id}", "/v1/questions"):
            response = await mia.get(path)
            assert response.headers["content-type"] == "application/json"
            assert response.headers["x-content-type-options"] == "nosniff"
            shown = response.json() if path.endswith(question_id) else response.json()["questions"][0]
            assert (shown["text"], shown["title"], shown["reference"], shown["options"], shown["answer"]) == (
                HOSTILE,
                HOSTILE,
                HOSTILE,
                [HOSTILE],
                HOSTILE,
            )
        refused = await mia.post("/v1/questions", json={**body, "link": "javascript:alert(1)"})
        assert refused.status_code == 400
