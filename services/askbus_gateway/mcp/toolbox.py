"""The tools of the MCP door in the order in which they are listed (M6), and the door over them."""

from functools import partial
from uuid import UUID

from askbus.access.model import Principal
from askbus.access.tool_calls import audit_tool_call
from askbus.runtime.settings import Settings
from askbus_gateway.http.gate import Gate
from askbus_gateway.http.tools import LONGER
from askbus_gateway.http.waiting import Waiting
from askbus_gateway.http.workspace import Workspace
from askbus_gateway.mcp.door import Door
from askbus_gateway.mcp.holding import Holding
from askbus_gateway.mcp.questions import QuestionTools
from askbus_gateway.mcp.records import RecordTools
from askbus_gateway.mcp.results import Pages
from askbus_gateway.mcp.server import Server
from askbus_gateway.mcp.tool import Tool
from askbus_gateway.mcp.workspace import WorkspaceTools


def mcp_door(gate: Gate, waiting: Waiting, workspace: Workspace, settings: Settings) -> Door:
    """The endpoint, over the same commands, reads and waits as the REST API."""
    pages = Pages(gate.public_url)
    holding = Holding(waiting, usual=settings.mcp_hold, every=settings.mcp_report)
    records = RecordTools(gate, holding, pages, seconds=settings.tool_seconds + LONGER)
    tools = [*WorkspaceTools(workspace).tools(), records.query_tool, records.propose_tool, *QuestionTools(holding, pages).tools()]
    return Door(gate, Server(tools, partial(_audited, gate)), quiet=settings.heartbeat)


async def _audited(gate: Gate, by: Principal, tool: Tool, call_id: UUID) -> None:
    await audit_tool_call(gate.pool, by, tool.name, call_id)
