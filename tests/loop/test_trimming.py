"""What of a conversation is sent: whatever it is, whole exchanges, within the bounds, the current one among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.models.model import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from askbus.models.quoting import quoted, unquoted
from askbus_agent_loop.trimming import KEPT, Exchange, PromptTooLong, size_of, trimmed

pytestmark = pytest.mark.requirement("C13", "C4")

TEXT = st.text(max_size=60)
RESULT = st.one_of(TEXT, TEXT.map(quoted), st.integers(0, 6_000).map(lambda size: quoted("é" * size)))


@st.composite
def exchange(draw: st.DrawFn) -> Exchange:
    """A message, and some steps of calls with their results, some of them large."""
    messages: list[Message] = [UserMessage(text=draw(TEXT))]
    for step in range(draw(st.integers(0, 3))):
        ids = [f"{step}-{position}" for position in range(draw(st.integers(0, 3)))]
        calls = tuple(ToolCall.read(id=name, name="query_records", arguments_text="{}") for name in ids)
        messages.append(AssistantMessage(text=draw(TEXT), tool_calls=calls))
        messages += [ToolResult(call_id=name, name="query_records", text=draw(RESULT)) for name in ids]
    return tuple(messages)


@given(st.lists(exchange(), min_size=1, max_size=6), st.integers(1, 6), st.integers(200, 30_000))
def test_the_latest_exchanges_that_fit_are_sent_whole(exchanges: list[Exchange], most: int, room: int) -> None:
    """Not more than either bound; none left out between two that are sent; of the current one every message, in its place."""
    try:
        sent = trimmed(exchanges, most=most, room=room)
    except PromptTooLong:
        return
    assert 1 <= len(sent) <= most
    assert size_of([message for each in sent for message in each]) <= room
    assert sent[:-1] == exchanges[len(exchanges) - len(sent) : -1]
    current, original = sent[-1], exchanges[-1]
    assert [type(message) for message in current] == [type(message) for message in original]
    changed = [(now, before) for now, before in zip(current, original, strict=True) if now != before]
    for now, before in changed:
        assert isinstance(now, ToolResult)
        assert isinstance(before, ToolResult)
        assert (now.call_id, now.error) == (before.call_id, before.error)
        beginning, mark = now.text.rsplit("\n", 1)
        assert mark.startswith("[shortened: ")
        assert unquoted(before.text).startswith(unquoted(beginning))
        assert len(unquoted(beginning).encode()) <= KEPT
    if len(sent) < min(most, len(exchanges)):
        assert size_of([*exchanges[-len(sent) - 1], *(message for each in sent for message in each)]) > room


@given(exchange(), st.integers(0, 3_000))
def test_nothing_is_shortened_before_it_must_be_and_then_the_oldest_first(current: Exchange, less: int) -> None:
    """What fits stands as it is; else the results after the first one that was left as it is are left as well."""
    assert trimmed([current], most=1, room=size_of(current)) == [current]
    try:
        [sent] = trimmed([current], most=1, room=size_of(current) - less)
    except PromptTooLong:
        return
    pairs = [(now, before) for now, before in zip(sent, current, strict=True) if isinstance(before, ToolResult)]
    large = [now == before for now, before in pairs if len(before.text.encode()) > 2 * KEPT]
    assert large == sorted(large)


def test_what_is_too_large_without_any_result_is_told_by_its_size() -> None:
    """A message of the user's is not cut."""
    with pytest.raises(PromptTooLong) as raised:
        trimmed([(UserMessage(text="x" * 1_000),)], most=5, room=500)
    assert (raised.value.room, raised.value.size > 1_000) == (500, True)
