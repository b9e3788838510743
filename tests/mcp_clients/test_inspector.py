"""The inspector, as its command line: by token, over `askbus mcp`, and through OAuth. Run by `make inspect`, which installs it."""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.frontends.stage import node
from tests.mcp_clients.people import allow, remove_apps
from tests.mcp_clients.stage import Stage
from tests.mcp_clients.wire import RUN, SOON, environment

from askbus.stack.ports import free_port
from askbus.testing.people import Agent

pytestmark = [pytest.mark.drill, pytest.mark.requirement("M11")]

PROGRAM = Path(__file__).parents[1] / "inspector/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ERAS = ("legacy", "modern")


async def start(home: Path, *words: str) -> Process:
    """The inspector, with a home of its own."""
    if not PROGRAM.is_file():
        pytest.skip("the inspector is not installed: `make inspect` does that where it reaches the registry")
    known = {"HOME": str(home), "PATH": os.environ["PATH"], "MCP_AUTO_OPEN_ENABLED": "true", "MCP_INSPECTOR_SECRET_STORE": "file"}
    return await asyncio.create_subprocess_exec(
        node(), PROGRAM, "--cli", *words, "--format", "json", env=known, cwd=home, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )


async def result(process: Process) -> Any:
    """What it printed."""
    async with asyncio.timeout(SOON):
        output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return json.loads(output)["result"]


def call(tool: str, arguments: object) -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


@pytest.mark.parametrize("era", ERAS)
async def test_it_lists_asks_and_is_answered_with_an_api_token(stage: Stage, agent: Agent, tmp_path: Path, era: str) -> None:
    """Its own look at the schemas finds nothing that would not travel; a call waits for the answer."""
    there = [f"{stage.url}/mcp", "--header", f"Authorization: Bearer {agent.token}", "--protocol-era", era]
    listed = await result(await start(tmp_path, *there, "--method", "tools/list", "--strict"))
    assert "ask_user_question" in [tool["name"] for tool in listed["tools"]]
    text = f"From the inspector ({era})?"
    asks = {"text": text, "dedupe_key": text, "wait_seconds": 600}
    first = await result(await start(tmp_path, *there, *call("ask_user_question", asks)))
    assert first["structuredContent"]["questions"][0]["status"] == "pending"
    await stage.answer(text, "yes")
    again = await result(await start(tmp_path, *there, *call("ask_user_question", asks)))
    assert again["structuredContent"]["questions"][0]["answer"] == "yes"


@pytest.mark.requirement("M12")
async def test_it_starts_askbus_mcp_and_one_call_waits(stage: Stage, agent: Agent, tmp_path: Path) -> None:
    """From a configuration file as agents have them."""
    env = environment(stage.url, agent.token)
    server = {"command": sys.executable, "args": ["-c", RUN, "mcp"], "env": env}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"askbus": server}}))
    text = "From the inspector, started here?"
    words = ["--config", str(config), "--server", "askbus", *call("ask_user_question", {"text": text, "wait_seconds": 600})]
    waiting = await start(tmp_path, *words)
    await stage.calls(agent, "get_question_answer", 2)
    await stage.answer(text, "yes")
    assert (await result(waiting))["structuredContent"]["questions"][0]["answer"] == "yes"


@pytest.mark.requirement("M3", "M4")
async def test_it_goes_through_oauth(stage: Stage, tmp_path: Path) -> None:
    """It registers and sends the person to the page of consent; what it was allowed it may do, with another token when the first is over,
    and no more once it is removed."""
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    words = ["--server-url", f"{stage.url}/mcp", "--callback-url", callback, "--method", "tools/list"]
    process = await start(tmp_path, *words)
    assert process.stderr is not None
    async with asyncio.timeout(SOON):
        said = ""
        while (found := re.search(rf"{re.escape(stage.url)}/oauth/authorize\?\S+", said)) is None:
            line = await process.stderr.readline()
            assert line, said
            said += line.decode()
    back = await allow(stage, found[0], "questions:ask")
    async with httpx2.AsyncClient() as browser:
        assert (await browser.get(back)).status_code == 200
    listed = await result(process)
    assert "ask_user_question" in [tool["name"] for tool in listed["tools"]]
    assert "propose_changes" not in [tool["name"] for tool in listed["tools"]]
    stored = [*words, "--stored-auth-only"]
    await stage.pool.execute("UPDATE oauth_access_tokens SET expires_at = now()")
    assert await result(await start(tmp_path, *stored)) == listed
    assert await stage.pool.fetchval("SELECT count(*) FROM oauth_access_tokens WHERE expires_at > now()") == 1
    assert len(await remove_apps(stage)) == 1
    refused = await start(tmp_path, *stored)
    await refused.communicate()
    assert refused.returncode != 0
