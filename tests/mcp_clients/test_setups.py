"""What people are told to write into the configuration of their agents: it is read, and connects."""

import asyncio
import json
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import click
import httpx2
import pytest
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.docs.render import ROOT
from tests.mcp_clients.stage import Stage
from tests.mcp_clients.wire import RUN, environment

from askbus.cli import main
from askbus.testing.people import Agent

pytestmark = pytest.mark.requirement("M11")

KNOWN = json.loads((ROOT / "services/askbus_gateway/console/static/agents.json").read_text("utf-8"))
SETUPS = [(agent["id"], setup) for agent in KNOWN["agents"] for setup in agent["setups"]]
ADDRESS = "https://askbus.example"
WRITTEN = ("${env:ASKBUS_TOKEN}", "${input:askbus-token}", "${ASKBUS_TOKEN}", "$ASKBUS_TOKEN", "YOUR_TOKEN")
"""How agents write a token in their configuration, the longest first."""
KEYS = {
    "claude-code": {"type", "url", "headers"},
    "claude-desktop": {"command", "args", "env"},
    "cursor": {"url", "headers", "command", "args", "env"},
    "vscode": {"type", "url", "headers", "command", "args", "env"},
    "codex": {"url", "bearer_token_env_var", "command", "args", "env", "tool_timeout_sec"},
    "gemini": {"httpUrl", "headers", "command", "args", "env", "timeout"},
    "any": {"command", "args", "env"},
}
"""What an entry of a server may hold, by the agents' own documentation."""


@dataclass(frozen=True)
class Setup:
    """How an agent would connect: by an address and headers, or by starting something."""

    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def signs_in(self) -> bool:
        return bool(self.url) and not self.headers


def entry(agent: str, setup: Any, token: str) -> Setup:
    """The one entry of a configuration file as its agent reads it, or the one command of a shell."""
    text = str(setup["text"])
    for written in WRITTEN:
        text = text.replace(written, token)
    match setup["kind"]:
        case "text":
            return Setup(url=text)
        case "shell":
            return command_of(shlex.split(text))
        case "toml":
            servers = tomllib.loads(text)["mcp_servers"]
        case _:
            servers = json.loads(text)["servers" if agent == "vscode" else "mcpServers"]
    [(name, said)] = servers.items()
    assert name == "askbus"
    assert said.keys() <= KEYS[agent]
    headers = said.get("headers", {})
    if said.get("bearer_token_env_var") == "ASKBUS_TOKEN":
        headers = {"Authorization": f"Bearer {token}"}
    command = (said["command"], *said["args"]) if "command" in said else ()
    return Setup(said.get("url") or said.get("httpUrl", ""), headers, command, said.get("env", {}))


def command_of(words: list[str]) -> Setup:
    """`claude mcp add [options] <name> <address>` or `… <name> -- <command>`."""
    assert words[:3] == ["claude", "mcp", "add"]
    options, command = (words[3:], []) if "--" not in words else (words[3 : words.index("--")], words[words.index("--") + 1 :])
    pairs = list(taken(options, "--env"))
    [transport] = taken(options, "--transport")
    assert (options[0], transport) == ("askbus", "stdio" if command else "http")
    return Setup("" if command else options[1], {}, tuple(command), dict(pair.split("=", 1) for pair in pairs))


def taken(options: list[str], name: str) -> Iterator[str]:
    """The values of an option, which are no longer there then."""
    while name in options:
        at = options.index(name)
        yield options[at + 1]
        del options[at : at + 2]


@pytest.mark.parametrize(("agent", "setup"), SETUPS, ids=[f"{agent}-{setup['way']}" for agent, setup in SETUPS])
def test_a_setup_is_one_that_its_agent_reads(agent: str, setup: Any) -> None:
    """It parses, has the keys that the agent knows, and names this server's address, or a command that there is, with its variables."""
    read = entry(agent, setup, "T")
    if setup["way"] == "http":
        assert (read.url, read.command) == (f"{ADDRESS}/mcp", ())
        assert read.headers in ({}, {"Authorization": "Bearer T"})
    else:
        assert (read.url, read.env) == ("", {"ASKBUS_URL": ADDRESS, "ASKBUS_TOKEN": "T"})
        program, name, *options = read.command
        command = main.get_command(click.Context(main), name)
        assert (program, name, command is None) == ("askbus", "mcp", False)
        assert command is not None
        command.make_context(name, options)


def test_every_agent_can_sign_in_or_send_a_token_and_says_how_long_it_waits() -> None:
    """Both ways for each, and nothing twice."""
    for agent in KNOWN["agents"]:
        assert [way for way in KNOWN["ways"] if any(setup["way"] == way for setup in agent["setups"])] == list(KNOWN["ways"])
        assert agent["waits"]
    assert len({agent["id"] for agent in KNOWN["agents"]}) == len(KNOWN["agents"]) == len(KEYS)


@pytest.mark.requirement("M12")
async def test_each_setup_connects(stage: Stage, agent: Agent) -> None:
    """With this deployment's address and a token, exactly as it stands there; those that sign in are told where."""
    read = [entry(name, {**setup, "text": setup["text"].replace(ADDRESS, stage.url)}, agent.token) for name, setup in SETUPS]
    apart = {(one.url, one.signs_in, one.command): one for one in read}
    assert len({one.command for one in read}) == 4
    await asyncio.gather(*(connects(one) for one in apart.values()))


async def connects(setup: Setup) -> None:
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=setup.headers, timeout=30))
        if setup.signs_in:
            refused = await http.post(setup.url, json={})
            assert (refused.status_code, "resource_metadata=" in refused.headers["www-authenticate"]) == (401, True)
            return
        if setup.url:
            client = Client(streamable_http_client(setup.url, http_client=http))
        else:
            env = {**environment("", ""), **setup.env}
            client = Client(
                stdio_client(StdioServerParameters(command=sys.executable, args=["-c", RUN, *setup.command[1:]], env=env))
            )
        connected = await stack.enter_async_context(client)
        assert "ask_user_question" in [tool.name for tool in (await connected.list_tools()).tools]
