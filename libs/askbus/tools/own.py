"""A deployment's own tools: one typed function each, beside the built-in ones. This is what the modules named in ASKBUS_TOOLS import.

    @tool(scope=Scope.DATA_READ, repeatable=True)
    async def berth_depth(call: Call, berth: Berth) -> Depth:
        '''Says how deep the water is at a berth at low tide. It knows this harbour only.'''

docs/own-tools.md tells the whole of it.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar, get_type_hints
from uuid import UUID

from pydantic import BaseModel
from pydantic.errors import PydanticUserError
from pydantic.json_schema import JsonSchemaMode

from askbus.access.model import Principal, Scope
from askbus.records.display import PLAIN, Presentation
from askbus.records.model import QueryPlan, Rows
from askbus.records.names import ResolveRequest, ResolveResult
from askbus.tools.model import Asked, Proposed, ToolSpec
from askbus.tools.work import LONGEST_LABEL, Label

__all__ = ["BadTool", "Call", "Label", "OwnTool", "Reader", "Scope", "ToolSpec", "tool"]

NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
"""What every provider takes as a tool's name."""
LONGEST_DESCRIPTION = 2_000
"""Characters; each model call carries them."""


class BadTool(ValueError):
    """A tool is not what it must be; the text says which one and why, for whoever wrote it."""


class Reader(Protocol):
    """Reads the team's records as the person for whom the tool works: what they may not see does not exist."""

    async def query(self, plan: QueryPlan) -> Rows:
        """The rows. Raises PermissionDenied, NotFound, InvalidInput, TimedOut, Unavailable."""
        ...

    async def query_all(self, plans: Sequence[QueryPlan]) -> list[Rows]:
        """The rows of each, all read on one snapshot. Raises as `query` does."""
        ...

    async def resolve(self, request: ResolveRequest) -> ResolveResult:
        """The record that a name means. Raises as `query` does."""
        ...


@dataclass(frozen=True)
class Call:
    """For whom a tool works, and for which call.

    `by` has the rights of this moment. `id` is the same when the call is run again: what a repeatable tool makes it names by it.
    `records` is for tools that are `async`. `presentation` is how the person reads values.
    """

    id: UUID
    by: Principal
    project_id: UUID
    records: Reader
    presentation: Presentation = PLAIN


In = TypeVar("In", bound=BaseModel)
Out = TypeVar("Out", bound=BaseModel)
Function = Callable[[Call, Any], Awaitable[BaseModel] | BaseModel]


@dataclass(frozen=True)
class OwnTool:
    """A tool of the deployment's. `function` may be given as `"module:name"`: then only the tool-runner imports it, and what it needs."""

    spec: ToolSpec
    function: Function | str

    def __post_init__(self) -> None:
        _check(self.spec)

    def __call__(self, call: Call, given: BaseModel) -> Awaitable[BaseModel] | BaseModel:
        """Calls the function, as its own tests do."""
        return self.load()(call, given)

    def load(self) -> Function:
        """The function, imported where it was named. Raises BadTool."""
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(":")
        try:
            found = getattr(import_module(module), name)
        except Exception as error:
            raise BadTool(f"{self.spec.name}: {self.function} cannot be imported: {type(error).__name__}: {error}") from error
        _check_parameters(self.spec.name, found)
        function: Function = found
        return function


def tool(
    *, scope: Scope, repeatable: bool, in_turn: bool = False, label: Label | None = None
) -> Callable[[Callable[[Call, In], Awaitable[Out] | Out]], OwnTool]:
    """Makes a tool of a function: its name is the tool's, its docstring what the model is told, its two annotations the models.

    `scope` is what the person must be allowed; `repeatable` says that a call whose outcome is not known may be run again; `in_turn` that
    the tool is not for direct calls; `label` is what people read of its calls, made from its name where none is given. Raises BadTool.
    """

    def made(function: Callable[[Call, In], Awaitable[Out] | Out]) -> OwnTool:
        name = function.__name__
        _check_parameters(name, function)
        parameter = list(inspect.signature(function).parameters)[1]
        hints = get_type_hints(function)
        taken, given = hints.get(parameter), hints.get("return")
        for what, model in (("its second parameter", taken), ("what it returns", given)):
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                raise BadTool(f"{name}: annotate {what} with a pydantic model")
        description = inspect.cleandoc(function.__doc__ or "")
        spec = ToolSpec(name, description, hints[parameter], hints["return"], scope, repeatable, in_turn, label)
        return OwnTool(spec, function)

    return made


def _check(spec: ToolSpec) -> None:
    """Raises BadTool for what a provider would refuse or a model could not use."""
    name = spec.name
    if not NAME.fullmatch(name):
        raise BadTool(f"{name!r} is no name for a tool: letters, digits, _ and -, at most 64, a letter first")
    if not spec.description.strip():
        raise BadTool(f"{name}: say what it does, in the function's docstring: it is all that the model is told")
    if len(spec.description) > LONGEST_DESCRIPTION:
        raise BadTool(f"{name}: its description has more than {LONGEST_DESCRIPTION} characters")
    if any(not 0 < len(words.strip()) <= LONGEST_LABEL for words in (spec.label.doing, spec.label.done)):
        raise BadTool(f"{name}: each half of its label is a few words, at most {LONGEST_LABEL} characters")
    _check_model(name, "input", spec.input, "validation")
    _check_model(name, "output", spec.output, "serialization")
    if issubclass(spec.output, Asked | Proposed):
        raise BadTool(f"{name}: {spec.output.__name__} is what askbus's own tools return")


def _check_model(name: str, what: str, model: type[BaseModel], mode: JsonSchemaMode) -> None:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise BadTool(f"{name}: its {what} is no pydantic model")
    try:
        schema = model.model_json_schema(mode=mode)
    except PydanticUserError as error:
        raise BadTool(f"{name}: its {what} has no JSON schema: {error.message}") from error
    if _kind(schema) != "object":
        raise BadTool(f"{name}: its {what} must be an object with named fields; put the value into a field of a model")


def _kind(schema: dict[str, Any]) -> object:
    """The type that a schema stands for; a model that contains itself is only a reference at the top."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _kind(schema["$defs"][reference.removeprefix("#/$defs/")])
    return schema.get("type")


def _check_parameters(name: str, function: object) -> None:
    if not callable(function):
        raise BadTool(f"{name}: {function!r} is no function")
    try:
        inspect.signature(function).bind(None, None)
    except (TypeError, ValueError):
        raise BadTool(f"{name}: it must take two parameters, the call and its input") from None
