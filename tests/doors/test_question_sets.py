"""Several questions asked as one, over HTTP and on the bus: all or none, waited for together, answered one by one."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from askbus.bus.connection import connect
from askbus.bus.subjects import agent_inbox, agent_request
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("Q13")


def three(company: Company, **last: object) -> list[dict[str, object]]:
    """Three questions, of which the last has more to it."""
    project = str(company.north)
    return [{"project_id": project, "text": f"Question {n}?", **(last if n == 2 else {})} for n in range(3)]


async def answer(client: httpx2.AsyncClient, question_id: str, said: object = "yes") -> None:
    answered = await client.post(f"/v1/questions/{question_id}/answer", json={"answer": said})
    assert answered.status_code == 200, answered.text


@pytest.mark.requirement("Q2", "Q5", "Q6")
async def test_a_set_is_waited_for_until_all_of_it_is_settled(questions: Composed, company: Company, pool: Pool) -> None:
    """Asked at once in the order said; each answered, declined or cancelled by itself; the wait ends with the last of them, or with its
    time and the state of each. Sent again, the set is the same."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(agent) as robot, questions.client(company["max"]) as max_:
        key = {"idempotency-key": str(new_id())}
        asked = await robot.post("/v1/questions/batch", json={"questions": three(company)}, headers=key)
        assert asked.status_code == 201, asked.text
        assert asked.json()["status"] == "pending"
        assert [one["text"] for one in asked.json()["questions"]] == ["Question 0?", "Question 1?", "Question 2?"]
        ids = [one["id"] for one in asked.json()["questions"]]
        await answer(max_, ids[1], "of course")
        waited = await robot.get("/v1/questions/batch", params={"ids": ",".join(ids), "wait": 0.2})
        assert (waited.json()["status"], [one["status"] for one in waited.json()["questions"]]) == (
            "pending",
            ["pending", "answered", "pending"],
        )
        body = {"questions": three(company), "wait_seconds": 30}
        waiting = asyncio.create_task(robot.post("/v1/questions/batch", json=body, headers=key))
        await max_.post(f"/v1/questions/{ids[0]}/decline", json={})
        assert not waiting.done()
        await robot.post(f"/v1/questions/{ids[2]}/cancel", json={})
        settled = (await waiting).json()
        assert settled["status"] == "settled"
        assert [(one["id"], one["status"]) for one in settled["questions"]] == [
            (ids[0], "declined"),
            (ids[1], "answered"),
            (ids[2], "cancelled"),
        ]
    assert await pool.fetchval("SELECT count(*) FROM questions") == 3


async def test_a_set_is_asked_whole_or_not_at_all(questions: Composed, company: Company, pool: Pool) -> None:
    """A project that is not theirs, an assignee who may not, one that supersedes what is settled: nothing is asked; the place is named."""
    async with questions.client(company["mia"]) as mia:
        old = (await mia.post("/v1/questions", json=three(company)[0])).json()["id"]
        await mia.post(f"/v1/questions/{old}/cancel", json={})
        for last, status in (
            ({"project_id": str(company.south)}, 404),
            ({"assignee_id": str(company["viewer"].id)}, 400),
            ({"supersedes": old}, 409),
        ):
            refused = await mia.post("/v1/questions/batch", json={"questions": three(company, **last)})
            assert (refused.status_code, refused.json()["details"]["place"]) == (status, 2), refused.text
            assert refused.json()["message"].startswith("Question 3 of the set: ")
        one = three(company)[0]
        for many, words in (
            ([], "at least 1"),
            ([one] * 21, "at most 20"),
            ([{**one, "dedupe_key": "k"}] * 2, "same dedupe_key"),
        ):
            refused = await mia.post("/v1/questions/batch", json={"questions": many})
            assert (refused.status_code, words in refused.json()["message"]) == (400, True), refused.text
    async with questions.client(company["viewer"]) as viewer:
        assert (await viewer.post("/v1/questions/batch", json={"questions": three(company)})).status_code == 403
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1
    assert await pool.fetchval("SELECT coalesce(sum(open), 0) FROM question_tallies") == 0


@pytest.mark.requirement("Q1", "Q6")
async def test_an_agent_asks_a_set_on_the_bus(questions: Composed, nats_server: Server, company: Company, pool: Pool) -> None:
    """The same rules at the agent's own door: the order, the dedupe key that finds an older one, all or none, sent twice counts once."""
    agent = await give_token(pool, company["mia"])
    nc = await connect(nats_server.url, "agent", agent_inbox(agent.id))

    async def send(set_id: UUID, asks: list[dict[str, object]]) -> Any:
        body = json.dumps({"set_id": str(set_id), "said": {"questions": asks}}).encode()
        return json.loads((await nc.request(agent_request(agent.id, "question", "ask_many"), body, timeout=10)).data)

    try:
        first = (await send(new_id(), three(company, dedupe_key="nightly")))["ok"]["questions"]
        assert [one["asked"] for one in first] == [True] * 3
        set_id = new_id()
        again = [await send(set_id, three(company, dedupe_key="nightly")) for _ in range(2)]
        assert again[0] == again[1]
        second = again[0]["ok"]["questions"]
        assert ([one["asked"] for one in second], second[2]["id"]) == ([True, True, False], first[2]["id"])
        refused = await send(uuid4(), three(company, project_id=str(company.south)))
        assert (refused["error"]["code"], refused["error"]["details"]["place"]) == ("not_found", 2)
    finally:
        await nc.close()
    assert await pool.fetchval("SELECT count(*) FROM questions") == 5
    assert await pool.fetchval("SELECT count(*) FROM change_log WHERE fact = 'question.asked'") == 5


async def test_sets_with_the_same_keys_at_once_are_the_same_questions(questions: Composed, company: Company, pool: Pool) -> None:
    """Twelve sets in opposite orders: no deadlock is seen, and each key stands for one question."""
    keys = [f"key {n}" for n in range(6)]
    async with questions.client(company["mia"]) as mia:

        async def ask(order: list[str]) -> dict[str, str]:
            asks = [{"project_id": str(company.north), "text": "Which?", "dedupe_key": key} for key in order]
            asked = await mia.post("/v1/questions/batch", json={"questions": asks})
            assert asked.status_code in {200, 201}, asked.text
            return {one["dedupe_key"]: one["id"] for one in asked.json()["questions"]}

        found = await asyncio.gather(*(ask(keys if n % 2 else keys[::-1]) for n in range(12)))
    assert all(one == found[0] for one in found)
    assert await pool.fetchval("SELECT count(*) FROM questions") == 6


async def test_of_a_set_that_expires_each_tells_its_end(questions: Composed, company: Company) -> None:
    """Nobody answers: the wait ends when the last of them has expired."""
    async with questions.client(company["mia"]) as mia:
        asks = [{**one, "expires_in": 1} for one in three(company)]
        settled = (await mia.post("/v1/questions/batch", json={"questions": asks, "wait_seconds": 20})).json()
        assert (settled["status"], {one["status"] for one in settled["questions"]}) == ("settled", {"expired"})

        async def counted() -> bool:
            return bool((await mia.get("/v1/questions/counts")).json()["open"] == 0)

        await until(counted)
