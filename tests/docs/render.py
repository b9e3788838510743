"""The generated parts of the documents: `python -m tests.docs.render` writes them anew, and a test holds them to the code."""

import json
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from askbus.actions.model import MOVES as ACTION_MOVES
from askbus.approvals.model import MOVES as APPROVAL_MOVES
from askbus.questions.model import MOVES as QUESTION_MOVES
from askbus.runtime.settings import Settings
from askbus.tools.catalogue import CATALOGUE, GENERATE_IMAGE
from askbus.tools.model import MOVES as RUN_MOVES
from askbus.tools.model import ToolSpec
from askbus.turns.model import ERRORS as TURN_ERRORS
from askbus.turns.model import MOVES as TURN_MOVES

ROOT = Path(__file__).parents[2]

STATES = """\
# States

Made from the code by `python -m tests.docs.render`; each table is the noun's `MOVES`, which a test runs against Postgres, state by verb.
Whatever is not in a table does not happen: terminal is terminal.
"""


ERRORS = """\
# Why a turn failed

Made from the code by `python -m tests.docs.render`. This is all that a reader is told: what a model's provider said stands in the log line
`turn.model_failed`, its keys masked, and nowhere else.
"""


def table(title: str, moves: Mapping[tuple[StrEnum, StrEnum], StrEnum]) -> str:
    """A noun's moves, from state by verb to state."""
    rows = [f"| {state.value} | {verb.value} | {to.value} |" for (state, verb), to in moves.items()]
    return "\n".join([f"\n## {title}\n", "| state | verb | becomes |", "| --- | --- | --- |", *rows, ""])


def states() -> str:
    """docs/states.md."""
    nouns = {
        "Question": QUESTION_MOVES,
        "Turn": TURN_MOVES,
        "Run of a tool call": RUN_MOVES,
        "Action": ACTION_MOVES,
        "Standing approval": APPROVAL_MOVES,
    }
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
        default = "required" if field.is_required() else "none" if field.default in (None, ()) else f"`{field.default}`"
        lines.append(f"| `ASKBUS_{name.upper()}` | {default} | {field.description} |")
    return "\n".join([*lines, ""])


TOOLS = """\
# Tools

Made from the code by `python -m tests.docs.render`: each tool is one function with one pydantic model in and one out. A model that
serves a turn is told the description and the parameters; `GET /v1/tools` gives the same as an OpenAPI 3.1 document. A deployment adds
tools of its own: [own-tools.md](own-tools.md).
"""


def tools() -> str:
    """docs/tools.md."""
    return TOOLS + "".join(tool_section(spec) for spec in (*CATALOGUE, GENERATE_IMAGE))


def tool_section(spec: ToolSpec) -> str:
    """What a tool is, takes and returns."""
    where = "in a conversation, or called directly" if spec.direct else "in a conversation only"
    takes = spec.input.model_json_schema()
    returns = spec.output.model_json_schema(mode="serialization")
    return "\n".join(
        [
            f"\n## `{spec.name}`\n",
            f"{spec.description}\n",
            f"Needs the scope `{spec.scope.value}`; {where}. People read “{spec.label.doing}”, then “{spec.label.done}”.\n",
            *fields("parameter", takes),
            "",
            *parts(takes),
            *fields("result", returns),
            "",
        ]
    )


def fields(title: str, schema: dict[str, Any]) -> list[str]:
    """The fields of an object, a row each."""
    definitions, required = schema.get("$defs", {}), schema.get("required", ())
    rows = [f"| {title} | type | |", "| --- | --- | --- |"]
    for name, part in schema.get("properties", {}).items():
        needed = ", required" if name in required and title != "result" else ""
        rows.append(f"| `{name}` | {kind(part, definitions)}{needed} | {part.get('description', '')} |")
    return rows


def parts(schema: dict[str, Any]) -> list[str]:
    """The objects that parameters are made of: each by its name, what it is, and a table of its fields."""
    lines = []
    for name, part in schema.get("$defs", {}).items():
        if "properties" in part:
            about = f": {part['description']}" if "description" in part else ""
            lines += [f"**{name}**{about}", "", *fields("field", {**part, "$defs": schema["$defs"]}), ""]
    return lines


def kind(schema: dict[str, Any], definitions: dict[str, Any]) -> str:
    """A schema's type in a word or two."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        target = definitions[name]
        return " or ".join(f"`{value}`" for value in target["enum"]) if "enum" in target else name
    if "anyOf" in schema:
        kinds = [kind(part, definitions) for part in schema["anyOf"] if part != {"type": "null"}]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'], definitions)}" if "items" in schema else "list"
    return str(schema.get("type", "any"))


def errors() -> str:
    """docs/errors.md."""
    rows = [f"| `{error.code}` | {error.message} | {error.who} |" for error in TURN_ERRORS.values()]
    return "\n".join([ERRORS, "| code | what the reader is told | who can act |", "| --- | --- | --- |", *rows, ""])


CONNECTING = """\
# Connecting an agent

Made from `services/askbus_gateway/console/static/agents.json` by `python -m tests.docs.render`; the console shows the same, with the
deployment's own address, under Settings, Connect an agent. `https://askbus.example` stands for that address, `YOUR_TOKEN` for an
[API token](README.md), which needs `questions:ask` to ask people, `data:read` to read records and `actions:propose` to propose changes.
[What the tools do and how waits work](../mcp.md).
"""

HEADINGS = {"http": "Over HTTP", "stdio": "Through `askbus mcp`"}


def connecting() -> str:
    """docs/agents/connecting.md."""
    known = json.loads((ROOT / "services/askbus_gateway/console/static/agents.json").read_text("utf-8"))
    lines = [CONNECTING, *(f"- **{HEADINGS[way]}.** {about}" for way, about in known["ways"].items())]
    for agent in known["agents"]:
        lines += ["", f"## {agent['name']}"]
        for setup in agent["setups"]:
            lines += ["", f"{HEADINGS[setup['way']]}: {setup['where']}.", "", f"```{setup['kind']}", setup["text"], "```"]
        lines += ["", agent["waits"]]
    lines += ["", "## When it does not work", "", "| what happens | what to do |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {what} | {then} |" for what, then in known["troubles"]), ""])


DOCUMENTS = {
    "docs/errors.md": errors,
    "docs/tools.md": tools,
    "docs/states.md": states,
    "docs/settings.md": settings,
    "docs/agents/connecting.md": connecting,
}

if __name__ == "__main__":
    for path, render in DOCUMENTS.items():
        (ROOT / path).write_text(render(), "utf-8")
