"""Any value, written as any language writes it, is found again; any text can be looked at."""

from decimal import Decimal
from time import process_time

import pytest
from babel.numbers import format_compact_decimal
from hypothesis import example, given
from hypothesis import strategies as st

from askbus.grounding.check import ungrounded
from askbus.grounding.known import Known
from askbus.grounding.words import LANGUAGES
from askbus.grounding.written import numbers
from askbus.records.display import Presentation, Style, display
from askbus.records.model import Kind

pytestmark = pytest.mark.requirement("R8")

LOCALES = (*LANGUAGES, "de-CH", "fr-CH", "en-IN", "es-MX", "de-AT", "ja")
values = st.decimals(min_value=0, max_value=10**12, places=2, allow_nan=False)
styles = st.sampled_from(
    [
        Style(kind=Kind.DECIMAL),
        Style(kind=Kind.DECIMAL, currency="EUR"),
        Style(kind=Kind.DECIMAL, currency="CHF"),
        Style(kind=Kind.DECIMAL, percent=True),
        Style(kind=Kind.DECIMAL, fraction=True),
        Style(kind=Kind.DECIMAL, unit="kg"),
        Style(kind=Kind.DECIMAL, plain=True),
    ]
)


@given(value=values, style=styles, locale=st.sampled_from(LOCALES))
def test_what_is_shown_of_a_value_has_that_value_as_its_source(value: Decimal, style: Style, locale: str) -> None:
    """Whatever the language: the exact value is enough, without its display text."""
    shown = display(str(value), style, Presentation(locale=locale))
    assert ungrounded(f"Es: {shown}.", Known([f'{{"rows":[["{value}"]]}}'])) == []
    assert [number.core for number in numbers(shown)]


@given(value=st.integers(min_value=1000, max_value=10**13), locale=st.sampled_from(LANGUAGES), digits=st.integers(0, 2))
@example(value=1_203_441, locale="de", digits=1)
def test_a_short_form_is_a_rounding_of_its_value(value: int, locale: str, digits: int) -> None:
    """Thousands and millions as CLDR abbreviates them, said to be about so much."""
    shown = format_compact_decimal(Decimal(value), format_type="long", locale=locale, fraction_digits=digits)
    assert ungrounded(f"~{shown}", Known([str(value)])) == [], shown


@given(value=st.integers(min_value=100, max_value=10**15), step=st.integers(min_value=1, max_value=9))
def test_another_whole_number_has_no_source(value: int, step: int) -> None:
    """However near it is, with or without groups."""
    for other in {value + step, value - step} - {value}:
        for shown in (str(other), f"{other:,}"):
            if not (1900 <= other <= 2100):
                assert [number.text for number in ungrounded(f"{shown} orders", Known([str(value)]))] == [shown]


@given(answer=st.text(st.characters(codec="utf-8") | st.sampled_from(" 0123456789.,'-%kM|#*`[]()\n:/€T"), max_size=120))
def test_any_text_can_be_looked_at(answer: str) -> None:
    """Every number that is named stands at its place, and has a source as soon as its user writes the same."""
    for number in ungrounded(answer, Known()):
        assert answer[number.start : number.end] == number.text
    assert ungrounded(answer, Known(words=[answer])) == []


@pytest.mark.parametrize(
    "piece", [" ", "\t", "1 January ", "https://x ", "www.x ", "1 ", "|1", "1. ", "(1)", "[1", "> ", "a-", "1-"]
)
def test_looking_takes_time_that_grows_with_the_text_alone(piece: str) -> None:
    """Whatever a tool returned, or a model repeats without end: where each character meant another walk over the rest, these would take
    minutes."""
    text = f"{piece * (20_000 // len(piece))}1"
    started = process_time()
    ungrounded(text, Known())
    ungrounded("7", Known([text], [text]))
    assert process_time() - started < 5


@pytest.mark.parametrize("result", ["[" * 100_000, '{"a":' * 50_000, "[" * 100_000 + "]" * 100_000])
def test_a_result_that_is_nested_without_end_is_a_text_like_any_other(result: str) -> None:
    """Nothing is counted in it, and the answer's numbers are looked up all the same."""
    assert [number.text for number in ungrounded("7 things, 8 of them new", Known([result, "8"]))] == ["7"]
