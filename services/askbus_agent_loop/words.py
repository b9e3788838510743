"""What people read of a tool call: the tool's own words, and none of the model's. Pure."""

from collections.abc import Iterable
from typing import TypedDict

from askbus.tools.model import ToolSpec
from askbus.tools.work import NO_TOOL, UNKNOWN
from askbus.turns.model import NewCall


class Words(TypedDict):
    """What is kept of a tool with each of its calls."""

    label: str | None
    doing: str | None
    may_repeat: bool


def words_of(tools: Iterable[ToolSpec], name: str) -> Words:
    """Those of the tool of this name; nothing where there is none."""
    spec = next((spec for spec in tools if spec.name == name), None)
    if spec is None:
        return {"label": None, "doing": None, "may_repeat": False}
    return {"label": spec.label.done, "doing": spec.label.doing, "may_repeat": spec.repeatable}


def shown(call: NewCall) -> dict[str, str]:
    """The call in the turn's stream, while it works."""
    return {"id": str(call.id), "name": call.name if call.label else UNKNOWN, "label": call.doing or NO_TOOL.doing}
