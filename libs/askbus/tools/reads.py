"""What the tool-runner looks at beside the call in hand."""

from askbus.db.statements import Executor, Statement
from askbus.tools.model import StuckCall

STUCK = Statement("askbus.tools", "sql/stuck.sql")


async def stuck(db: Executor, *, after: float, most: int) -> list[StuckCall]:
    """Up to `most` calls that wait for a machine: not begun `after` seconds after their request, or held by nobody."""
    return [StuckCall(row["id"], row["turn_id"], row["trace"]) for row in await STUCK.rows(db, stuck=after, most=most)]
