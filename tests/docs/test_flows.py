"""What the documents name exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"`?((?:libs|services|tests)/[\w/]+\.py)::([\w.]+)")
DOCUMENTS = sorted([ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md")])


def names_in(file: Path) -> set[str]:
    """Functions and methods of a file, as `name` and `Class.name`."""
    names = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)
            }
    return names


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_function_that_a_document_names_exists(document: Path) -> None:
    """A reader who searches for a name finds it."""
    missing = [
        f"{path}::{name}"
        for path, name in PLACE.findall(document.read_text("utf-8"))
        if not (ROOT / path).is_file() or name not in names_in(ROOT / path)
    ]
    assert missing == []


@pytest.mark.parametrize("flow", ["question", "turn"])
def test_the_main_paths_are_written_down(flow: str) -> None:
    """A document that names nothing would hold trivially."""
    assert len(PLACE.findall((ROOT / f"docs/flows/{flow}.md").read_text("utf-8"))) >= 12


@pytest.mark.parametrize("document", [ROOT / "README.md", *DOCUMENTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_links_to_exists(document: Path) -> None:
    """No dead links inside the tree."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text("utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []
