"""How the tests are spread over processes (tests/spread.py)."""

from pathlib import Path

from tests.spread import APART, FIRST, TOGETHER, turn, unit

TESTS = Path(__file__).parents[1]


def test_every_place_that_the_spread_names_is_there() -> None:
    """A folder that was renamed would start its stack in every process, or last."""
    assert [name for name in (*TOGETHER, *APART, *FIRST) if not (TESTS / name).exists()] == []
    assert [name for name in TOGETHER if name != "probes" and not (TESTS / name / "__init__.py").exists()] == []


def test_tests_that_share_a_stack_are_one_unit_and_the_longest_come_first() -> None:
    """By folder, by file, or by test."""
    assert unit("tests/faults/test_outages.py::test_a") == unit("tests/faults/test_watching.py::test_b[x::y]") == "faults"
    assert unit("tests/doors/files/test_pictures.py::test_a") == "doors/files"
    assert unit("tests/doors/test_wakes.py::test_a") == unit("tests/doors/test_wakes.py::test_b") == "tests/doors/test_wakes.py"
    assert unit("tests/flows/test_demo.py::test_a") != unit("tests/flows/test_demo.py::test_b")
    of_each = [
        "tests/verbs/test_claims.py::test_a",
        "tests/records/test_every_statement.py::test_a",
        "tests/faults/test_outages.py::test_a",
    ]
    assert sorted(of_each, key=turn) == of_each[::-1]
