"""Frames around what others wrote: whatever it is, it stays inside."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.models.quoting import CODE, quoted, unquoted

pytestmark = pytest.mark.requirement("C23")

FRAME = re.compile(rf"<quoted ([0-9a-f]{{{CODE}}})>\n(.*)\n</quoted \1>", re.DOTALL)


@st.composite
def hostile(draw: st.DrawFn) -> str:
    """Text that tries to leave its frame: whole frames, their ends, ends of its own parts' frames, and anything else between them."""
    parts = draw(st.lists(st.text(max_size=20), min_size=1, max_size=4))
    pieces: list[str] = []
    for part in parts:
        known = quoted(part)
        ends = (known, known.rpartition("\n")[2], known.rpartition("\n")[2].upper(), "</quoted>", "</quoted 0>", "\n", part)
        pieces.append(draw(st.sampled_from(ends)))
    return draw(st.text(max_size=10)).join(pieces)


def closings(framed: str) -> int:
    """How often the code of the frame that `framed` is stands behind its first line."""
    first, _, rest = framed.partition("\n")
    code = first.removeprefix("<quoted ").removesuffix(">")
    return rest.casefold().count(code)


@given(hostile())
def test_no_text_can_close_its_frame(text: str) -> None:
    """The code that closes the frame stands once behind its opening: at its end. What was framed comes back as it was."""
    framed = quoted(text)
    assert closings(framed) == 1
    assert framed.endswith(f"\n</quoted {framed[8 : 8 + CODE]}>")
    assert unquoted(framed) == text


@given(hostile())
def test_a_frame_inside_a_frame_ends_where_it_ended(text: str) -> None:
    """Who quotes what was quoted before loses neither: each layer has a code of its own."""
    twice = quoted(quoted(text))
    outer = FRAME.fullmatch(twice)
    assert outer is not None
    assert outer[2] == quoted(text)
    assert unquoted(unquoted(twice)) == text


def test_a_text_that_holds_the_code_it_would_get_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can compute such a text in practice; the rule does not rest on that."""
    digests = iter(["a" * 64, "a" * 64, "b" * 64])

    class Digest:
        """Says what it is told to say."""

        def __init__(self, _data: bytes) -> None: ...

        def hexdigest(self) -> str:
            return next(digests)

    monkeypatch.setattr("hashlib.sha256", Digest)
    assert quoted("see AAAAAAAAAAAA").startswith("<quoted bbbbbbbbbbbb>")


@given(st.text(max_size=50))
def test_the_same_text_is_framed_the_same_way_in_every_request(text: str) -> None:
    """Providers cache a prefix byte by byte."""
    assert quoted(text) == quoted(text)


@pytest.mark.parametrize("text", ["", "plain", "<quoted abc>\nx\n</quoted abc>", "<quoted abc>\nx\n</quoted def>", '{"rows":[]}'])
def test_what_is_in_no_frame_of_ours_is_left_as_it_is(text: str) -> None:
    """Also where it looks like one: the code is not that of its text."""
    assert unquoted(text) == text
