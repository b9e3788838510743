"""What is known in a turn: the values that its tools returned, and the numbers in the user's own words. Pure.

Values are looked for only when an answer has a number that does not stand there as it is written, so that an answer that quotes costs a
search of text.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from pydantic import JsonValue

from askbus.grounding.asides import without_dates, years
from askbus.grounding.written import CORE, LONGEST, meanings, numbers

NO_LISTS = frozenset({"columns", "cut"})
"""Lists in a result whose length counts nothing of the team's."""

SURE = 4
"""Characters; a longer number with marks in it, such as 1,234.50, is no part of something else."""

_SPELLED = {
    word: Decimal(number)
    for number, words in enumerate(
        (
            "two zwei deux dos due",
            "three drei trois tres tre",
            "four vier quatre cuatro quattro",
            "five fünf cinq cinco cinque",
            "six sechs seis sei",
            "seven sieben sept siete sette",
            "eight acht huit ocho otto",
            "nine neun neuf nueve nove",
            "ten zehn dix diez dieci",
            "eleven elf onze once undici",
            "twelve dozen zwölf douze doce dodici",
        ),
        2,
    )
    for word in words.split()
}


@dataclass(frozen=True)
class Known:
    """`results` are texts that tools returned or that stand beside the conversation, JSON or not; `words` is what people wrote."""

    results: Sequence[str] = ()
    words: Sequence[str] = ()

    @cached_property
    def _plain(self) -> list[str]:
        """The results without what is no figure in them."""
        return [without_dates(text) for text in self.results]

    def holds(self, core: str) -> bool:
        """Whether the number stands in a result as it is written here. Those that a date or an id may hold by chance are looked for
        more closely.
        """
        if len(core) > SURE and not core.isdigit():
            alone = re.compile(rf"(?<![\d.,]){re.escape(core)}(?![.,]?\d)")
            if any(core in text and alone.search(text) for text in self.results):
                return True
        return core in self.written

    @cached_property
    def written(self) -> frozenset[str]:
        """Numbers as they stand in the results."""
        return frozenset(core for text in self._plain for core in CORE.findall(text))

    @cached_property
    def values(self) -> frozenset[Decimal]:
        """Every value, however it was written."""
        found: set[Decimal] = set()
        for core in self.written:
            if len(core) <= LONGEST:
                found.update(value for value, _ in meanings(core))
                found.update(value for part in re.split(r"[^\d.]+", core) for value, _ in meanings(part) if part)
        for text in self.words:
            found.update(reading.value for number in numbers(text) for reading in number.readings)
            found.update(_SPELLED[word] for word in re.findall(r"[^\W\d_]+", text.lower()) if word in _SPELLED)
            found.update(value for core in CORE.findall(text) if len(core) <= LONGEST for value, _ in meanings(core))
        found.update(Decimal(year) for text in (*self.results, *self.words) for year in years(text))
        return frozenset(found)

    @cached_property
    def ordered(self) -> list[Decimal]:
        return sorted(self.values)

    @cached_property
    def counts(self) -> frozenset[int]:
        """How many things the lists of the results have."""
        return frozenset(count for text in self.results for count in _lengths(text))

    def between(self, low: Decimal, high: Decimal) -> Iterator[Decimal]:
        """The values from `low` to `high`."""
        at = bisect_left(self.ordered, low)
        while at < len(self.ordered) and self.ordered[at] <= high:
            yield self.ordered[at]
            at += 1


def _lengths(text: str) -> Iterable[int]:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or nested deeper than any result: there is nothing to count in it
        return
    pending: list[JsonValue] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            yield len(part)
            pending += [item for item in part if isinstance(item, dict)]
        elif isinstance(part, dict):
            pending += [item for name, item in part.items() if name not in NO_LISTS]
