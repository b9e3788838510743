"""Rules of the house that no linter knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST_FILE, LONGEST_FUNCTION = 300, 60
DRAWERS = {"utils", "util", "common", "shared", "helpers", "helper", "misc"}

SOURCES = sorted(
    path
    for folder in ("libs", "services", "tests")
    for pattern in ("*.py", "*.sql", "*.js", "*.css", "*.html")
    for path in (ROOT / folder).rglob(pattern)
    if "migrations" not in path.parts  # a released migration is not edited again, not even to split it
    and "node_modules" not in path.parts
)
PYTHON = [path for path in SOURCES if path.suffix == ".py"]
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, Function):
            yield node


def shown(path: Path, line: int | None = None) -> str:
    return f"{path.relative_to(ROOT)}" + (f":{line}" if line else "")


def test_there_is_something_to_check() -> None:
    """The rules below would hold for an empty list."""
    assert len(PYTHON) > 50


def test_no_file_is_longer_than_300_lines() -> None:
    """A file is read in one sitting."""
    lengths = {shown(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    """A function is seen at one glance."""
    lengths = {
        shown(path, node.lineno): (node.end_lineno or node.lineno) - node.lineno + 1
        for path in PYTHON
        for node in functions(path)
    }
    assert {place: length for place, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def test_nothing_is_put_in_a_drawer() -> None:
    """A module is named for what it knows, or nobody finds it."""
    assert [shown(path) for path in PYTHON if DRAWERS & {path.stem, *path.relative_to(ROOT).parts}] == []


def test_every_test_says_in_a_sentence_what_it_shows() -> None:
    """A name and a docstring: together they are the description of askbus."""
    silent = [
        shown(path, node.lineno)
        for path in PYTHON
        if path.name.startswith("test_") and "tests" in path.relative_to(ROOT).parts
        for node in functions(path)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def sleeps(node: ast.AST) -> bool:
    """Whether it calls time.sleep or asyncio.sleep; `asyncio.sleep(0)` only lets others run."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"), args=[ast.Constant(value=0)]):
            return False
        case ast.Call(func=ast.Attribute(value=ast.Name(id="time" | "asyncio"), attr="sleep")):
            return True
        case _:
            return False


def test_no_test_sleeps() -> None:
    """A test waits for a fact, a condition or an event: a sleep is too short on a busy machine, and too long on every other.

    The bench is no test: it measures what an idle stack costs.
    """
    calls = [
        shown(path, node.lineno)
        for path in PYTHON
        if path.relative_to(ROOT).parts[0] == "tests" and path.relative_to(ROOT).parts[1] != "bench"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and sleeps(node)
    ]
    assert calls == []
