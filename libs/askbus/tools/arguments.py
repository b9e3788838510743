"""What tools take: checked against their input model, and the refusals that a model can act on. Pure."""

import difflib
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, ValidationError

from askbus.actions.model import Summary
from askbus.errors import InvalidInput
from askbus.models.clean import clean_text
from askbus.records.changes import MOST_OPERATIONS, Operation
from askbus.records.model import Request
from askbus.tools.model import ToolSpec

MOST_TOLD = 5


class DescribeRecords(Request):
    """Which collections to describe."""

    collections: tuple[str, ...] = Field(default=(), max_length=50, description="Their names; all collections unless given.")
    search: str = Field(
        default="", max_length=200, description="Words of what is looked for: in names, comments and fields, the best first."
    )
    offset: int = Field(default=0, ge=0, le=100_000, description="Collections to skip: next_offset of the previous answer.")


class Changes(Request):
    """What to propose."""

    operations: Annotated[tuple[Operation, ...], Field(min_length=1, max_length=MOST_OPERATIONS)] = Field(
        description="What to change, in the order in which it shall happen: all of it is applied, or nothing."
    )
    summary: Summary | None = Field(default=None, description="What this is for, in one sentence for the person who confirms it.")


def read(spec: ToolSpec, arguments: Mapping[str, JsonValue]) -> BaseModel:
    """The tool's input. A null at the top means not given, as models write it.

    Raises InvalidInput that names each wrong parameter and says what is wanted, without what was sent.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    try:
        return spec.input.model_validate(given)
    except ValidationError as error:
        raise InvalidInput(f"The arguments of {spec.name} are not valid: {_problems(spec, error)}.") from None


def unknown_tool(name: str, names: list[str]) -> InvalidInput:
    """The refusal of a name that is no tool's."""
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return InvalidInput(f"There is no tool {clean_text(name[:64])!r}.{hint} The tools are {', '.join(names)}.")


def _problems(spec: ToolSpec, error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = list(dict.fromkeys(f"{_place(problem['loc'])}{problem['msg'].removeprefix('Value error, ')}" for problem in problems))
    if any(problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1 for problem in problems):
        lines.append(f"its parameters are {', '.join(spec.input.model_json_schema()['properties'])}")
    more = [f"and {len(lines) - MOST_TOLD} more"] if len(lines) > MOST_TOLD else []
    return "; ".join([*lines[:MOST_TOLD], *more])


def _place(location: tuple[int | str, ...]) -> str:
    """`operations.0.values: `; names that the model made up are shortened."""
    return clean_text(".".join(str(part)[:64] for part in location) + ": ") if location else ""
