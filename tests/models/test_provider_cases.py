"""Streams that broke other systems, through the parser and the assembler, and through the real SDKs.

P cases are rebuilt from reports, W cases are our own of the same kind.
"""

import base64
import json
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic import JsonValue

from askbus.models.anthropic_adapter import AnthropicModel
from askbus.models.anthropic_assembler import AnthropicAssembler
from askbus.models.config import ModelConfig
from askbus.models.model import Completion, JsonObject, Model, ModelRequest, ProviderError, TextDelta, Usage, UserMessage
from askbus.models.openai_adapter import OpenAIModel
from askbus.models.openai_assembler import OpenAIAssembler
from askbus.models.sse import EventStreamParser
from askbus.models.streaming import Tries

FOLDER = Path(__file__).parent.parent / "cases" / "providers"
REASONING = ("reasoning_content", "reasoning", "inline_reasoning")
ASSEMBLERS: dict[str, type[OpenAIAssembler] | type[AnthropicAssembler]] = {
    "openai": OpenAIAssembler,
    "anthropic": AnthropicAssembler,
}

pytestmark = pytest.mark.requirement("C16")


@dataclass(frozen=True)
class Case:
    """One stream: `reads` are the network's pieces, `expected` the neutral outcome."""

    id: str
    api: str
    content_type: str
    reads: tuple[bytes, ...]
    expected: dict[str, JsonValue]


def provider_cases() -> list[Case]:
    """All of them, by name."""
    return [_read(path) for path in sorted(FOLDER.glob("*.json"))]


def _read(path: Path) -> Case:
    case = json.loads(path.read_text())
    reads = (
        [base64.b64decode(read) for read in case["reads_b64"]]
        if "reads_b64" in case
        else [read.encode() for read in case["reads"]]
    )
    return Case(case["id"], case["api"], case["content_type"], tuple(reads), case["expected"])


def check(case: Case, texts: list[str], outcome: Completion | ProviderError) -> None:
    """The outcome of a stream, and the texts that were shown on the way, are what the case wants."""
    expected = case.expected
    assert "".join(texts) == expected["text"]
    assert "" not in texts
    assert _usage(outcome.usage, expected["usage"]) == expected["usage"]
    if isinstance(outcome, ProviderError):
        error = expected["error"]
        assert isinstance(error, dict), outcome
        assert expected["finish"] == "error"
        assert outcome.retryable == error["retryable"]
        assert str(error["contains"]) in outcome.detail
        assert outcome.partial_text == expected["text"]
        return
    assert expected["error"] is None
    assert outcome.text == expected["text"]
    assert outcome.finish == expected["finish"]
    assert list(outcome.warnings) == expected.get("warnings", [])
    data = outcome.provider_data.data if outcome.provider_data else {}
    assert _reasoning(data) == expected["reasoning"]
    if "provider_data" in expected:
        assert data == expected["provider_data"]
    _check_calls(expected["tool_calls"], outcome)


def _check_calls(expected: JsonValue, outcome: Completion) -> None:
    assert isinstance(expected, list)
    wanted = [
        {"arguments_error": False, "truncated": False, "extra": None, **call} for call in expected if isinstance(call, dict)
    ]
    got = [
        call.model_dump(include={"id", "name", "arguments", "truncated", "extra"})
        | {"arguments_error": call.arguments_error is not None}
        for call in outcome.tool_calls
    ]
    assert got == wanted


def _usage(usage: Usage | None, wanted: JsonValue) -> JsonValue:
    if usage is None:
        return None
    told = {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens}
    return {name: count for name, count in told.items() if isinstance(wanted, dict) and name in wanted}


def _reasoning(data: JsonObject) -> JsonValue:
    blocks = data.get("blocks")
    if isinstance(blocks, list):
        thoughts = [str(block["thinking"]) for block in blocks if isinstance(block, dict) and block.get("thinking")]
        return "\n".join(thoughts) or None
    return next((data[name] for name in REASONING if name in data), None)


CASES = provider_cases()
STREAMED = [case for case in CASES if case.content_type != "application/json"]


def assemble(api: str, reads: Iterable[bytes]) -> tuple[list[str], Completion | ProviderError]:
    """The texts and the outcome of a stream that arrives in these pieces."""
    parser, assembler = EventStreamParser(), ASSEMBLERS[api]("test", "m")
    texts: list[str] = []
    try:
        for read in [*reads, None]:
            events = parser.close() if read is None else parser.feed(read)
            texts.extend(text for event in events if (text := assembler.feed(event.data)))
        if text := assembler.close():
            texts.append(text)
    except ProviderError as error:
        return texts, error
    return texts, assembler.completion()


def cut_at_random(data: bytes, seed: int) -> list[bytes]:
    """`data` in up to twelve pieces."""
    chance = random.Random(seed)
    cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(12)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.id)
def test_case_comes_out_right_in_every_chunking(case: Case) -> None:
    """As it was sent, byte by byte, all at once, and cut anywhere."""
    whole = b"".join(case.reads)
    check(case, *assemble(case.api, case.reads))
    check(case, *assemble(case.api, (whole[at : at + 1] for at in range(len(whole)))))
    check(case, *assemble(case.api, [whole]))
    for seed in range(20):
        check(case, *assemble(case.api, cut_at_random(whole, seed)))


class Replay(httpx2.AsyncByteStream):
    """A response's body in these network reads."""

    def __init__(self, reads: Iterable[bytes]) -> None:
        self._reads = reads

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._reads:
            yield read


def chunkings(case: Case) -> list[tuple[bytes, ...]]:
    """As it was sent, byte by byte, all at once, and cut anywhere."""
    whole = b"".join(case.reads)
    return [case.reads, tuple(whole[at : at + 1] for at in range(len(whole))), (whole,), tuple(cut_at_random(whole, 1))]


def opened(case: Case, http: httpx2.AsyncClient) -> Model:
    """An adapter of the case's wire over this client."""
    config, tries = ModelConfig(model="m"), Tries(retries=0)
    if case.api == "anthropic":
        client = AsyncAnthropic(base_url="http://provider.test", api_key="key", http_client=http, open_telemetry=False)
        return AnthropicModel(client, config, tries)
    return OpenAIModel(AsyncOpenAI(base_url="http://provider.test/v1", api_key="key", http_client=http), config, tries)


async def ask(model: Model) -> tuple[list[str], Completion | ProviderError]:
    """The texts and the outcome of one question."""
    texts: list[str] = []
    try:
        async with aclosing(model.stream(ModelRequest(system="", messages=(UserMessage(text="q"),)))) as events:
            async for event in events:
                if isinstance(event, Completion):
                    return texts, event
                assert isinstance(event, TextDelta)
                texts.append(event.text)
    except ProviderError as error:
        return texts, error
    raise AssertionError("the stream ended without an outcome")


@pytest.mark.requirement("C15")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_case_comes_out_right_through_the_sdk(case: Case) -> None:
    """The adapters read the SDKs' raw responses, so the SDKs' own parsing cannot spoil them."""
    left = chunkings(case)

    def respond(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": case.content_type}, stream=Replay(left.pop()))

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(respond)) as http:
        model = opened(case, http)
        while left:
            check(case, *await ask(model))
