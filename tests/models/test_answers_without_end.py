"""Endpoints that send more than anybody means: words, calls and errors without end."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx2
import pytest
from tests.models.test_tries import ANSWERS, STREAM, Respond, one_after_the_other, opened

from askbus.models import streaming
from askbus.models.adapters import Models
from askbus.models.assembler import MOST_CHARACTERS, MOST_PARTS
from askbus.models.faults import LONGEST_DETAIL
from askbus.models.model import Fault, ProviderError
from askbus.runtime.settings import Settings
from askbus.testing.answers import answer, asking

SPEAKS = {
    "openai": b'data: {"choices":[{"delta":{"content":"x"}}]}\n\n',
    "anthropic": b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}\n\n',
}
CALLS = {
    "openai": 'data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"q","arguments":"{}"}}]}}]}\n\n',
    "anthropic": 'data: {"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":"q","input":{}}}\n\n',
}


@pytest.mark.requirement("C16")
@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_stream_that_never_ends_is_given_up(wire: str, begins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of words, or of comments: neither memory nor the turn's whole time goes to an endpoint that has lost its mind."""
    monkeypatch.setattr(streaming, "LARGEST_ANSWER", 1 << 20)

    async def endless() -> AsyncIterator[bytes]:
        piece = (SPEAKS[wire] if begins else b": nothing\n\n") * 4000
        while True:
            yield piece

    respond, _ = one_after_the_other(httpx2.Response(200, headers=STREAM, content=endless()))
    async with opened(wire, respond, retries=0) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q"))
    assert caught.value.fault is Fault.BAD_RESPONSE
    assert "response of more than" in caught.value.detail


@pytest.mark.requirement("C16")
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_calls_without_number_are_no_answer(wire: str) -> None:
    """Each would be run."""

    def answering(most: int) -> Respond:
        calls = "".join(CALLS[wire] % (number, number) for number in range(most)).encode()
        return one_after_the_other(httpx2.Response(200, headers=STREAM, content=calls + ANSWERS[wire]))[0]

    async with opened(wire, answering(MOST_PARTS - 1), retries=0) as model:
        assert len((await answer(model, asking("q")))[1].tool_calls) == MOST_PARTS - 1
    async with opened(wire, answering(MOST_PARTS + 1), retries=0) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q"))
    assert caught.value.fault is Fault.BAD_RESPONSE


LONG = {
    ("openai", "text"): 'data: {"choices":[{"delta":{"content":"%s"}}]}\n\n',
    ("anthropic", "text"): 'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}\n\n',
    (
        "openai",
        "call",
    ): 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"q","arguments":"%s"}}]}}]}\n\n',
    (
        "anthropic",
        "call",
    ): 'data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}\n\n',
}


@pytest.mark.requirement("C16")
@pytest.mark.parametrize(("wire", "what"), LONG)
async def test_what_is_longer_than_any_answer_is_none(wire: str, what: str) -> None:
    """It would be kept, shown and given to a tool, whose process has others to serve."""
    piece = (LONG[wire, what] % ("x" * (MOST_CHARACTERS // 2))).encode()
    respond, _ = one_after_the_other(httpx2.Response(200, headers=STREAM, content=piece * 3 + ANSWERS[wire]))
    async with opened(wire, respond, retries=0) as model:
        with pytest.raises(ProviderError) as caught:
            await answer(model, asking("q"))
    assert caught.value.fault is Fault.BAD_RESPONSE
    assert f"{MOST_CHARACTERS} characters" in caught.value.detail


@pytest.mark.requirement("C22")
@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_no_more_of_a_refusal_is_read_than_a_log_needs(wire: str) -> None:
    """However long it is, and however much longer once it is unpacked: what is not read is not kept, and not logged."""
    packed = gzip.compress(bytes(64 << 20))

    async def refuse(reads: asyncio.StreamReader, writes: asyncio.StreamWriter) -> None:
        await reads.readuntil(b"\r\n\r\n")
        writes.write(b"HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writes.write(packed)
                await writes.drain()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        chosen = {"default": {"provider": wire, "base_url": endpoint, "model": "m", "api_key": "k"}}
        models = Models(Settings.load(database_url="postgresql://x", nats_url="nats://x", models=chosen))
        async with asyncio.timeout(20):
            with pytest.raises(ProviderError) as caught:
                await answer(models.of(None), asking("q"))
        await models.close()
    assert caught.value.fault is Fault.BAD_REQUEST
    assert len(caught.value.detail) <= LONGEST_DETAIL
