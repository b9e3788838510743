"""Clients that do what none should, and rights that end while a call waits."""

import asyncio
import gc

import pytest
from tests.doors.over_mcp.talk import MODERN, OLDEST, Stage, ask, call, said
from tests.doors.over_mcp.test_question_tools import failure_of, last_question

from askbus.testing.people import Agent
from askbus.testing.waiting import until
from askbus_gateway.sse.waits import Waits


def held() -> int:
    """How many waits there are in this process."""
    return sum(len(one) for one in gc.get_objects() if type(one) is Waits)


@pytest.mark.requirement("M5", "I4")
async def test_a_wait_tells_nothing_once_agents_are_let_in_no_more(stage: Stage, agent: Agent) -> None:
    """An API token still counts everywhere else; what is answered after the switch is not for this door."""
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        waiting = asyncio.ensure_future(call(robot, "ask_user_question", {"text": "Switched off?", "wait_seconds": 2}))
        question_id = await last_question(stage.pool, "Switched off?")
        await until(lambda: _true(held() == 1))
        try:
            await stage.pool.execute("UPDATE workspaces SET mcp = false WHERE id = $1", stage.company.workspace_id)
            await max_.post(f"/v1/questions/{question_id}/answer", json={"answer": "too late for you"})
            result = await waiting
        finally:
            await stage.pool.execute("UPDATE workspaces SET mcp = true WHERE id = $1", stage.company.workspace_id)
        assert failure_of(result)["code"] == "permission_denied"
        assert "too late" not in str(result)


@pytest.mark.requirement("Q2", "M1")
@pytest.mark.parametrize("revision", [MODERN, OLDEST])
async def test_a_client_that_goes_away_leaves_no_wait_behind(stage: Stage, agent: Agent, revision: str) -> None:
    """However it asked: for one answer, or for several in a batch."""
    sent = said("tools/call", {"name": "ask_user_question", "arguments": {}}, revision=revision)
    for number in range(3):
        text = f"Cut off {revision} {number}?"
        sent["json"]["params"]["arguments"] = {"text": text, "wait_seconds": 60}
        async with stage.running.client(agent) as robot:
            body = [sent["json"]] if revision == OLDEST else sent["json"]
            waiting = asyncio.ensure_future(robot.post("/mcp", json=body, headers=sent["headers"]))
            await last_question(stage.pool, text)
            await until(lambda: _true(held() == 1))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(1):
            await until(lambda: _true(held() == 0))


@pytest.mark.requirement("M6", "I12")
async def test_a_set_that_is_too_large_is_refused_before_anything_is_looked_up(stage: Stage, agent: Agent) -> None:
    """A body has room for hundreds of thousands of questions without a project."""
    async with stage.running.client(agent) as client:
        result = await call(client, "ask_user_question", {"questions": [{}] * 1000})
        assert failure_of(result)["message"] == "questions: at most 20 are asked at once."
        assert (await ask(client, "tools/list", {"": "a parameter without a name"})).status_code == 200


async def _true(fact: bool) -> bool:
    return fact
