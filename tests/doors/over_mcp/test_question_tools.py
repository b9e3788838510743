"""Every question scenario of the REST API and of the bus, over MCP."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest
from tests.doors.over_mcp.talk import LEGACY, OLDEST, Stage, ask, call, official

from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.actions import confirmed, update
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

PROMPTLY = 20
"""Seconds within which whoever is woken has answered, on a busy machine."""


def question_of(result: Any) -> Any:
    """The one question of a result."""
    [question] = result["structuredContent"]["questions"]
    return question


async def asked_by(running: Composed, agent: Agent, arguments: dict[str, Any]) -> Any:
    """The result of asking over a connection of its own."""
    async with running.client(agent) as client:
        return await call(client, "ask_user_question", arguments)


def failure_of(result: Any) -> Any:
    """What a tool's failure says."""
    assert result["isError"] is True
    return json.loads(result["content"][0]["text"])


async def last_question(pool: Pool, text: str) -> UUID:
    """The question with this text, once it is there."""

    async def there() -> bool:
        return await pool.fetchval("SELECT id FROM questions WHERE text = $1", text) is not None

    await until(there)
    found: UUID = await pool.fetchval("SELECT id FROM questions WHERE text = $1", text)
    return found


@pytest.mark.requirement("Q1", "Q4", "Q6", "Q14", "M7", "M9")
async def test_an_agent_asks_over_mcp_and_a_person_answers(stage: Stage, agent: Agent) -> None:
    """Still open is a success that says where it is answered and when to ask again. Then the answer, and who gave it."""
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        result = await call(robot, "ask_user_question", {"text": "Ship build 7?", "options": ["yes", "no"], "title": "Release"})
        question = question_of(result)
        assert (question["status"], question["state"], question["project_id"]) == ("pending", "open", str(stage.company.north))
        assert question["url"] == f"http://localhost/#question={question['id']}"
        assert result["structuredContent"]["ask_again_after"] == 30
        text = result["content"][0]["text"]
        assert all(word in text for word in (question["id"], question["url"], "open", str(stage.company.workspace_id)))
        assert "Ship build 7?" not in text
        answered = await max_.post(f"/v1/questions/{question['id']}/answer", json={"answer": "yes"})
        assert answered.status_code == 200, answered.text
        told = await call(robot, "get_question_answer", {"ids": [question["id"]]})
        found = question_of(told)
        assert (found["status"], found["answer"], found["settled_by_name"]) == ("answered", "yes", "max")
        assert "ask_again_after" not in told["structuredContent"]
        lost = failure_of(await call(robot, "cancel_question", {"id": question["id"]}))
        assert (lost["code"], lost["details"]["question"]["answer"]) == ("conflict", "yes")


@pytest.mark.requirement("Q2", "M9")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_wait_reports_progress_and_ends_with_the_answer(stage: Stage, agent: Agent, mode: Any) -> None:
    """The official client hears that it goes on, as often as it was promised, and gets the answer as soon as it is there."""
    heard: list[float] = []
    enough = asyncio.Event()
    text = f"Wait for me ({mode})?"

    async def heard_of(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (2, "Waiting for a person.")
        heard.append(progress)
        if len(heard) == 2:
            enough.set()

    async with official(stage, agent, mode) as client, stage.running.client(stage.company["max"]) as max_:
        arguments = {"text": text, "wait_seconds": 600}
        waiting = asyncio.ensure_future(client.call_tool("ask_user_question", arguments, progress_callback=heard_of))
        async with asyncio.timeout(PROMPTLY):
            await enough.wait()
            question_id = await last_question(stage.pool, text)
            await max_.post(f"/v1/questions/{question_id}/answer", json={"answer": "now"})
            result = await waiting
    assert heard == sorted(heard)
    assert result.structured_content["questions"][0]["answer"] == "now"


@pytest.mark.requirement("Q1", "Q2", "M9")
async def test_a_hold_that_is_over_is_a_success_and_the_dedupe_key_comes_back_to_it(stage: Stage, agent: Agent) -> None:
    """Ten minutes are wished for and two seconds held; the same key finds the same question, in any state."""
    arguments = {"text": "Anybody?", "dedupe_key": "anybody", "wait_seconds": 600}
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        began = asyncio.get_running_loop().time()
        first = await call(robot, "ask_user_question", arguments)
        assert 2 <= asyncio.get_running_loop().time() - began < PROMPTLY
        question = question_of(first)
        assert (question["status"], "isError" in first) == ("pending", False)
        again = asyncio.ensure_future(call(robot, "ask_user_question", arguments))
        await max_.post(f"/v1/questions/{question['id']}/decline", json={"reason": "Not today."})
        async with asyncio.timeout(PROMPTLY):
            declined = question_of(await again)
        assert (declined["id"], declined["status"], declined["reason"]) == (question["id"], "declined", "Not today.")


@pytest.mark.requirement("M9")
async def test_a_token_whose_owner_said_so_is_held_longer(stage: Stage) -> None:
    """The owner's word counts and not the deployment's: here three seconds instead of two. It is said when the token is made."""
    async with stage.running.client(stage.company["mia"]) as mia:
        said = {"name": "patient", "scopes": ["questions:ask"], "mcp_hold": 3}
        made = (await mia.post("/v1/tokens", json=said)).json()
        assert made["token"]["mcp_hold"] == 3
        refused = await mia.post("/v1/tokens", json={**said, "mcp_hold": 601})
        assert refused.status_code == 400
    async with stage.running.client() as robot:
        robot.headers["authorization"] = f"Bearer {made['secret']}"
        began = asyncio.get_running_loop().time()
        result = await call(robot, "ask_user_question", {"text": "Patience?", "wait_seconds": 600})
        assert 3 <= asyncio.get_running_loop().time() - began < PROMPTLY
        assert question_of(result)["status"] == "pending"


@pytest.mark.requirement("Q3", "Q4", "Q5", "Q6")
async def test_asked_back_listed_cancelled_and_expired(stage: Stage) -> None:
    """What else becomes of questions is told the same way; the list is the caller's own open ones alone."""
    agent = await give_token(stage.pool, stage.company["mia"])
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        first, second = [question_of(await call(robot, "ask_user_question", {"text": text})) for text in ("One?", "Two?")]
        await max_.post(f"/v1/questions/{first['id']}/ask-back", json={"text": "Which one?"})
        noted = question_of(await call(robot, "get_question_answer", {"ids": [first["id"]]}))
        assert (noted["status"], [note["text"] for note in noted["notes"]]) == ("pending", ["Which one?"])
        listed = (await call(robot, "list_open_questions"))["structuredContent"]
        assert {one["id"] for one in listed["questions"]} == {first["id"], second["id"]}
        page = (await call(robot, "list_open_questions", {"limit": 1}))["structuredContent"]
        rest = (await call(robot, "list_open_questions", {"limit": 1, "before": page["next"]}))["structuredContent"]
        assert [one["id"] for one in (*page["questions"], *rest["questions"])] == [second["id"], first["id"]]
        assert question_of(await call(robot, "cancel_question", {"id": first["id"]}))["status"] == "cancelled"
        expiring = question_of(await call(robot, "ask_user_question", {"text": "Soon?", "expires_in": 1, "wait_seconds": 2}))
        assert expiring["status"] == "expired"
        left = (await call(robot, "list_open_questions"))["structuredContent"]
        assert [one["id"] for one in left["questions"]] == [second["id"]]


@pytest.mark.requirement("Q13", "M9")
async def test_several_questions_are_asked_as_one_and_waited_for_as_one(stage: Stage, agent: Agent) -> None:
    """All or none, in their order; the wait ends when each of them is settled."""
    asked = {"questions": [{"text": "Left?"}, {"text": "Right?"}], "wait_seconds": 60}
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        wrong = failure_of(await call(robot, "ask_user_question", {"questions": [{"text": "Fine?"}, {"text": ""}]}))
        assert (wrong["code"], wrong["details"]["errors"][0]["field"]) == ("invalid_input", "questions.1.text")
        assert await stage.pool.fetchval("SELECT count(*) FROM questions WHERE text = 'Fine?'") == 0
        waiting = asyncio.ensure_future(call(robot, "ask_user_question", asked))
        for text, said in (("Left?", "l"), ("Right?", "r")):
            await max_.post(f"/v1/questions/{await last_question(stage.pool, text)}/answer", json={"answer": said})
        async with asyncio.timeout(PROMPTLY):
            result = await waiting
        assert [one["answer"] for one in result["structuredContent"]["questions"]] == ["l", "r"]
        missing = failure_of(await call(robot, "get_question_answer", {"ids": [str(stage.company.north)]}))
        assert missing["code"] == "not_found"


@pytest.mark.requirement("M9", "Q2")
async def test_a_client_that_goes_away_leaves_its_question_open(stage: Stage, agent: Agent) -> None:
    """Closing the response ends the wait and nothing else: the question is answered later all the same."""
    arguments = {"text": "Still there?", "dedupe_key": "still there", "wait_seconds": 60}
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        waiting = asyncio.ensure_future(call(robot, "ask_user_question", arguments))
        question_id = await last_question(stage.pool, "Still there?")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        answered = await max_.post(f"/v1/questions/{question_id}/answer", json={"answer": "of course"})
        assert answered.status_code == 200, answered.text
        found = question_of(await call(robot, "ask_user_question", arguments))
        assert (found["id"], found["answer"]) == (str(question_id), "of course")


@pytest.mark.requirement("Q2", "M9", "M1")
async def test_a_wait_survives_the_end_of_its_gateway(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool
) -> None:
    """The gateway that stops answers with the question as it stands; the same call finds it again at another gateway."""
    await provision(nats_server.url, ack_wait=1)
    agent = await give_token(pool, company["mia"])
    arguments = {"text": "Still here?", "dedupe_key": "here", "wait_seconds": 30}
    async with compose(database, nats_server.url, [(Service.QUESTION_BROKER, make_broker)]):
        async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as stops:
            waiting = asyncio.ensure_future(asked_by(stops, agent, arguments))
            await last_question(pool, "Still here?")
        first = question_of(await waiting)
        assert first["status"] == "pending"
        async with (
            compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as comes,
            comes.client(company["max"]) as max_,
        ):
            again = asyncio.ensure_future(asked_by(comes, agent, arguments))
            await max_.post(f"/v1/questions/{first['id']}/answer", json={"answer": "yes"})
            async with asyncio.timeout(PROMPTLY):
                found = question_of(await again)
        assert (found["id"], found["answer"]) == (first["id"], "yes")


@pytest.mark.requirement("M6")
async def test_a_wrong_operation_is_named_and_its_list_is_not_blamed_for_it(stage: Stage, agent: Agent) -> None:
    """One fault, one problem: the only operation is wrong, and nobody is told that there are none."""
    given = {key: value for key, value in update({"email": "new@example.com"}).items() if key != "id"}
    async with stage.running.client(agent) as robot:
        wrong = failure_of(await call(robot, "propose_changes", {"operations": [given]}))
        none = failure_of(await call(robot, "propose_changes", {"operations": []}))
    assert wrong["message"] == "operations.0.id: Field required"
    assert [one["field"] for one in wrong["details"]["errors"]] == ["operations.0.id"]
    assert [one["field"] for one in none["details"]["errors"]] == ["operations"]


@pytest.mark.requirement("R22", "R1", "M6")
async def test_a_proposal_is_followed_with_the_question_tools(stage: Stage, agent: Agent) -> None:
    """Proposed pending, listed, found by its dedupe key, taken back; another is waited for, confirmed by a person and applied."""
    change = {"operations": [update({"email": "new@example.com"})], "dedupe_key": "first"}
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        result = await call(robot, "propose_changes", change)
        [action] = result["structuredContent"]["actions"]
        assert (action["state"], action["url"]) == ("pending", f"http://localhost/#action={action['id']}")
        assert "new@example.com" not in result["content"][0]["text"]
        listed = (await call(robot, "list_open_questions"))["structuredContent"]["actions"]
        assert [one["id"] for one in listed] == [action["id"]]
        [same] = (await call(robot, "propose_changes", change))["structuredContent"]["actions"]
        assert same["id"] == action["id"]
        [gone] = (await call(robot, "cancel_question", {"id": action["id"]}))["structuredContent"]["actions"]
        assert gone["state"] == "withdrawn"
        [other] = (await call(robot, "propose_changes", {**change, "dedupe_key": "second"}))["structuredContent"]["actions"]
        waiting = asyncio.ensure_future(call(robot, "get_question_answer", {"ids": [other["id"]], "wait_seconds": 60}))
        await confirmed(max_, other)
        async with asyncio.timeout(PROMPTLY):
            [applied] = (await waiting)["structuredContent"]["actions"]
        assert (applied["state"], applied["outcome"]["state"]) == ("applied", "applied")


@pytest.mark.requirement("M5", "M6")
async def test_who_sees_several_projects_says_which(stage: Stage) -> None:
    """The owner sees two: what belongs to one of them must say which, and is told their names."""
    agent = await give_token(stage.pool, stage.company["owner"])
    async with stage.running.client(agent) as robot:
        told = failure_of(await call(robot, "ask_user_question", {"text": "Where?"}))
        assert {one["name"] for one in told["details"]["projects"]} == {"north", "south"}
        named = await call(robot, "ask_user_question", {"text": "Where?", "project_id": str(stage.company.south)})
        assert question_of(named)["project_id"] == str(stage.company.south)
        plan = {"collection": "customers", "project_id": str(stage.company.south)}
        assert "isError" not in await call(robot, "query_records", plan)


@pytest.mark.requirement("M7")
async def test_rows_are_in_one_of_the_two_only(stage: Stage, agent: Agent) -> None:
    """Structured where the revision has that, else as text; never both."""
    async with stage.running.client(agent) as robot:
        plan = {"collection": "customers", "fields": ["email"], "limit": 1}
        for revision in ("2026-07-28", LEGACY):
            result = await call(robot, "query_records", plan, revision=revision)
            [[*_key, email]] = result["structuredContent"]["rows"]
            assert [email in block["text"] for block in result["content"]] == [False]
        old = await call(robot, "query_records", plan, revision=OLDEST)
        assert "structuredContent" not in old
        assert json.loads(old["content"][1]["text"])["rows"][0][-1] == email
        tools = (await ask(robot, "tools/list", revision=OLDEST)).json()["result"]["tools"]
        assert not any("outputSchema" in tool for tool in tools)


@pytest.mark.requirement("I10")
async def test_each_call_is_in_the_audit_log_by_its_tool_and_never_by_its_words(stage: Stage) -> None:
    """Who, with which token, which tool; those that fail too."""
    agent = await give_token(stage.pool, stage.company["mia"], (Scope.QUESTIONS_ASK,))
    async with stage.running.client(agent) as robot:
        await call(robot, "ask_user_question", {"text": "Noted?"})
        await call(robot, "get_question_answer", {"ids": "wrong"})
    rows = await stage.pool.fetch("SELECT * FROM audit_log WHERE via_id = $1 AND event = 'mcp.tool_called' ORDER BY id", agent.id)
    assert [row["entity"] for row in rows] == ["ask_user_question", "get_question_answer"]
    assert {(row["via"], row["user_id"]) for row in rows} == {("token", stage.company["mia"].id)}
    assert not any("Noted?" in str(dict(row)) for row in rows)
