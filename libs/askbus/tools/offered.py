"""The tools of this deployment: the built-in ones, and those of the modules that ASKBUS_TOOLS names. One list for every process."""

from collections.abc import Iterable
from importlib import import_module

from askbus.metrics.registered import Metric
from askbus.runtime.settings import SettingsError
from askbus.tools.catalogue import CATALOGUE, GENERATE_IMAGE
from askbus.tools.model import ToolSpec
from askbus.tools.own import BadTool, OwnTool


def offered(modules: Iterable[str], *, pictures: bool = False) -> tuple[ToolSpec, ...]:
    """What each tool is, the built-in ones first; `pictures`: something can make them. Raises SettingsError like `own_tools`."""
    return (*CATALOGUE, *((GENERATE_IMAGE,) if pictures else ()), *(tool.spec for tool in own_tools(modules)))


def own_tools(modules: Iterable[str]) -> tuple[OwnTool, ...]:
    """The tools that stand in these modules, in the order in which they are written there.

    Raises SettingsError where a module cannot be imported or has no tool, and where a name is taken.
    """
    taken = {spec.name: "a built-in tool" for spec in (*CATALOGUE, GENERATE_IMAGE)}
    tools: list[OwnTool] = []
    for name in modules:
        found = [tool for tool in _found(name) if tool not in tools]
        for tool in found:
            if tool.spec.name in taken:
                raise _wrong(f"{name} calls a tool {tool.spec.name}, which is the name of {taken[tool.spec.name]}. Rename it.")
            taken[tool.spec.name] = f"a tool of {name}"
        tools += found
    return tuple(tools)


def _found(name: str) -> list[OwnTool]:
    try:
        module = import_module(name)
    except BadTool as error:
        raise _wrong(f"a tool of {name} cannot be used. {error}.") from error
    except Exception as error:
        where = (
            "" if not (isinstance(error, ModuleNotFoundError) and error.name == name) else " Is it installed, or on PYTHONPATH?"
        )
        raise _wrong(f"{name} cannot be imported: {type(error).__name__}: {error}.{where}") from error
    values = [value.tool if isinstance(value, Metric) else value for value in vars(module).values()]
    found = [value for value in values if isinstance(value, OwnTool)]
    if not found:
        raise _wrong(
            f"{name} has no tools. Mark a function with `@tool(…)` (askbus.tools.own) or `@metric(…)` (askbus.metrics.registered)."
        )
    return found


def _wrong(what: str) -> SettingsError:
    return SettingsError(f"askbus cannot start; ASKBUS_TOOLS: {what}")
