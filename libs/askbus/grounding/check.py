"""Which numbers of an answer have no source (R8). Pure; docs/numbers.md tells the rules."""

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

from askbus.grounding.known import Known
from askbus.grounding.model import Ungrounded
from askbus.grounding.written import Reading, Written, numbers

MOST = 50
"""Numbers of one answer that are named."""
WIDE = Context(prec=200)
_ITEM = re.compile(r"^([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"^[ \t]*\|[ \t:|-]+\|[ \t]*$")
_AND = re.compile(r",\s|;\s|\s(?:and|or|und|oder|et|ou|y|o|e)\s")
_MOST_COUNTED = 200


def ungrounded(answer: str, *known: Known) -> list[Ungrounded]:
    """The numbers of `answer` that stand in none of what is known, looked up in that order; the first MOST of them.

    A number has a source where a value equals it, or is what it is a correct rounding of, as far as its digits and words allow; where it
    counts the things of a list in a result, or in the answer itself.
    """
    counted: set[int] | None = None
    found: list[Ungrounded] = []
    for number in numbers(answer):
        if any(_has_source(number, one) for one in known) or number.is_label:
            continue
        if number.bare:
            counted = _counted(answer) if counted is None else counted
            if int(number.core) in counted or _enumerated(answer, number):
                continue
        found.append(Ungrounded(text=number.text, start=number.start, end=number.end))
        if len(found) == MOST:
            break
    return found


def _has_source(number: Written, known: Known) -> bool:
    if not number.scaled and known.holds(number.core):
        return True
    if any(_means(reading.value, number, known) for reading in number.readings):
        return True
    if number.bare and int(number.core) in known.counts:
        return True
    return any(_rounds(reading, number, known) for reading in number.readings)


def _means(value: Decimal, number: Written, known: Known) -> bool:
    """A share may stand as a fraction: 7.5 % is 0.075."""
    return value in known.values or (number.percent and value.scaleb(-2) in known.values)


def _rounds(reading: Reading, number: Written, known: Known) -> bool:
    """Whether a value is what this number was rounded from, to the digits that are shown; the more digits, the less it takes."""
    if not _may_be_rounded(number):
        return False
    step = reading.step * (number.zeros if number.near or number.over or number.under else 1)
    if (number.over or number.under) and _cut(reading.value, step, number, known):
        return True
    scales = (0, -2) if number.percent else (0,)
    return any(_rounded(reading.value.scaleb(scale), step.scaleb(scale), known) for scale in scales)


def _may_be_rounded(number: Written) -> bool:
    if number.near or number.over or number.under:
        return True
    return number.digits >= 3 or (number.digits == 2 and (number.scaled or number.percent or number.places > 0))


def _rounded(shown: Decimal, step: Decimal, known: Known) -> bool:
    half = step / 2
    return any(
        (value / step).quantize(Decimal(1), rounding=rule, context=WIDE) * step == shown
        for value in known.between(shown - half, shown + half)
        for rule in (ROUND_HALF_UP, ROUND_HALF_EVEN)
    )


def _cut(shown: Decimal, step: Decimal, number: Written, known: Known) -> bool:
    """More than 1.2 million may be 1,234,567, and almost 1.3 million too."""
    above = number.over and any(shown <= value < shown + step for value in known.between(shown, shown + step))
    return above or (number.under and any(shown - step < value for value in known.between(shown - step, shown)))


def _counted(answer: str) -> set[int]:
    """How many items the answer's own lists have, and rows its tables, each and all together."""
    lists, tables = _blocks(answer, _ITEM), _blocks(answer, _ROW)
    return {*lists, *tables, sum(lists), sum(tables)} - {0}


def _blocks(answer: str, line_of: re.Pattern[str]) -> list[int]:
    found, count, indent = [], 0, ""
    for line in answer.split("\n"):
        match = line_of.match(line)
        if match is not None:
            if line_of is _ITEM:
                indent = match.group(1) if count == 0 else indent
                count += match.group(1) == indent
            else:
                count = 0 if _RULE.match(line) else count + 1
        elif line.strip() and not line.startswith((" ", "\t")):
            found.append(count)
            count = 0
    return [each for each in (*found, count) if each]


def _enumerated(answer: str, number: Written) -> bool:
    """Whether what follows in the same sentence names as many things: 3 customers: A, B and C."""
    if len(number.core) > 2:
        return False
    rest = re.split(r"[.!?](?:\s|$)|\n", answer[number.end : number.end + 600], maxsplit=1)[0]
    named = rest.split(":", 1)[1] if ":" in rest else rest
    things = [part for part in _AND.split(named) if part.strip()]
    return len(things) == int(number.core) and int(number.core) > 1
