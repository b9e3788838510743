"""Numbers as people write them: found in a text, and read whichever way they may be meant. Exact: Decimal all the way. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache

from askbus.grounding.asides import without_asides
from askbus.grounding.words import (
    DASHES,
    HEDGES,
    IN_A_YEAR,
    LABELS,
    LETTERS,
    MORE_YEARS,
    ORDINALS,
    OVER,
    SCALES,
    UNDER,
    UNITS,
)

DECIMAL = ".,\u066b"
SPACES = " \u00a0\u202f\u2009"
MARKS = ".,'\u2019\u066b\u066c"
CORE = re.compile(rf"\d+(?:(?:[{MARKS}{SPACES[1:]}]|[ ](?=\d{{3}}(?!\d)))\d+)*")
"""Digits with whatever separates groups and decimals; a plain blank only before three of them."""
LONGEST = 60
"""Characters of one number; what is longer is none."""
_BEFORE = 40
_TAIL = re.compile(r"(?P<letters>[^\W\d_]+)|[-\N{NON-BREAKING HYPHEN}](?P<hyphened>[^\W_]+)|[ \u00a0\u202f]?(?P<percent>[%‰])")
_SPACED = re.compile(r"[ \u00a0\u202f-](?P<word>[^\W\d_]{1,14})\.?(?P<more>[ \u00a0\u202f][^\W\d_]{1,14})?(?![^\W_])")
_PERCENT = re.compile(r"(?i:per ?cent|prozent|procent|pct|pour cent|por ciento|por cento|percentage)")
SIGNS = " \t\u00a0\u202f$€£¥₹*_(+-\N{MINUS SIGN}"
_YEAR = re.compile(r"(?:19|20)\d\d")
_MORE = re.compile(rf"\s*(?:[{DASHES}/]|to|and|bis|und|à|et|a|y)\s*(?:19|20)\d\d(?!\d)")
_STANDARD = re.compile(r"(?i:iso|rfc|din|v|version|release)\.?[ \u00a0#]*$")


@dataclass(frozen=True)
class Reading:
    """What a written number may mean. `step` is what its last digit counts; a tenth of a million in 1.2 million."""

    value: Decimal
    step: Decimal


@dataclass(frozen=True)
class Written:
    """A number in a text, `start` and `end` in characters (code points). `core` is its digits and marks, `before` and `after` what stands
    around it; `scaled`: a word multiplies it.
    """

    text: str
    start: int
    end: int
    core: str
    factors: tuple[int, ...]
    percent: bool
    before: str
    after: str

    @property
    def scaled(self) -> bool:
        return self.factors != (1,)

    @property
    def bare(self) -> bool:
        """A whole number alone, which may count things."""
        return self.core.isdigit() and not (self.scaled or self.percent)

    @property
    def digits(self) -> int:
        """How many it shows, zeros in front not counted."""
        return len(re.sub(r"\D", "", self.core).lstrip("0"))

    @property
    def places(self) -> int:
        """How many may stand behind the point."""
        return max((-int(step.as_tuple().exponent) for _, step in meanings(self.core)), default=0)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Every way in which it may be meant."""
        return tuple(Reading(value * factor, step * factor) for value, step in meanings(self.core) for factor in self.factors)

    @cached_property
    def _lead(self) -> str:
        """The words before it, without signs and currency."""
        lead = self.before.rstrip(SIGNS)
        return lead[:-3].rstrip(SIGNS) if re.search(r"(?<![^\W_])[A-Z]{3}$", lead) else lead

    @cached_property
    def near(self) -> bool:
        """Said to be about so much."""
        return bool(HEDGES.search(self._lead) or HEDGES.search(self.before)) or re.match(r"\s+or so\b", self.after) is not None

    @cached_property
    def over(self) -> bool:
        """Said to be less than the value."""
        return bool(OVER.search(self._lead))

    @cached_property
    def under(self) -> bool:
        """Said to be more than the value."""
        return bool(UNDER.search(self._lead))

    @property
    def zeros(self) -> Decimal:
        """What the last digit counts that is not a zero: about 1,200 means hundreds."""
        whole = re.sub(r"\D", "", self.core)
        return (
            Decimal(10) ** (len(whole) - len(whole.rstrip("0"))) if self.places == 0 or _grouped_only(self.core) else Decimal(1)
        )

    @property
    def is_label(self) -> bool:
        """Whether it only says which: a step, a standard, a year."""
        if self.percent or self.scaled:
            return False
        if LABELS.search(self.before) and (len(self.core) <= 3 or _STANDARD.search(self.before)):
            return True
        if not _YEAR.fullmatch(self.core):
            return False
        bracketed = self.before.endswith("(") and self.after.startswith(")")
        ranged = _MORE.match(self.after) is not None
        return bool(bracketed or ranged or IN_A_YEAR.search(self.before) or MORE_YEARS.search(self.before))


def numbers(text: str) -> list[Written]:
    """The figures of a text, in order. Not among them: code, addresses, names with digits, dates, clock times, years where they are said as
    such, ordinals, and the marks of lists.
    """
    plain = without_asides(text)
    return [found for match in CORE.finditer(plain) for found in _found(text, plain, match.start(), match.end())]


def _found(text: str, plain: str, start: int, end: int) -> Iterator[Written]:
    """What stands there: one number, or several where it is no single one."""
    core = plain[start:end]
    if end - start > LONGEST:
        return
    if not meanings(core) and not core.isdigit():
        if "." in core and not any(space in core for space in SPACES) and "," not in core:
            return  # a version, or the number of a section
        parts = list(re.finditer(rf"[^{MARKS[1:]}{SPACES}]+", core))
        for part in parts if len(parts) > 1 else ():
            yield from _found(text, plain, start + part.start(), start + part.end())
        return
    written = _written(text, plain, start, end)
    if written is not None:
        yield written


def _written(text: str, plain: str, start: int, end: int) -> Written | None:
    core, after = plain[start:end], plain[end : end + _BEFORE]
    factors, percent, until = _behind(core, after)
    if not factors:
        return None
    before = text[max(0, start - _BEFORE) : start]
    return Written(plain[start : end + until], start, end + until, core, factors, bool(percent), before, after[until:])


def _behind(core: str, after: str) -> tuple[tuple[int, ...], str, int]:
    """What multiplies the number, whether it is a share, and how much of what follows belongs to it. No factor: it is no figure."""
    tail = _TAIL.match(after)
    if tail is not None and tail["percent"]:
        return (1,), tail["percent"], tail.end()
    if tail is not None and tail["letters"]:
        return _glued(tail["letters"], after[tail.end() : tail.end() + 1], tail.end())
    if tail is not None and tail["hyphened"] and not _is_word(tail["hyphened"]) and not tail["hyphened"].isdigit():
        return (), "", 0
    if re.match(r"\.[ ][^\W\d_A-Z]", after) and core.isdigit() and len(core) <= 2 and after[2:3].islower():
        return (), "", 0  # an ordinal, as German writes it
    spaced = _SPACED.match(after)
    if spaced is None:
        return (1,), "", 0
    phrase = spaced["word"] + (spaced["more"] or "")
    share = _PERCENT.match(phrase)
    if share is not None:
        return (1,), "%", 1 + share.end()
    factors = _scale(spaced["word"])
    thousands = _scale(spaced["more"][1:]) if spaced["more"] and factors == (1000,) else ()
    if thousands:  # mil millones
        return tuple(1000 * factor for factor in thousands), "", spaced.end("more")
    return (factors, "", spaced.end("word")) if factors else ((1,), "", 0)


def _glued(letters: str, following: str, until: int) -> tuple[tuple[int, ...], str, int]:
    """Letters right behind the digits: a scale, a unit, or what makes the number part of a name, or an ordinal."""
    if following.isalnum() or following == "_":
        return (), "", 0
    factors = _scale(letters)
    if factors:
        return factors, "", until
    if letters.lower() in ORDINALS:
        return (), "", 0
    return ((1,), "", 0) if letters.lower() in UNITS or (letters.isupper() and len(letters) == 3) else ((), "", 0)


def _scale(word: str) -> tuple[int, ...]:
    lower = word.lower()
    if len(word) == 1:
        return (1, *SCALES[lower]) if word in LETTERS.get(lower, "") else ()
    return SCALES.get(lower, ())


def _is_word(hyphened: str) -> bool:
    """30-day is a number of days, 12-AB a name."""
    return hyphened.isalpha() and sum(1 for letter in hyphened if letter.islower()) >= 2


@lru_cache(maxsize=8192)
def meanings(core: str) -> tuple[tuple[Decimal, Decimal], ...]:
    """What the digits and marks of one number may mean, each with what its last digit counts: 1.234 is one and a bit, or more than a
    thousand. Nothing where they make no number.
    """
    marks = [character for character in core if not character.isdigit()]
    parts = re.split(rf"[{MARKS}{SPACES}]", core)
    found = []
    if len(set(marks)) <= 1 and _grouped(parts, marks):
        found.append((Decimal("".join(parts)), Decimal(1)))
    if (
        marks
        and marks[-1] in DECIMAL
        and marks.count(marks[-1]) == 1
        and len(set(marks[:-1])) <= 1
        and _grouped(parts[:-1], marks[:-1])
    ):
        found.append((Decimal(f"{''.join(parts[:-1])}.{parts[-1]}"), Decimal(1).scaleb(-len(parts[-1]))))
    return tuple(dict.fromkeys(found))


def _grouped(parts: list[str], marks: list[str]) -> bool:
    """Groups of three, or as in India the last of three and the others of two. Some write an apostrophe before the last three alone."""
    if len(parts) == 1 or (marks == ["'"] and len(parts[-1]) == 3):
        return True
    first, *middle, last = parts
    if len(last) != 3 or not 1 <= len(first) <= 3 or first == "0":
        return False
    return all(len(part) == 3 for part in middle) or (len(first) <= 2 and all(len(part) == 2 for part in middle))


def _grouped_only(core: str) -> bool:
    """Whether its marks may be those of groups alone."""
    return any(step == 1 for _, step in meanings(core))
