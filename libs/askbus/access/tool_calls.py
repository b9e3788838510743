"""The audit log's line for each call of a tool by a program, over MCP or directly (I10)."""

from typing import Literal
from uuid import UUID

from askbus.access.model import Principal
from askbus.db.statements import Executor, Statement

AUDIT = Statement("askbus.access", "sql/audit_tool_call.sql")


async def audit_tool_call(
    db: Executor, by: Principal, tool: str, call_id: UUID, *, event: Literal["mcp.tool_called", "tool.called"] = "mcp.tool_called"
) -> None:
    """Notes who called which tool, before it runs; never with what, and never what came of it."""
    who = {"workspace_id": by.workspace_id, "user_id": by.user_id, "via": by.kind.value, "via_id": by.id}
    await AUDIT.run(db, event=event, entity=tool, entity_id=call_id, **who)
