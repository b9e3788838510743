"""Questions over HTTP: asked by agents and people, answered by people."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.waiting import until


async def asked(client: httpx2.AsyncClient, company: Company, **said: object) -> Any:
    """Asks and returns the question as the response shows it."""
    response = await client.post("/v1/questions", json={"project_id": str(company.north), "text": "Ship it?", **said})
    assert response.status_code == 201, response.text
    return response.json()


def refused(response: httpx2.Response, status: int, code: str) -> Any:
    """The refusal's details; the shape is one for all."""
    body = response.json()
    assert (response.status_code, body["code"]) == (status, code), response.text
    assert body.keys() == {"code", "message", "details"}
    return body["details"]


@pytest.mark.requirement("Q1", "Q4", "Q6", "Q14")
async def test_an_agent_asks_and_a_person_answers(questions: Composed, company: Company, pool: Pool) -> None:
    """The whole way: asked with a token, seen by a member, answered, read by the asker with who answered."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(agent) as robot, questions.client(company["max"]) as max_:
        question = await asked(robot, company, options=["yes", "no"], title="Release", reference="build 7")
        assert (question["state"], question["status"], question["asked_with"]) == ("open", "pending", "mia's agent")
        inbox = (await max_.get("/v1/questions", params={"state": "open", "for_me": "true"})).json()
        assert [(item["id"], item["asked_by"]) for item in inbox["questions"]] == [(question["id"], "mia")]
        answered = await max_.post(f"/v1/questions/{question['id']}/answer", json={"answer": "yes"})
        assert answered.status_code == 200, answered.text
        seen = (await robot.get(f"/v1/questions/{question['id']}")).json()
        assert (seen["state"], seen["status"], seen["answer"]) == ("answered", "answered", "yes")
        assert (seen["settled_by_name"], seen["reason"]) == ("max", None)
        assert (await max_.get("/v1/questions/counts")).json() == {"open": 0, "for_me": 0, "unseen": 0}


@pytest.mark.requirement("Q1", "Q4")
async def test_a_form_is_answered_field_by_field(questions: Composed, company: Company) -> None:
    """The schema travels as it was sent, and the answer is held to it."""
    schema = {
        "type": "object",
        "properties": {"version": {"type": "string", "minLength": 3}, "count": {"type": "integer", "minimum": 1}},
        "required": ["version"],
    }
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:
        question = await asked(mia, company, answer_schema=schema)
        assert question["answer_schema"] == schema
        url = f"/v1/questions/{question['id']}/answer"
        for wrong in ({"version": "1"}, {"version": "1.0", "count": 0}, "1.0", {"version": "1.0", "more": 1}):
            refused(await max_.post(url, json={"answer": wrong}), 400, "invalid_input")
        answered = await max_.post(url, json={"answer": {"version": "1.0", "count": 2}})
        assert answered.json()["answer"] == {"version": "1.0", "count": 2}


@pytest.mark.requirement("Q4")
async def test_the_loser_of_two_answers_gets_409_and_what_won(questions: Composed, company: Company) -> None:
    """The state that won, with its answer, so that nobody has to ask again."""
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:
        question = await asked(mia, company)
        url = f"/v1/questions/{question['id']}"
        assert (await max_.post(f"{url}/answer", json={"answer": "first"})).status_code == 200
        for path, body in (("answer", {"answer": "second"}), ("decline", {}), ("ask-back", {"text": "why?"}), ("cancel", {})):
            shown = refused(await mia.post(f"{url}/{path}", json=body), 409, "conflict")["question"]
            assert (shown["state"], shown["answer"], shown["settled_by"]) == ("answered", "first", str(company["max"].id))


@pytest.mark.requirement("Q4", "Q5")
async def test_declining_and_asking_back_reach_the_asker(questions: Composed, company: Company, pool: Pool) -> None:
    """A note leaves the question open; a refusal ends it, with its reason."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(agent) as robot, questions.client(company["max"]) as max_:
        question = await asked(robot, company)
        url = f"/v1/questions/{question['id']}"
        noted = (await max_.post(f"{url}/ask-back", json={"text": " Which release? "})).json()
        assert (noted["state"], noted["note_count"]) == ("open", 1)
        assert [note["text"] for note in (await robot.get(url)).json()["notes"]] == ["Which release?"]
        declined = (await max_.post(f"{url}/decline", json={"reason": "Ask finance."})).json()
        assert (declined["state"], declined["reason"], declined["answer"]) == ("declined", "Ask finance.", None)
        seen = (await robot.get(url)).json()
        assert (seen["status"], seen["reason"], seen["settled_by_name"]) == ("declined", "Ask finance.", "max")


@pytest.mark.requirement("Q1", "Q4")
async def test_a_request_with_an_idempotency_key_may_be_sent_again(questions: Composed, company: Company, pool: Pool) -> None:
    """Each command once, each time with its success; a key that is no UUID is refused."""
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:
        key = {"idempotency-key": str(uuid4())}
        body = {"project_id": str(company.north), "text": "Ship it?"}
        first, again = [await mia.post("/v1/questions", json=body, headers=key) for _ in range(2)]
        assert (first.status_code, first.json()) == (again.status_code, again.json())
        url = f"/v1/questions/{first.json()['id']}"
        for path, said in (("ask-back", {"text": "why?"}), ("answer", {"answer": "yes"})):
            key = {"idempotency-key": str(uuid4())}
            results = [await max_.post(f"{url}/{path}", json=said, headers=key) for _ in range(3)]
            assert [result.status_code for result in results] == [200, 200, 200]
            assert results[0].json() == results[1].json() == results[2].json()
        assert (await mia.get(url)).json()["note_count"] == 1
        refused(await mia.post("/v1/questions", json=body, headers={"idempotency-key": "today"}), 400, "invalid_input")
    events = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY id", first.json()["id"])
    assert [row["event"] for row in events] == ["question.asked", "question.asked_back", "question.answered"]


@pytest.mark.requirement("Q1")
async def test_a_dedupe_key_answers_with_the_question_it_stands_for(questions: Composed, company: Company) -> None:
    """201 the first time, 200 ever after, whatever its state."""
    async with questions.client(company["mia"]) as mia, questions.client(company["max"]) as max_:
        question = await asked(mia, company, dedupe_key="release 7")
        body = {"project_id": str(company.north), "text": "Ship it?", "dedupe_key": "release 7"}
        for answered in (False, True):
            again = await mia.post("/v1/questions", json=body)
            assert (again.status_code, again.json()["id"]) == (200, question["id"])
            assert again.json()["status"] == ("answered" if answered else "pending")
            await max_.post(f"/v1/questions/{question['id']}/answer", json={"answer": "yes"})


@pytest.mark.requirement("Q5", "O9")
async def test_the_asker_is_told_of_the_end_that_nobody_chose(questions: Composed, company: Company, pool: Pool) -> None:
    """Expired at its time; the sweep makes it one fact."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(agent) as robot:
        question = await asked(robot, company, expires_in=1, wait_seconds=10)
        assert (question["state"], question["status"]) == ("expired", "expired")

    async def swept() -> bool:
        facts = await pool.fetch("SELECT fact FROM change_log WHERE entity_id = $1 ORDER BY seq", question["id"])
        return [row["fact"] for row in facts] == ["question.asked", "question.expired"]

    async with questions.client(company["max"]) as max_:
        late = await max_.post(f"/v1/questions/{question['id']}/answer", json={"answer": "yes"})
        assert refused(late, 409, "conflict")["question"]["state"] == "expired"
    await until(swept)


@pytest.mark.requirement("Q9")
async def test_every_write_of_a_reader_is_refused(questions: Composed, company: Company, pool: Pool) -> None:
    """Ask, answer, decline, ask back, cancel, make a token: 403 and a sentence that says why; reading goes on."""
    async with questions.client(company["mia"]) as mia:
        question = await asked(mia, company)
    for who, words in (("viewer", "Viewers can only read"), ("demo", "demo account")):
        url = f"/v1/questions/{question['id']}"
        writes: list[tuple[str, dict[str, object]]] = [
            ("/v1/questions", {"project_id": str(company.north), "text": "May I?"}),
            (f"{url}/answer", {"answer": "yes"}),
            (f"{url}/decline", {}),
            (f"{url}/ask-back", {"text": "why?"}),
            (f"{url}/cancel", {}),
            ("/v1/tokens", {"name": "mine", "scopes": ["questions:answer"]}),
        ]
        async with questions.client(company[who]) as reader:
            for path, body in writes:
                response = await reader.post(path, json=body)
                refused(response, 403, "permission_denied")
                assert words in response.json()["message"], path
            assert (await reader.get(url)).json()["state"] == "open"
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1


@pytest.mark.requirement("I6", "I4")
async def test_who_may_not_see_a_question_cannot_tell_that_it_is_there(questions: Composed, company: Company, pool: Pool) -> None:
    """A stranger, a member without the project, a token for another: 404 for it, word for word as for an id that never was."""
    elsewhere = await give_token(pool, company["owner"], projects=(company.north,))
    async with questions.client(company["owner"]) as owner:
        hidden = await asked(owner, company, project_id=str(company.south))
    for who in (company["stranger"], company["mia"], elsewhere):
        async with questions.client(who) as client:
            for path, body in (("answer", {"answer": "yes"}), ("decline", {}), ("ask-back", {"text": "why?"}), ("cancel", {})):
                there, nowhere = [
                    await client.post(f"/v1/questions/{question_id}/{path}", json=body) for question_id in (hidden["id"], uuid4())
                ]
                assert (there.status_code, there.json()) == (nowhere.status_code, nowhere.json()) == (404, there.json())
            there, nowhere = [await client.get(f"/v1/questions/{question_id}") for question_id in (hidden["id"], uuid4())]
            assert (there.status_code, there.json()) == (nowhere.status_code, nowhere.json()) == (404, there.json())
            ask = {"project_id": str(company.south), "text": "Ship it?"}
            for project in (company.south, uuid4()):
                refused(await client.post("/v1/questions", json={**ask, "project_id": str(project)}), 404, "not_found")
            assert hidden["id"] not in (await client.get("/v1/questions")).text
    for path in ("not-an-id", "00000000-0000-0000-0000-00000000000g"):
        async with questions.client(company["mia"]) as client:
            refused(await client.get(f"/v1/questions/{path}"), 404, "not_found")


@pytest.mark.requirement("I4")
async def test_a_token_never_answers_what_a_token_of_its_owner_asked(questions: Composed, company: Company, pool: Pool) -> None:
    """Neither its own questions nor those of the owner's other agents; what people and others' agents ask it may answer."""
    one, other = await give_token(pool, company["mia"]), await give_token(pool, company["mia"])
    maxs = await give_token(pool, company["max"])
    async with questions.client(one) as robot, questions.client(maxs) as maxs_robot, questions.client(company["mia"]) as mia:
        own = await asked(robot, company)
        foreign, persons = await asked(maxs_robot, company), await asked(mia, company)
        for agent in (one, other):
            async with questions.client(agent) as client:
                for path, body in (("answer", {"answer": "yes"}), ("decline", {}), ("ask-back", {"text": "why?"})):
                    response = await client.post(f"/v1/questions/{own['id']}/{path}", json=body)
                    refused(response, 403, "permission_denied")
        for question in (foreign, persons):
            answered = await robot.post(f"/v1/questions/{question['id']}/answer", json={"answer": "yes"})
            assert answered.status_code == 200, answered.text
        answered = await mia.post(f"/v1/questions/{own['id']}/answer", json={"answer": "yes"})
        assert answered.status_code == 200, answered.text


@pytest.mark.requirement("I4")
async def test_each_verb_of_questions_needs_its_scope(questions: Composed, company: Company, pool: Pool) -> None:
    """By table: asking and cancelling with one, settling with the other, and neither with anything else."""
    for scope in sorted(set(Scope) - {Scope.ACTIONS_CONFIRM}):
        agent = await give_token(pool, company["mia"], (scope,))
        async with questions.client(company["max"]) as max_, questions.client(agent) as robot:
            url = f"/v1/questions/{(await asked(max_, company))['id']}"
            ask = {"project_id": str(company.north), "text": "May I?"}
            responses = {
                "ask": await robot.post("/v1/questions", json=ask),
                "read": await robot.get(url),
                "list": await robot.get("/v1/questions"),
                "counts": await robot.get("/v1/questions/counts"),
                "cancel": await robot.post(f"{url}/cancel", json={}),
                "ask back": await robot.post(f"{url}/ask-back", json={"text": "why?"}),
                "answer": await robot.post(f"{url}/answer", json={"answer": "yes"}),
            }
        asks, settles = scope is Scope.QUESTIONS_ASK, scope is Scope.QUESTIONS_ANSWER
        assert {verb: response.status_code for verb, response in responses.items()} == {
            "ask": 201 if asks else 403,
            **dict.fromkeys(("read", "list", "counts"), 200 if asks or settles else 403),
            "cancel": 403,
            **dict.fromkeys(("ask back", "answer"), 200 if settles else 403),
        }
