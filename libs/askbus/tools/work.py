"""What people see of a tool call: a fixed label, how it went, and what came of it to look at. Pure."""

from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel, ConfigDict

LONGEST_LABEL = 80


@dataclass(frozen=True)
class Label:
    """The two sentences of a tool, written by whoever wrote the tool: while it works, and afterwards."""

    doing: str
    done: str

    @classmethod
    def of(cls, name: str) -> "Label":
        """Those of a tool that brings none."""
        spoken = name.replace("_", " ").replace("-", " ")[:60]
        return cls(f"Using {spoken}", f"Used {spoken}")


NO_TOOL = Label("Looking for a tool that is not there", "Looked for a tool that is not there")
"""Of a call that names no tool: the name is the model's own writing, and is shown to nobody."""
UNKNOWN = "unknown"


class ShownCall(BaseModel):
    """A tool call as people see it. No arguments, no results; `name` is that of a tool, never what a model made up.

    `state` is requested, started, succeeded, failed, asked, or unknown: begun, and whether it took effect cannot be told. `retry` says that
    it failed and that answering the message once more is safe: nothing in its turn that may not happen twice was begun.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    name: str
    label: str
    doing: str
    state: str
    retry: bool
    question_id: UUID | None
    action_id: UUID | None
