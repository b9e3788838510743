"""How long a token's owner lets its calls over MCP wait for people."""

from askbus.access.model import Principal
from askbus.db.statements import Executor, Statement

HOLD = Statement("askbus.access", "sql/mcp_hold.sql")

LONGEST_HOLD = 600
"""Seconds (Q2)."""


async def hold_of(db: Executor, by: Principal) -> int | None:
    """Seconds, or None where the owner said nothing."""
    row = await HOLD.row(db, id=by.token_id)
    hold: int | None = None if row is None else row["mcp_hold"]
    return hold
