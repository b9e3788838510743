"""A client that can open a page is sent to the question's, where a person answers in their own session; the call comes back once."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx2
import pytest
from mcp.client.context import ClientRequestContext
from mcp_types import ElicitRequestParams, ElicitRequestURLParams, ElicitResult
from tests.doors.over_mcp.talk import LEGACY, META, Stage, ask, call, error_of, official

from askbus.access.mcp_states import LASTS, drop_states, give_state, use_state
from askbus.db.pool import Pool
from askbus.errors import Conflict
from askbus.testing.people import Agent, Company, give_token
from askbus.testing.questions import open_question
from askbus.testing.waiting import until

PROMPTLY = 20
"""Seconds within which whoever is woken has answered, on a busy machine."""
URL: dict[str, Any] = {f"{META}clientCapabilities": {"elicitation": {"url": {}}}}
"""What a client says of itself that can open a page."""


def asking(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "wait_seconds": 60, **more}


async def sent(robot: httpx2.AsyncClient, arguments: dict[str, Any]) -> tuple[str, str]:
    """The page to which this question sends, and the state to come back with."""
    result = await call(robot, "ask_user_question", arguments, **URL)
    assert result["resultType"] == "input_required"
    [request] = result["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    assert request["params"]["mode"] == "url"
    return request["params"]["url"], result["requestState"]


async def back(
    robot: httpx2.AsyncClient, arguments: dict[str, Any], state: Any, action: str = "accept", tool: str = "ask_user_question"
) -> httpx2.Response:
    """The same call again, with the state and what the client says came of the page."""
    params = {"name": tool, "arguments": arguments, "inputResponses": {"answer": {"action": action}}, "requestState": state}
    return await ask(robot, "tools/call", {name: value for name, value in params.items() if value is not None}, **URL)


def question_of(response: httpx2.Response) -> Any:
    """The one question of a result."""
    assert response.status_code == 200, response.text
    [question] = response.json()["result"]["structuredContent"]["questions"]
    return question


async def asked(stage: Stage, text: str) -> int:
    """How often this was asked."""
    count: int = await stage.pool.fetchval("SELECT count(*) FROM questions WHERE text = $1", text)
    return count


@pytest.mark.requirement("M9", "I4")
async def test_the_official_client_opens_the_page_and_gets_the_persons_answer(stage: Stage, agent: Agent) -> None:
    """Its user agrees, answers on the page in their own session while the call is back and waits, and the agent gets that answer."""
    opened: list[str] = []

    async def elicit(_context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestURLParams)
        assert "Ship build 9?" in params.message
        opened.append(params.url)
        return ElicitResult(action="accept")

    async with (
        official(stage, agent, elicitation_callback=elicit) as client,
        stage.running.client(stage.company["mia"]) as mia,
    ):
        waiting = asyncio.ensure_future(client.call_tool("ask_user_question", asking("Ship build 9?")))

        async def is_back() -> bool:
            used = "SELECT count(*) FROM mcp_states WHERE token_id = $1 AND used_at IS NOT NULL"
            return bool(await stage.pool.fetchval(used, agent.id) == 1)

        async with asyncio.timeout(PROMPTLY):
            await until(is_back)
            [page] = opened
            question_id = page.removeprefix("http://localhost/#question=")
            answered = await mia.post(f"/v1/questions/{question_id}/answer", json={"answer": "yes"})
            assert answered.status_code == 200, answered.text
            result = await waiting
    [question] = result.structured_content["questions"]
    assert (question["id"], question["answer"], question["settled_by_name"]) == (question_id, "yes", "mia")
    assert await asked(stage, "Ship build 9?") == 1


@pytest.mark.requirement("M9")
async def test_a_retry_asks_nothing_and_says_what_became_of_the_question(stage: Stage, agent: Agent) -> None:
    """Still open after the hold is a success; who did not go to the page is not waited for, and its question stays open all the same.
    The wait and the dedupe key may be said differently, as bridges do."""
    async with stage.running.client(agent) as robot:
        first = asking("Which one?")
        page, state = await sent(robot, {**first, "dedupe_key": "which"})
        began = asyncio.get_running_loop().time()
        question = question_of(await back(robot, first, state))
        assert asyncio.get_running_loop().time() - began >= 2
        assert (question["status"], question["url"]) == ("pending", page)
        _page, state = await sent(robot, {**first, "dedupe_key": "which"})
        began = asyncio.get_running_loop().time()
        assert question_of(await back(robot, first, state, "decline"))["state"] == "open"
        assert asyncio.get_running_loop().time() - began < 2
        assert await asked(stage, "Which one?") == 1


@pytest.mark.requirement("M9")
async def test_a_state_that_is_not_ones_own_for_this_request_is_refused_and_does_nothing(stage: Stage, agent: Agent) -> None:
    """Made up, altered, another caller's, another request's, without a state: an error of the protocol. The true one counts after that."""
    mine = asking("Mine?", options=["yes", "no"])
    other = await give_token(stage.pool, stage.company["mia"])
    async with stage.running.client(agent) as robot, stage.running.client(other) as stranger:
        _page, state = await sent(robot, mine)
        flipped = f"{'A' if state[0] != 'A' else 'B'}{state[1:]}"
        tried = [
            await back(robot, mine, "x" * 43),
            await back(robot, mine, flipped),
            await back(robot, mine, 7),
            await back(robot, mine, None),
            await back(robot, {**mine, "options": ["no", "yes"]}, state),
            await back(robot, {**mine, "text": "Yours?"}, state),
            await back(robot, mine, state, "agreed"),
            await back(stranger, mine, state),
        ]
        assert {error_of(response) for response in tried} == {(400, -32602)}
        too_long = await back(robot, {**mine, "wait_seconds": 601}, state)
        assert too_long.json()["result"]["isError"] is True
        assert (await asked(stage, "Mine?"), await asked(stage, "Yours?")) == (1, 0)
        assert question_of(await back(robot, mine, state, "cancel"))["text"] == "Mine?"


@pytest.mark.requirement("M9")
async def test_a_state_counts_once(stage: Stage, agent: Agent) -> None:
    """Of two that come back at the same time one is answered, and the other told what to call; later it is unknown. Nothing is asked."""
    once = asking("Once?")
    async with stage.running.client(agent) as robot:
        page, state = await sent(robot, once)
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

        async def both_wait() -> bool:
            return bool(await stage.pool.fetchval(waiting) == 2)

        async with stage.pool.acquire() as db, db.transaction():
            await db.execute("SELECT FROM mcp_states WHERE token_id = $1 FOR UPDATE", agent.id)
            coming = [asyncio.ensure_future(back(robot, once, state, "cancel")) for _ in range(2)]
            await until(both_wait)
        both = await asyncio.gather(*coming)
        [lost] = [response for response in both if "isError" in response.json()["result"]]
        question_id = page.partition("=")[2]
        told = json.loads(lost.json()["result"]["content"][0]["text"])
        assert (told["code"], told["details"]["ids"]) == ("conflict", [question_id])
        assert "used already" in told["message"]
        late = asking("Late?")
        page, state = await sent(robot, late)
        question_id = page.partition("=")[2]
        outlived = "UPDATE mcp_states SET expires_at = now() WHERE question_id = $1"
        await stage.pool.execute(outlived, UUID(question_id))

        async def swept() -> bool:
            return not await stage.pool.fetchval("SELECT count(*) FROM mcp_states WHERE question_id = $1", UUID(question_id))

        await until(swept)
        assert error_of(await back(robot, late, state)) == (400, -32602)
        assert (await asked(stage, "Once?"), await asked(stage, "Late?")) == (1, 1)


@pytest.mark.requirement("M9")
async def test_a_state_past_its_time_is_refused_before_it_is_swept(pool: Pool, company: Company) -> None:
    """Nothing relies on the sweep. It counts until then, for the same caller and request."""
    agent = await give_token(pool, company["mia"])
    question = await open_question(pool, company["mia"].principal, company.north)
    given = datetime.now(UTC) + timedelta(days=1)
    last, over = given + timedelta(seconds=LASTS - 1), given + timedelta(seconds=LASTS)
    states = [await give_state(pool, agent.principal, question.id, b"r" * 32, now=given) for _ in range(2)]
    assert await use_state(pool, agent.principal, states[0], b"r" * 32, now=last) == question.id
    with pytest.raises(Conflict, match="has expired") as refused:
        await use_state(pool, agent.principal, states[1], b"r" * 32, now=over)
    assert refused.value.details == {"ids": [str(question.id)]}
    assert (await drop_states(pool, now=last), await drop_states(pool, now=over)) == (0, 2)


@pytest.mark.requirement("M9")
async def test_nobody_is_sent_to_a_page_who_cannot_open_or_answer_it(stage: Stage, agent: Agent) -> None:
    """A client that knows forms alone, an earlier revision, a call that does not wait, a question to somebody else, one that is settled,
    several at once: they are answered as ever."""
    form: dict[str, Any] = {f"{META}clientCapabilities": {"elicitation": {}}}
    brief = asking("Anybody there?", wait_seconds=0.1, dedupe_key="brief")
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        results = [
            await call(robot, "ask_user_question", brief, **form),
            await call(robot, "ask_user_question", brief, revision=LEGACY),
            await call(robot, "ask_user_question", {**brief, "wait_seconds": 0}, **URL),
            await call(
                robot,
                "ask_user_question",
                asking("Max?", wait_seconds=0.1, assignee_id=str(stage.company["max"].id)),
                **URL,
            ),
            await call(robot, "ask_user_question", {"questions": [{"text": "A?"}, {"text": "B?"}], "wait_seconds": 0.1}, **URL),
        ]
        question_id = results[0]["structuredContent"]["questions"][0]["id"]
        await max_.post(f"/v1/questions/{question_id}/answer", json={"answer": "here"})
        settled = await call(robot, "ask_user_question", brief, **URL)
    assert all(result.get("resultType") in {None, "complete"} for result in [*results, settled])
    assert settled["structuredContent"]["questions"][0]["answer"] == "here"
