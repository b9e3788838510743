"""Which numbers have a source: a table of answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from askbus.grounding.check import ungrounded
from askbus.grounding.known import Known
from askbus.tools.model import compact

pytestmark = pytest.mark.requirement("R8")

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "cases" / "numbers" / "answers.json").read_text("utf-8"))[
    "cases"
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_number_has_a_source_or_is_named_where_it_stands(case: dict[str, Any]) -> None:
    """Results are given as the model is given them; every number is found again by its place."""
    results = [result if isinstance(result, str) else compact(result) for result in case["results"]]
    found = ungrounded(case["answer"], Known(results, case["words"]))
    assert [number.text for number in found] == case["ungrounded"], case["why"]
    assert [case["answer"][number.start : number.end] for number in found] == case["ungrounded"]
