"""Short lines made from what somebody said."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.threads.lines import LONGEST_MADE_TITLE, boundary, one_line, snippet, title_from

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
FLAGS = "🇩🇪🇫🇷🇮🇹🇪🇸"
THUMB = "👍\U0001f3fd"


@pytest.mark.requirement("C9")
@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("  How\n\nmany\t orders ?  ", "How many orders ?"),
        ("word " * 16 + "end", "word " * 15 + "word…"),
        ("a" * 79 + " b", "a" * 79 + "…"),
        ("x" * 200, "x" * 79 + "…"),
        ("中" * 90, "中" * 79 + "…"),
        ("a\x00b\x1bc", "a b c"),
        ("\u200b\u200d", ""),
    ],
)
def test_a_title_is_one_line_shortened_at_a_word(said: str, title: str) -> None:
    """White space and control characters are collapsed; a text without spaces is cut where it must be; of nothing seen, none."""
    assert title_from(said) == title


@pytest.mark.requirement("C9")
@pytest.mark.parametrize("sign", ["e\u0301", FAMILY, THUMB, "☝️", "1\u20e3", "🏴\U000e0067\U000e0062\U000e007f"])
def test_no_letter_and_no_emoji_is_cut_in_two(sign: str) -> None:
    """Wherever the end of a title falls in it, it is there whole or not at all."""
    for before in range(LONGEST_MADE_TITLE - 1 - len(sign), LONGEST_MADE_TITLE):
        kept = title_from("x" * before + sign * 3).rstrip("…").lstrip("x")
        assert kept == sign * (len(kept) // len(sign)), before


@pytest.mark.requirement("C9")
def test_flags_are_cut_between_flags() -> None:
    """A flag is two letters; half of one would be another's."""
    assert [boundary(FLAGS, at) for at in range(len(FLAGS))] == [0, 0, 2, 2, 4, 4, 6, 6]


@pytest.mark.requirement("C9")
@given(st.text(max_size=400))
def test_a_line_made_of_anything_is_short_and_on_one_line(text: str) -> None:
    """And what it shows of the text is a part of it."""
    title = title_from(text)
    assert len(title) <= LONGEST_MADE_TITLE
    assert not any(unicodedata.category(each) == "Cc" for each in title)
    assert one_line(text).startswith(title.removesuffix("…"))
    assert snippet(text, "a b").strip("…") in one_line(text)


@pytest.mark.requirement("C9")
def test_a_snippet_shows_the_place_that_was_found() -> None:
    """On one line, with a mark where something was left out, and as plain text: nothing in it is markup of ours."""
    text = "before " * 40 + "the <b>Needle</b>\n" + "after " * 60
    found = snippet(text, "needle")
    assert "the <b>Needle</b> after" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert len(found) < 220
