"""What a reader is told of a failed turn is a fixed set: every code that anything ends a turn with is in it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from askbus.models.model import Fault
from askbus.turns.model import ERRORS
from askbus_agent_loop import stepper

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"[a-z]+(_[a-z]+)*")
ENDING = {"fail", "Fail", "_fail", "on_fail"}
"""Functions that are given the code of a turn's end."""
OF_TOOLS = "askbus_tool_runner"
"""Its runs fail, and turns do not."""


def given(node: ast.AST) -> Iterator[str]:
    """The codes that this expression may be."""
    keys = {id(part.slice) for part in ast.walk(node) if isinstance(part, ast.Subscript)}
    for part in ast.walk(node):
        if id(part) not in keys and isinstance(part, ast.Constant) and isinstance(part.value, str) and CODE.fullmatch(part.value):
            yield part.value


def raised() -> dict[str, str]:
    """Every code with which the source ends a turn, and where."""
    found: dict[str, str] = {}
    for file in [*ROOT.glob("libs/askbus/turns/**/*.py"), *ROOT.glob("services/*/**/*.py")]:
        if OF_TOOLS in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                parts: list[ast.AST] = list(node.args) if name in ENDING else []
            elif isinstance(node, ast.Assign) and any(
                isinstance(to, ast.Name) and to.id in {"error", "code"} for to in node.targets
            ):
                parts = [node.value]
            else:
                continue
            found |= {
                code: f"{file.name}:{node.lineno}" for part in parts if not isinstance(part, ast.Call) for code in given(part)
            }
    for file in [*ROOT.glob("libs/**/*.sql"), *ROOT.glob("services/**/*.sql")]:
        found |= dict.fromkeys(re.findall(r"error_code\s*=\s*'(\w+)'", file.read_text("utf-8")), file.name)
    return found


@pytest.mark.requirement("C21")
def test_every_code_that_ends_a_turn_has_its_sentence() -> None:
    """A code without one would be told as a defect of ours; a sentence that nothing leads to would be a promise of none."""
    codes = raised() | dict.fromkeys(stepper._CODES.values(), "stepper.py") | {"model_unavailable": "stepper.py"}
    assert {code: where for code, where in codes.items() if code not in ERRORS} == {}
    assert set(ERRORS) - set(codes) == set()


@pytest.mark.requirement("C21")
def test_every_sentence_says_what_to_do_and_names_who_can_do_it() -> None:
    """Short, in the reader's words, the same each time: nothing is put into it."""
    for code, error in ERRORS.items():
        assert error.code == code
        assert error.who in {"reader", "admin", "nobody"}
        assert re.fullmatch(r"[A-Z][^{}%]{20,150}\.", error.message), error.message
        if error.who == "admin":
            assert re.search(r"admin|operator|ASKBUS_|[Ss]ign in", error.message), error.message


@pytest.mark.requirement("C21")
@pytest.mark.parametrize("fault", Fault)
def test_every_fault_of_a_provider_is_told_as_what_somebody_can_act_on(fault: Fault) -> None:
    """What passes by itself is nobody's; what does not is somebody's."""
    told = ERRORS[stepper._CODES.get(fault, "model_unavailable")]
    assert (told.who == "nobody") == fault.retryable
