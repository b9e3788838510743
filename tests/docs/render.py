"""The generated parts of the documents: `python -m tests.docs.render` writes them anew, and a test holds them to the code."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from askbus.actions.model import MOVES as ACTION_MOVES
from askbus.questions.model import MOVES as QUESTION_MOVES
from askbus.runtime.settings import Settings
from askbus.tools.model import MOVES as RUN_MOVES
from askbus.turns.model import MOVES as TURN_MOVES

ROOT = Path(__file__).parents[2]

STATES = """\
# States

Made from the code by `python -m tests.docs.render`; each table is the noun's `MOVES`, which a test runs against Postgres, state by verb.
Whatever is not in a table does not happen: terminal is terminal.
"""


def table(title: str, moves: Mapping[tuple[StrEnum, StrEnum], StrEnum]) -> str:
    """A noun's moves, from state by verb to state."""
    rows = [f"| {state.value} | {verb.value} | {to.value} |" for (state, verb), to in moves.items()]
    return "\n".join([f"\n## {title}\n", "| state | verb | becomes |", "| --- | --- | --- |", *rows, ""])


def states() -> str:
    """docs/states.md."""
    nouns = {"Question": QUESTION_MOVES, "Turn": TURN_MOVES, "Run of a tool call": RUN_MOVES, "Action": ACTION_MOVES}
    return STATES + "".join(table(title, moves) for title, moves in nouns.items())  # type: ignore[arg-type]


def settings() -> str:
    """docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Made from the code by `python -m tests.docs.render`. All are environment variables, checked when a process starts;",
        "durations are in seconds.",
        "",
        "| variable | default | what it is |",
        "| --- | --- | --- |",
    ]
    for name, field in Settings.model_fields.items():
        default = "required" if field.is_required() else f"`{field.default}`" if field.default is not None else "none"
        lines.append(f"| `ASKBUS_{name.upper()}` | {default} | {field.description} |")
    return "\n".join([*lines, ""])


DOCUMENTS = {"docs/states.md": states, "docs/settings.md": settings}

if __name__ == "__main__":
    for path, render in DOCUMENTS.items():
        (ROOT / path).write_text(render(), "utf-8")
