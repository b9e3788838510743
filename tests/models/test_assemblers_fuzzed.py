"""Whatever an endpoint sends ends in a completion or a ProviderError, and the deltas are the text."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.models.test_provider_cases import STREAMED, Case, assemble

from askbus.models.model import Completion

pytestmark = pytest.mark.requirement("C16")

WORDS = st.sampled_from(
    [
        "", "text", "thinking", "tool_use", "redacted_thinking", "text_delta", "thinking_delta", "signature_delta", "input_json_delta",
        "content_block_start", "content_block_delta", "content_block_stop", "message_start", "message_delta", "message_stop", "message",
        "error", "ping", "end_turn", "max_tokens", "refusal", "stop", "length", "tool_calls",
        "{}", '{"a":', "<think>", "</think>", "\ud83d", "a\0",
    ]
)  # fmt: skip
KEYS = st.sampled_from(
    [
        "type", "index", "delta", "content_block", "message", "content", "usage", "error", "text", "thinking", "signature", "data",
        "partial_json", "input", "id", "name", "stop_reason", "model", "input_tokens", "output_tokens", "cache_read_input_tokens",
        "choices", "tool_calls", "function", "arguments", "finish_reason", "reasoning_content", "reasoning_details", "extra_content",
        "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "role", "code", "status",
    ]
)  # fmt: skip
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.one_of(WORDS, st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.just(10**400)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
EVENTS = st.lists(st.dictionaries(KEYS, VALUES, max_size=5), max_size=8)
APIS = st.sampled_from(["openai", "anthropic"])


def check(api: str, reads: list[bytes]) -> None:
    """Any exception but ProviderError escapes from `assemble`."""
    texts, outcome = assemble(api, reads)
    said = outcome.text if isinstance(outcome, Completion) else outcome.partial_text
    assert "".join(texts) == said
    said.encode()
    if isinstance(outcome, Completion):
        stored = outcome.model_dump_json().replace("\\\\", "")
        assert "\\u0000" not in stored
        assert len({call.id for call in outcome.tool_calls}) == len(outcome.tool_calls)


@given(APIS, st.lists(st.binary(max_size=30), max_size=10))
def test_any_bytes(api: str, reads: list[bytes]) -> None:
    """Not even events."""
    check(api, reads)


@given(APIS, EVENTS)
def test_any_events_that_look_like_the_wires_own(api: str, events: list[dict[str, JsonValue]]) -> None:
    """Right words in wrong places, of both wires."""
    check(api, [f"data: {json.dumps(event)}\n\n".encode() for event in events])


@given(st.sampled_from(STREAMED), st.randoms(use_true_random=False))
def test_real_events_in_any_order_some_twice_some_never(case: Case, random: Random) -> None:
    """What a proxy with a bug would make of a real stream."""
    reads = [random.choice(case.reads) for _ in range(random.randrange(2 * len(case.reads)))]
    check(case.api, reads)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("depth", [50, 400, 900, 990, 2_000, 100_000])
def test_deep_nesting_is_an_answer_that_makes_no_sense_and_no_defect(api: str, depth: int) -> None:
    """Python's own limit lies somewhere there."""
    deep = "[" * depth + "]" * depth
    nested = '{"error":' * depth + '""' + "}" * depth
    for data in (
        f'{{"type":"content_block_start","content_block":{{"type":"tool_use","id":"a","name":"f","input":{{"a":{deep}}}}}}}',
        f'{{"choices":[{{"delta":{{"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{{"a":{deep}}}}}}}]}}}}]}}',
        f'{{"choices":[{{"delta":{{"reasoning_details":{deep}}}}}]}}',
        nested,
        deep,
    ):
        check(api, [f"data: {data}\n\n".encode(), b"data: [DONE]\n\n"])
