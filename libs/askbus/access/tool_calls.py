"""The audit log's line for each call of a tool over MCP (I10)."""

from uuid import UUID

from askbus.access.model import Principal
from askbus.db.statements import Executor, Statement

AUDIT = Statement("askbus.access", "sql/audit_tool_call.sql")


async def audit_tool_call(db: Executor, by: Principal, tool: str, call_id: UUID) -> None:
    """Notes who called which tool, before it runs; never with what, and never what came of it."""
    await AUDIT.run(
        db, workspace_id=by.workspace_id, user_id=by.user_id, via=by.kind.value, via_id=by.id, entity=tool, entity_id=call_id
    )
