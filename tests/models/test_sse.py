"""The event-stream parser, against the standard and against every way a network can cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.models.sse import LONGEST, EventStreamParser, EventTooLong, ServerSentEvent

pytestmark = pytest.mark.requirement("C16")

LINES = st.sampled_from(
    [
        "data: a",
        "data:b",
        "data:  c",
        "data",
        "data:",
        ": comment",
        ":",
        "event: ping",
        "event",
        "id: 7",
        "id: 8\0",
        "retry: 10",
        "x: y",
        "",
        "",
        "é: 1",
        "data: é😀\u2028",
    ]
)
ENDS = st.sampled_from(["\n", "\r", "\r\n"])


def parse(*reads: bytes) -> list[ServerSentEvent]:
    """The events of a stream that arrives in these pieces and then ends."""
    parser = EventStreamParser()
    return [event for read in reads for event in parser.feed(read)] + parser.close()


def by_the_standard(text: str) -> list[ServerSentEvent]:
    """The algorithm of the standard, on a whole text, written for reading."""
    events: list[ServerSentEvent] = []
    data: list[str] = []
    name, last_id = "", ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line in [*lines, ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if line == "":
            if data:
                events.append(ServerSentEvent(name or "message", "\n".join(data), last_id))
            name, data = "", []
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
    return events


def cut(data: bytes, at: list[int]) -> list[bytes]:
    """`data` cut at these places, taken modulo its length."""
    places = sorted(place % (len(data) + 1) for place in at)
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


@given(st.lists(st.tuples(LINES, ENDS), max_size=12), LINES, st.lists(st.integers(0, 400), max_size=8))
def test_events_are_those_of_the_standard_wherever_the_stream_is_cut(
    lines: list[tuple[str, str]], last: str, at: list[int]
) -> None:
    """Any mixture of line ends, cut anywhere, also inside a character and between CR and LF."""
    text = "".join(line + end for line, end in lines) + last
    assert parse(*cut(text.encode(), at)) == by_the_standard(text)


def test_crlf_cut_in_two_ends_one_line() -> None:
    """The LF that comes alone belongs to the CR before it, so no blank line arises."""
    assert parse(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [ServerSentEvent("message", "a\nb", "")]


def test_event_comes_out_at_its_blank_line() -> None:
    """A CR may be the end of the event: waiting for an LF would hold the event back until the next one."""
    parser = EventStreamParser()
    assert parser.feed(b"data: a\r\r") == [ServerSentEvent("message", "a", "")]
    assert parser.feed(b"\ndata: b\n") == []


@pytest.mark.parametrize(
    "reads", [[b"\xef\xbb\xbfdata: a\n\n"], [b"\xef", b"\xbb", b"\xbfdata: a\n\n"], [b"\xef\xbb\xbfdata: a"]]
)
def test_byte_order_mark_is_dropped_at_the_start(reads: list[bytes]) -> None:
    """Once, wherever it is cut."""
    assert parse(*reads) == [ServerSentEvent("message", "a", "")]


def test_byte_order_mark_elsewhere_is_part_of_the_line() -> None:
    """A later one is not dropped: it makes an unknown field."""
    assert parse(b"data: a\n\xef\xbb\xbfdata: b\n\n") == [ServerSentEvent("message", "a", "")]


def test_block_without_data_fires_nothing_and_forgets_its_name() -> None:
    """Keep-alives in any form are silent, and the id they set stays."""
    assert parse(b"event: ping\nid: 3\n\ndata: a\n\n") == [ServerSentEvent("message", "a", "3")]


def test_broken_utf8_is_replaced() -> None:
    """The stream goes on; the SDK's own decoder raises here."""
    assert parse(b"data: a\xff\n\n") == [ServerSentEvent("message", "a\N{REPLACEMENT CHARACTER}", "")]


def test_event_without_end_is_given_up() -> None:
    """A server that never ends its event does not fill the memory."""
    parser = EventStreamParser()
    piece = b"x" * (LONGEST // 4)
    for _ in range(4):
        parser.feed(piece)
    with pytest.raises(EventTooLong):
        parser.feed(b"x")


def test_long_stream_of_small_events_is_not_given_up() -> None:
    """The bound is for one event, not for the stream."""
    parser = EventStreamParser()
    event = b"data: " + b"x" * (LONGEST // 4) + b"\n\n"
    assert [len(parser.feed(event)) for _ in range(6)] == [1] * 6
