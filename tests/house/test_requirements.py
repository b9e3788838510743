"""The manifest of requirements and the tests' marks agree, both ways."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parents[1]


def marked() -> Iterator[tuple[str, str]]:
    """Every id that a test is marked with, and the file."""
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
                for argument in node.args:
                    assert isinstance(argument, ast.Constant), f"{file}: name the requirement outright"
                    yield str(argument.value), str(file.relative_to(TESTS))


def test_every_requirement_in_the_manifest_is_proved_by_a_test() -> None:
    """An id without a test would be a claim that nothing shows."""
    assert sorted(REQUIREMENTS.keys() - {name for name, _file in marked()}) == []


def test_every_mark_names_a_requirement_of_the_manifest() -> None:
    """A mark without a line would hide what is not whole."""
    assert sorted({(name, file) for name, file in marked() if name not in REQUIREMENTS}) == []
