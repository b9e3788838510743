"""Inline reasoning is taken out of the text, wherever the stream is cut, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.models.think import ThinkFilter

pytestmark = pytest.mark.requirement("C17")

BITS = st.sampled_from(["<think>", "</think>", "<", "th", "ink>", "</thi", "nk>", " ", "\n", "`", "```", "a", "é", "<thinking>"])
STREAMS = st.lists(BITS, max_size=14)


def run(*pieces: str) -> tuple[str, str | None]:
    """The text and the reasoning of a stream in these pieces."""
    think = ThinkFilter()
    text = "".join([think.feed(piece) for piece in pieces]) + think.close()
    return text, think.reasoning


@given(STREAMS, st.data())
def test_cuts_change_nothing(bits: list[str], data: st.DataObject) -> None:
    """Text and reasoning depend on what was said, not on how it arrived."""
    whole = "".join(bits)
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)]
    assert run(*pieces) == run(whole) == run(*whole)


@given(STREAMS)
def test_text_without_a_leading_thought_is_untouched(bits: list[str]) -> None:
    """Byte for byte, whatever tags, fences and white space it holds."""
    whole = "".join(bits)
    if not whole.lstrip().startswith("<think>"):
        assert run(whole) == (whole, None)


@given(st.lists(st.text("ab \n<>/think", max_size=10), min_size=1, max_size=3), st.text("ab `<>\n", max_size=10))
def test_thoughts_never_reach_the_text(thoughts: list[str], answer: str) -> None:
    """All leading thoughts go, the whole answer stays, but for the white space between them."""
    thoughts = [thought.replace("</think>", "") for thought in thoughts]
    whole = "".join(f"<think>{thought}</think>\n" for thought in thoughts) + answer
    assert run(*whole) == (answer.lstrip(), "\n".join(thoughts))


def test_text_is_shown_as_soon_as_it_cannot_become_a_tag() -> None:
    """Only the start of a message can be held back, and only while it may still be the tag."""
    think = ThinkFilter()
    assert [think.feed(piece) for piece in ["<", "t", "able", " <think"]] == ["", "", "<table", " <think"]


@pytest.mark.parametrize("thought", ["a thought", "a thought </thi", "`</think>` in", "ends with `x`</think"])
def test_thought_never_closed_is_never_shown(thought: str) -> None:
    """The answer is then empty, which the turn notices; a thought is not an answer."""
    assert run("<think>" + thought) == ("", thought)


def test_closer_quoted_in_backticks_does_not_end_the_thought() -> None:
    """Ending it there would show the rest of the thought."""
    assert run("<think>the tag `</think>` closes</think>Yes.") == ("Yes.", "the tag `</think>` closes")
