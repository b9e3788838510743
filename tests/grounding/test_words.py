"""The words that multiply, and the months, are those of CLDR."""

import re

import pytest
from babel import Locale

from askbus.grounding.words import LANGUAGES, MONTHS, SCALES, SHORT_MONTHS

pytestmark = pytest.mark.requirement("R8")


def compact_words(language: str) -> set[tuple[str, int]]:
    """The words of a language's compact numbers, each with what it multiplies by."""
    found = set()
    for forms in Locale.parse(language).compact_decimal_formats.values():
        for plural in forms.values():
            for size, pattern in plural.items():
                first = pattern.pattern.split(";")[0]
                word = re.sub(r"[0\s'\u2019\u00a0]", "", first).strip(".").lower()
                if word.isalpha() and "0" in first:
                    found.add((word, int(size) // 10 ** (first.count("0") - 1)))
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_that_multiplies_is_known(language: str) -> None:
    """With each of its meanings; single letters and what Babel cannot take apart aside."""
    words = {(word, factor) for word, factor in compact_words(language) if len(word) > 1}
    assert words
    glued = {("milm", 10**9), ("mil", 10**6)}  # Spanish and Portuguese write "mil M" and "mil": the blank is the pattern's
    assert {(word, factor) for word, factor in words - glued if factor not in SCALES.get(word, ())} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_month_is_known(language: str) -> None:
    """By its whole name, and by its short one where a year follows."""
    months = Locale.parse(language).months
    whole = {name for context in ("format", "stand-alone") for name in months[context]["wide"].values()}
    assert whole - set(MONTHS) == set()
    short = {name.rstrip(".") for name in months["format"]["abbreviated"].values()}
    assert short - set(MONTHS) - set(SHORT_MONTHS.split()) == set()
