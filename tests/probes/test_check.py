"""How a turn is judged: what counts as called, as said, and as a number that stands somewhere."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue, ValidationError

from askbus.probes.check import MadeCall, Seen, findings, has
from askbus.probes.model import Must, Probe, Step, WantedCall

pytestmark = pytest.mark.requirement("C32")

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def seen(answer: str, *results: str, ok: bool = True, marked: Sequence[str] = ()) -> Seen:
    calls = tuple(MadeCall("query_records", '{"collection": "orders"}', ok, text) for text in results)
    return Seen("completed", None, answer, (), calls, tuple(marked))


@pytest.mark.parametrize(
    ("answer", "strangers"),
    [
        ("It is 1,234.50 EUR.", []),
        ("It is 1.234,50 EUR.", []),
        ("It is 1234.5 EUR.", []),
        ("It is 1236 EUR.", ["1236"]),
        ("It is 1,234.51.", ["1,234.51"]),
        ("There are 2 orders, of 31 March 2026.", []),
        ("There are 5 orders.", ["5"]),
        ("1. the first\n2. the second\n3. the third", []),
        ("Order 77 as of 2026-11-30.", []),
        ("That is 15 % more.", ["15 %"]),
    ],
)
def test_a_number_stands_in_a_result_or_in_the_users_words(answer: str, strangers: list[str]) -> None:
    """However it is written; how many rows there are may be counted, and today's date is known."""
    result = '{"rows":[["1234.50"],["2026-03-31"]],"total":2}'
    told = [f"says {number}, which no result holds" for number in strangers]
    assert findings(Step(says="order 77"), seen(answer, result, marked=strangers), ["order 77"], NOW) == told
    unmarked = [f"{number} was not marked" for number in strangers]
    assert findings(Step(says="order 77"), seen(answer, result), ["order 77"], NOW) == told + unmarked


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [2]}, True),
        ({"b": {"op": "sum"}}, {"b": [{"op": "sum"}]}, True),
        ({"limit": "3"}, {"limit": 3}, True),
        ({"a": None}, {"a": "*"}, False),
        ({"over": {"limit": 3}}, {"over": {"limit": 5}}, False),
        ({}, {"over": {}}, False),
    ],
)
def test_arguments_fit_where_they_hold_what_is_wanted(given: JsonValue, wanted: JsonValue, fits: bool) -> None:
    """Models write one thing where a list is meant, and numbers as text."""
    assert has(given, wanted) is fits


def test_a_call_that_failed_is_no_read() -> None:
    """Whoever asked and got an error has nothing to answer from."""
    step = Step(says="Well?", must=Must(calls=(WantedCall(tools=("query_records",)),)))
    assert findings(step, seen("Yes.", "{}"), ["Well?"], NOW) == []
    assert findings(step, seen("Yes.", "{}", ok=False), ["Well?"], NOW) == ["did not call query_records"]


def test_a_turn_that_failed_is_no_answer() -> None:
    """Its error's code is told."""
    assert findings(Step(says="Well?"), Seen("failed", "out_of_time", "", (), ()), [], NOW) == [
        "the turn ended as failed (out_of_time)"
    ]


def test_a_misspelt_probe_is_refused() -> None:
    """It would otherwise hold less than whoever wrote it thinks."""
    with pytest.raises(ValidationError, match="must_nott"):
        Probe.parse("x", 'holds = "y"\n[[turns]]\nsays = "z"\n[turns.must_nott]\nsays = ["a"]\n')
    with pytest.raises(ValidationError, match="says"):
        Probe.parse("x", 'holds = "y"\n[[turns]]\nsays = "z"\n[turns.must_not]\nsays = ["("]\n')
