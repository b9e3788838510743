"""The official TypeScript clients: they connect, list, call and wait, by token, through OAuth, and over `askbus mcp`."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.frontends.stage import JS, Player, player
from tests.mcp_clients.people import allow, remove_apps
from tests.mcp_clients.stage import Stage
from tests.mcp_clients.wire import RUN, environment

from askbus.testing.people import Agent

pytestmark = pytest.mark.requirement("M11")

NEWEST = {"sdk": "2025-11-25", "client": "2026-07-28"}
"""The clients, and the newest revision that each speaks."""


@asynccontextmanager
async def playing(kind: str) -> AsyncIterator[Player]:
    if not (JS / "node_modules/@modelcontextprotocol" / kind).is_dir():
        pytest.skip("the TypeScript clients are not installed: `make test` does that where it reaches the registry")
    async with player("mcp", kind) as play:
        yield play


@pytest.mark.requirement("M1", "M9")
@pytest.mark.parametrize("kind", list(NEWEST))
async def test_it_lists_asks_and_waits_with_an_api_token(stage: Stage, agent: Agent, kind: str) -> None:
    """In its newest revision; it checks each result against the declared shape. One call is held and let go, the next is answered."""
    text = f"From TypeScript ({kind})?"
    asks = {"text": text, "options": ["yes", "no"], "dedupe_key": text, "wait_seconds": 600}
    async with playing(kind) as play:
        found = await play("connect", url=f"{stage.url}/mcp", token=agent.token)
        assert found == {"server": "askbus", "revision": NEWEST[kind]}
        assert "ask_user_question" in await play("list")
        held = await play("call", tool="ask_user_question", arguments=asks)
        assert held["result"]["structuredContent"]["questions"][0]["status"] == "pending"
        assert held["heard"] == sorted(held["heard"]) != []
        waiting = asyncio.ensure_future(play("call", tool="ask_user_question", arguments=asks))
        question_id = await stage.answer(text, "yes")
        [answered] = (await waiting)["result"]["structuredContent"]["questions"]
        assert (answered["id"], answered["answer"]) == (str(question_id), "yes")
        wrong = await play("call", tool="ask_user_question", arguments={"text": ""})
        assert wrong["result"]["isError"] is True
        await play("close")


@pytest.mark.requirement("M3", "M4", "M5")
@pytest.mark.parametrize("kind", list(NEWEST))
async def test_it_goes_through_oauth_by_itself(stage: Stage, kind: str) -> None:
    """From a 401: it finds the server, registers, sends the person to the page of consent, redeems the code with its verifier, calls what
    was allowed, refreshes, and asks anew once the person has removed it."""
    async with playing(kind) as play:
        sent = await play("knock", url=f"{stage.url}/mcp")
        assert sent.startswith(f"{stage.url}/oauth/authorize?")
        back = await allow(stage, sent, "questions:ask", "data:read")
        came = await play("comeBack", to=back)
        assert set(came["scope"].split()) == {"questions:ask", "data:read"}
        listed = await play("list")
        assert ("ask_user_question" in listed, "propose_changes" in listed) == (True, False)
        asked = await play("call", tool="ask_user_question", arguments={"text": f"Through OAuth ({kind})?"})
        assert asked["result"]["structuredContent"]["questions"][0]["status"] == "pending"
        assert await play("expire") == {"tools": len(listed), "another": True}
        assert await play("refused") is False
        assert await remove_apps(stage) == ["Editor"]
        assert await play("refused") is True


@pytest.mark.requirement("M12")
@pytest.mark.parametrize("kind", list(NEWEST))
async def test_it_starts_askbus_mcp_and_one_call_waits(stage: Stage, agent: Agent, kind: str) -> None:
    """In the same revision as over HTTP; the call goes on through many holds of the gateway."""
    text = f"From TypeScript, started here ({kind})?"
    env = environment(stage.url, agent.token)
    async with playing(kind) as play:
        found = await play("start", command=sys.executable, args=["-c", RUN, "mcp", "--progress-every", "0.2"], env=env)
        assert found["server"] == "askbus"
        waiting = asyncio.ensure_future(play("call", tool="ask_user_question", arguments={"text": text, "wait_seconds": 600}))
        await stage.calls(agent, "get_question_answer", 2)
        await stage.answer(text, "yes")
        answered = await waiting
        assert answered["result"]["structuredContent"]["questions"][0]["answer"] == "yes"
        assert answered["heard"] == sorted(set(answered["heard"])) != []
        await play("close")
