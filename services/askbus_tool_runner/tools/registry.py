"""Which function runs which tool."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from askbus.tools.catalogue import (
    ASK_USER,
    DESCRIBE_RECORDS,
    GENERATE_IMAGE,
    PROPOSE_CHANGES,
    QUERY_RECORDS,
    READ_ATTACHMENT,
    RESOLVE,
    RESOLVE_NAMES,
)
from askbus.tools.model import ToolSpec
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.ask_user import ask_user
from askbus_tool_runner.tools.generate_image import generate_image
from askbus_tool_runner.tools.propose_changes import propose_changes
from askbus_tool_runner.tools.read_attachment import read_attachment
from askbus_tool_runner.tools.records import describe_records, query_records, resolve, resolve_names

Function = Callable[[Context, Any], Awaitable[BaseModel]]
"""Takes the context and the spec's input, returns its output; raises AskbusError for what the model should be told."""


@dataclass(frozen=True)
class Tool:
    """A tool and what runs it."""

    spec: ToolSpec
    function: Function


BUILT_IN: tuple[Tool, ...] = (
    Tool(DESCRIBE_RECORDS, describe_records),
    Tool(QUERY_RECORDS, query_records),
    Tool(RESOLVE, resolve),
    Tool(RESOLVE_NAMES, resolve_names),
    Tool(PROPOSE_CHANGES, propose_changes),
    Tool(ASK_USER, ask_user),
    Tool(READ_ATTACHMENT, read_attachment),
)

PICTURES = Tool(GENERATE_IMAGE, generate_image)
"""Where something can make them."""
