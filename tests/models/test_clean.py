"""What Postgres, JSON and UTF-8 cannot carry is replaced at one gate."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askbus.models.clean import DEEPEST, TextCleaner, clean_json, clean_text

ANY_TEXT = st.text(st.sampled_from(["a", "é", "\0", "\ud83d", "\ude00", "😀", "\ufffd"]), max_size=10)


@given(ANY_TEXT)
def test_cleaned_text_can_be_stored(text: str) -> None:
    """It encodes, holds no NUL, and cleaning it again changes nothing."""
    cleaned = clean_text(text)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert clean_text(cleaned) == cleaned


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_good_text_is_not_touched(text: str) -> None:
    """Most text, and it is not even copied."""
    assert clean_text(text) is text


@given(ANY_TEXT, st.lists(st.integers(0, 10), max_size=4))
def test_cuts_change_nothing(text: str, cuts: list[int]) -> None:
    """Also between the halves of an emoji."""
    places = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    cleaner = TextCleaner()
    assert "".join([cleaner.feed(piece) for piece in pieces]) + cleaner.close() == clean_text(text)


def test_halves_of_an_emoji_are_joined_and_lone_ones_replaced() -> None:
    """A half says that something was there."""
    assert clean_text("\ud83d\ude00 \ud83d \ude00") == "😀 \ufffd \ufffd"


def test_json_is_cleaned_in_keys_and_values() -> None:
    """At every depth."""
    assert clean_json({"a\0": ["\ud83d", {"b": "c\0"}], "n": 1.5}) == {"a\ufffd": ["\ufffd", {"b": "c\ufffd"}], "n": 1.5}


@pytest.mark.parametrize("text", ["NaN", "[-Infinity]", '{"a": 1e999}', "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)])
def test_json_that_others_refuse_is_refused(text: str) -> None:
    """Numbers that are not finite, and nesting that overruns the next library's recursion."""
    with pytest.raises(ValueError, match=r"finite|deep"):
        clean_json(json.loads(text))
