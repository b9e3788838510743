"""`askbus mcp`: the MCP server of a deployment over standard input and output."""

import asyncio
import sys
from typing import Any, Literal

import httpx2
import pytest
from click.testing import CliRunner
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.client.cable import cable_to
from tests.mcp_clients.stage import Stage
from tests.mcp_clients.wire import GREETING, META, RUN, environment, question, started

from askbus.access import verbs as access
from askbus.access.model import Scope
from askbus.cli import main
from askbus.testing.people import Agent, give_token
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("M12")

ERAS: list[tuple[Literal["legacy", "auto"], str]] = [("auto", "2026-07-28"), ("legacy", "2025-11-25")]


@pytest.mark.requirement("M11")
@pytest.mark.parametrize(("mode", "revision"), ERAS)
async def test_the_official_client_finds_the_same_server_over_it(
    stage: Stage, agent: Agent, mode: Literal["legacy", "auto"], revision: str
) -> None:
    """In both eras: the list that the gateway gives this token, results that fit the declared shapes, one call that waits through many
    holds of the gateway with progress that grows, and the calls in the audit log under the token."""
    heard: list[tuple[float, float | None]] = []
    text = f"Over standard input ({mode})?"

    async def heard_of(progress: float, total: float | None, message: str | None) -> None:
        assert message == "Waiting for a person."
        heard.append((progress, total))

    command = StdioServerParameters(
        command=sys.executable, args=["-c", RUN, "mcp", "--progress-every", "0.2"], env=environment(stage.url, agent.token)
    )
    over_http = httpx2.AsyncClient(headers={"authorization": f"Bearer {agent.token}"}, timeout=30)
    async with (
        over_http,
        Client(streamable_http_client(f"{stage.url}/mcp", http_client=over_http), mode=mode) as directly,
        Client(stdio_client(command), mode=mode) as client,
    ):
        assert client.protocol_version == directly.protocol_version == revision
        listed = [(tool.name, tool.input_schema) for tool in (await client.list_tools()).tools]
        assert listed == [(tool.name, tool.input_schema) for tool in (await directly.list_tools()).tools]
        arguments = {"text": text, "options": ["yes", "no"], "wait_seconds": 600}
        waiting = asyncio.ensure_future(client.call_tool("ask_user_question", arguments, progress_callback=heard_of))
        await stage.calls(agent, "get_question_answer", 2)
        question_id = await stage.answer(text, "yes")
        result = await waiting
        [found] = result.structured_content["questions"]
        assert (found["id"], found["answer"]) == (str(question_id), "yes")
        again = await client.call_tool("get_question_answer", {"ids": [found["id"]]})
        assert again.structured_content["questions"] == [found]
        wrong = await client.call_tool("ask_user_question", {"text": ""})
        assert wrong.is_error
    assert heard == sorted(set(heard))
    assert {total for _done, total in heard} == {600}


@pytest.mark.requirement("Q2", "M9")
async def test_waits_go_on_through_restarts_of_the_gateway_and_cut_connections(stage: Stage, agent: Agent) -> None:
    """A question whose answer to the ask was cut on its way, one whose gateway stopped and came back, a proposal's question in a set: each
    is asked once, and its one call returns what people said, in any order, while other calls are answered."""
    async with cable_to(stage.url) as cable, started(f"http://127.0.0.1:{cable.port}", agent.token, "--verbose") as wire:
        wire.ask("initialize", GREETING)
        assert (await wire.hear())["result"]["protocolVersion"] == "2025-11-25"
        first = wire.call("ask_user_question", {"text": "Cut off?", "wait_seconds": 600})
        await stage.asked("Cut off?")
        cable.cut()
        several = wire.call("ask_user_question", {"questions": [{"text": "Left?"}, {"text": "Right?"}], "wait_seconds": 600})
        cable.mend()
        await stage.asked("Right?")
        async with stage.without_gateway():
            early = wire.call("get_question_answer", {"ids": [str(await stage.asked("Cut off?"))]})
        assert (await wire.hear())["id"] == early
        for text, answer in (("Left?", "l"), ("Right?", "r")):
            await stage.answer(text, answer)
        together = await wire.hear()
        assert together["id"] == several
        assert [one["answer"] for one in together["result"]["structuredContent"]["questions"]] == ["l", "r"]
        await stage.answer("Cut off?", "no")
        last = await wire.hear()
        assert (last["id"], question(last)["answer"]) == (first, "no")
        assert await wire.end() == 0
        assert "Trying again." in await wire.said()
    assert await stage.pool.fetchval("SELECT count(*) FROM questions WHERE text = ANY($1)", ["Cut off?", "Left?", "Right?"]) == 3


async def test_a_wait_that_nobody_answers_ends_in_its_time_with_the_question_open(stage: Stage, agent: Agent) -> None:
    """After what was asked for, or what its client bears, and not after what the gateway holds; the later era's headers are made from each
    message."""
    async with started(stage.url, agent.token, "--hold", "1.5") as wire:
        meta: dict[str, Any] = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
        wire.ask("server/discover", **meta)
        assert (await wire.hear())["result"]["supportedVersions"][0] == "2026-07-28"
        began = asyncio.get_running_loop().time()
        wire.call("ask_user_question", {"text": "Nobody?", "wait_seconds": 600}, **meta)
        answer = await wire.hear()
        assert asyncio.get_running_loop().time() - began >= 1.4
        assert (question(answer)["status"], answer["result"]["resultType"]) == ("pending", "complete")
        assert answer["result"]["structuredContent"]["ask_again_after"] > 0
        wire.call("né", {}, **meta)
        assert (await wire.hear())["error"]["code"] == -32602


@pytest.mark.requirement("M9")
async def test_a_cancelled_call_is_not_answered_and_the_end_of_the_input_ends_it(stage: Stage, agent: Agent) -> None:
    """The question stays, and is answered later; whatever else runs at the end of the input is given up as well."""
    async with started(stage.url, agent.token) as wire:
        wire.ask("initialize", GREETING)
        cancelled = wire.call("ask_user_question", {"text": "Never mind?", "wait_seconds": 600})
        wire.call("ask_user_question", {"text": "Left alone?", "wait_seconds": 600})
        await stage.asked("Never mind?")
        wire.notify("notifications/cancelled", {"requestId": cancelled, "reason": "The user went on."})
        ping = wire.ask("ping")
        assert [(await wire.hear())["id"] for _ in range(2)] == [1, ping]
        await stage.answer("Never mind?", "too late")
        wire.call("list_open_questions", {})
        listed = (await wire.hear())["result"]["structuredContent"]["questions"]
        assert [one["text"] for one in listed] == ["Left alone?"]
        assert await wire.end() == 0
        assert await wire.stdout.read() == b""
        assert await wire.said() == ""


async def test_lines_that_are_no_messages_are_answered_with_what_is_wrong(stage: Stage, agent: Agent) -> None:
    """Whatever stands in them, the next line is read; ends of lines of either kind, a mark of byte order, an empty line."""
    lines = [
        (b"{nonsense", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\xff"}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b"[" * 5000 + b"]" * 5000 + b"}", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\u0000"}}', -32700),
        (b'"' + b"x" * (5 << 20) + b'"', -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600),
        (b"[]", -32600),
    ]
    async with started(stage.url, agent.token) as wire:
        wire.write(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":"first","method":"ping"}\r\n\r\n\n{"jsonrpc":"2.0","id":7,"result":{}}\n')
        assert await wire.hear() == {"jsonrpc": "2.0", "id": "first", "result": {}}
        for line, code in lines:
            wire.write(line + b"\n")
            assert (await wire.hear())["error"]["code"] == code, line[:80]
        large = wire.ask("ping", {"x": "y" * (2 << 20)})
        refused = await wire.hear()
        assert (refused["id"], refused["error"]["data"]["code"]) == (large, "too_large")
        wire.write(b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]\n[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n')
        assert await wire.hear() == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.requirement("M2", "I3")
async def test_a_token_that_does_not_count_is_said_once_and_ends_it(stage: Stage) -> None:
    """A wrong one at the first request; one that is revoked while calls wait at each of them. A scope that it lacks is told and no end."""
    async with started(stage.url, "askbus_wrong") as wire:
        first = wire.ask("initialize", GREETING)
        refused = await wire.hear()
        assert (refused["id"], refused["error"]["data"]["code"]) == (first, "unauthenticated")
        assert await wire.process.wait() == 77
        assert (await wire.said()).count("refused this token") == 1
    agent = await give_token(stage.pool, stage.company["mia"], (Scope.QUESTIONS_ASK,))
    async with started(stage.url, agent.token) as wire:
        lacking = wire.call("query_records", {"collection": "customers"})
        told = await wire.hear()
        assert (told["id"], told["error"]["data"]) == (lacking, {"scope": "data:read"})
        waits = {wire.call("ask_user_question", {"text": text, "wait_seconds": 600}) for text in ("Still mine?", "Mine too?")}
        for text in ("Still mine?", "Mine too?"):
            await stage.asked(text)
        await access.revoke_token(stage.pool, stage.company["mia"].principal, agent.id)
        answers = [await wire.hear() for _ in waits]
        assert {answer["id"] for answer in answers} == waits
        assert {answer["error"]["data"]["code"] for answer in answers} == {"unauthenticated"}
        assert await wire.process.wait() == 77
        assert await wire.stdout.read() == b""
        assert (await wire.said()).count("refused this token") == 1


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("", "askbus_x", "Set ASKBUS_URL"),
        ("http://127.0.0.1:9", "", "Set ASKBUS_TOKEN"),
        ("askbus.example", "askbus_x", "it starts with https://"),
        ("http://127.0.0.1:9", "askbus_x\nx-evil: 1", "characters that no token has"),
    ],
)
def test_a_wrong_call_ends_at_once(url: str, token: str, words: str) -> None:
    """Nothing on standard output, where a client reads; the token nowhere."""
    ended = CliRunner().invoke(main, ["mcp"], env={"ASKBUS_URL": url, "ASKBUS_TOKEN": token})
    assert ended.exit_code in {1, 2}
    assert ended.stdout == ""
    assert words in ended.stderr
    assert "askbus_x" not in ended.stderr


async def test_who_stops_reading_ends_it(stage: Stage, agent: Agent) -> None:
    """A client that died without closing anything but its own end of the pipe."""
    async with started(stage.url, agent.token) as wire:
        ping = wire.ask("ping")
        assert (await wire.hear())["id"] == ping
        transport = wire.process._transport  # type: ignore[attr-defined]  # asyncio closes no reading end by name
        transport.get_pipe_transport(1).close()

        async def ended() -> bool:
            if wire.process.returncode is None and not wire.stdin.is_closing():
                wire.ask("ping")
            return wire.process.returncode is not None

        await until(ended)
        assert wire.process.returncode == 0
