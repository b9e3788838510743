"""What the bridge is made of: lines, headers, what may be sent twice, and a gateway that answers as networks make it answer."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.doors.over_mcp.talk import MODERN, said
from tests.mcp_clients.stage import Stage

from askbus.client.mcp.gateway import Answer, Gateway
from askbus.client.mcp.messages import KEYED, READS, Message, header_value, read_line
from askbus.client.mcp.stdio import lines_of
from askbus.errors import Internal, PermissionDenied, TimedOut, Unavailable
from askbus.testing.people import give_token
from askbus_gateway.mcp.protocol import decoded

pytestmark = pytest.mark.requirement("M12")

OK = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
FAILED = '{"content":[{"type":"text","text":"{\\"code\\":\\"unavailable\\",\\"message\\":\\"m\\"}"}],"isError":true}'
AWAY = f'{{"jsonrpc":"2.0","id":1,"result":{FAILED}}}'.encode()


def plain(body: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def stream(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + body


@asynccontextmanager
async def answering(*answers: bytes) -> AsyncIterator[tuple[Gateway, list[bytes]]]:
    """A server that answers each request with the next of these, and then closes the connection; and what it was sent."""
    left, seen = list(answers), list[bytes]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.partition(b":")[2]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        seen.append(head + await reader.readexactly(length))
        writer.write(left.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    gateway = Gateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", "askbus_x", patience=5)
    try:
        yield gateway, seen
    finally:
        await gateway.close()
        server.close()
        await server.wait_closed()


def calling(tool: str, **arguments: Any) -> Message:
    message = read_line(json.dumps(said("tools/call", {"name": tool, "arguments": arguments})["json"]).encode())
    assert message is not None
    return message


async def ask(gateway: Gateway, tool: str, **arguments: Any) -> tuple[Answer, list[bytes]]:
    heard: list[bytes] = []
    return await gateway.ask(calling(tool, **arguments), None, heard.append), heard


async def test_which_tools_may_be_called_twice_is_what_the_gateway_says_of_them(stage: Stage) -> None:
    """The reads by their hint; those that find what they made by a dedupe key that can be given; no others."""
    agent = await give_token(stage.pool, stage.company["owner"])
    async with stage.browser("owner") as client:
        client.headers["authorization"] = f"Bearer {agent.token}"
        tools = (await client.post("/mcp", **said("tools/list"))).json()["result"]["tools"]
    assert {tool["name"] for tool in tools if tool.get("annotations", {}).get("readOnlyHint")} == READS
    assert {tool["name"] for tool in tools if "dedupe_key" in tool["inputSchema"]["properties"]} == KEYED


@pytest.mark.parametrize("text", ["query_records", "né", " a", "a ", "a b", "", "=?base64?eA==?=", "a\nb", "\x7f", "日本"])
def test_the_gateway_reads_names_in_headers_as_they_were_meant(text: str) -> None:
    """Whatever a header cannot say is said in base64; nothing in it begins another header."""
    value = header_value(text)
    assert decoded(value.strip()) == text
    assert value.isascii()
    assert value.isprintable()


def test_lines_are_the_same_however_they_arrive() -> None:
    """In pieces of any size; one that is too long is left out and said to be; the last needs no end."""
    sent = b"one\r\n" + b"x" * 30 + b"\n\ntwo\n" + b"y" * 10
    for size in range(1, len(sent)):
        pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
        assert list(lines_of(pieces, 12)) == [b"one\r", None, b"", b"two", b"y" * 10]
    assert list(lines_of([b"z" * 13], 12)) == [None]


def test_questions_and_proposals_get_keys_where_they_have_none() -> None:
    """Each question of a set its own; a key that is there stays; a call that goes on with what a server remembers is left as it is."""
    assert calling("ask_user_question", text="?").with_keys("k").arguments == {"text": "?", "dedupe_key": "k"}
    both = calling("ask_user_question", questions=[{"text": "a"}, {"text": "b", "dedupe_key": "own"}]).with_keys("k")
    assert both.arguments == {"questions": [{"text": "a", "dedupe_key": "k 0"}, {"text": "b", "dedupe_key": "own"}]}
    assert both.repeatable
    assert json.loads(both.line)["params"]["arguments"] == both.arguments
    assert both.headers(None) == {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "ask_user_question"}
    for tool, repeatable in (("query_records", True), ("cancel_question", False), ("anything_else", False)):
        assert calling(tool).with_keys("k").arguments == {}
        assert calling(tool).repeatable is repeatable
    going_on = calling("ask_user_question", text="?").with_params(requestState="s")
    assert (going_on.with_keys("k"), going_on.repeatable) == (going_on, False)


async def test_streams_are_read_as_networks_deliver_them() -> None:
    """Comments, either kind of line end, an answer over several lines, which becomes one; what came before it is passed on."""
    told = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}'
    sent = b": hello\r\n\r\nevent: message\r\ndata: " + told + b'\r\n\r\ndata: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n'
    async with answering(stream(sent)) as (gateway, seen):
        answer, heard = await ask(gateway, "query_records")
    assert (json.loads(answer.line), b"\n" in answer.line, heard) == ({"jsonrpc": "2.0", "id": 1, "result": {}}, False, [told])
    assert b"POST /mcp HTTP/1.1" in seen[0]
    assert b"mcp-name: query_records" in seen[0]


@pytest.mark.parametrize(
    "passing",
    [b"", stream(b": hello\n\n"), plain(b"<html>", "502 Bad Gateway", "text/html"), plain(b'{"code":"unavailable","message":"m"}', "503 x"),
     plain(AWAY), plain(b'{"code":"rate_limited","message":"m","details":{"retry_after":0.01}}', "429 x")],
)  # fmt: skip
async def test_what_may_be_sent_twice_is_sent_until_it_is_answered(passing: bytes) -> None:
    """A connection that ends, an answer that is cut, something in front that is lost, a gateway or a service that is not there."""
    async with answering(passing, passing, plain(OK)) as (gateway, seen):
        answer, _heard = await ask(gateway, "query_records")
        assert (answer.line, len(seen)) == (OK, 3)


@pytest.mark.parametrize("lost", [b"", stream(b": hello\n\n"), plain(b"<html>", "504 Gateway Timeout", "text/html")])
async def test_what_may_not_be_sent_twice_says_that_it_may_have_happened(lost: bytes) -> None:
    """Sent once; where it never arrived, it is sent again all the same."""
    async with answering(lost) as (gateway, seen):
        with pytest.raises(TimedOut, match="may have happened"):
            await ask(gateway, "cancel_question", id="x")
        assert len(seen) == 1
    unreachable = Gateway("http://127.0.0.1:1", "askbus_x", patience=0)
    with pytest.raises(Unavailable, match="cannot be reached"):
        await ask(unreachable, "cancel_question", id="x")
    await unreachable.close()


async def test_what_is_no_askbus_and_what_is_refused_is_told_at_once() -> None:
    """A page, a redirect (which would carry the token elsewhere), a switch that an admin turned."""
    moved = b"HTTP/1.1 307 x\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
    off = plain(b'{"code":"permission_denied","message":"Switched off."}', "403 x")
    async with answering(plain(b"<html>", kind="text/html"), moved, off) as (gateway, seen):
        for kind in (Internal, Internal, PermissionDenied):
            with pytest.raises(kind):
                await ask(gateway, "query_records")
        assert len(seen) == 3


async def test_a_call_that_is_cancelled_closes_its_response() -> None:
    """Which is how the gateway hears of it."""
    begun, closed = asyncio.Event(), asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(stream(b": waiting\n\n"))
        begun.set()
        while await reader.read(1024):
            pass
        closed.set()
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    gateway = Gateway(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "askbus_x")
    waiting = asyncio.create_task(ask(gateway, "query_records"))
    async with asyncio.timeout(30):
        await begun.wait()
        waiting.cancel()
        await closed.wait()
    await gateway.close()
    server.close()
    await server.wait_closed()
