"""Reading the log from a cursor: the one function behind live tail, catch-up, replay and relay."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from askbus.db.statements import Executor, Statement
from askbus.feed.model import Change

CHANGES = Statement("askbus.feed", "sql/changes.sql")
PAGE = 500
LARGEST_PAGE = 16_000
"""Pages double up to this size: each one looks at all that is left, so that many small pages of one huge transaction, such as a bulk load
of a table on the feed, would cost the square of it."""


async def changes_after(
    db: Executor,
    cursor: str,
    *,
    upto: str | None = None,
    facts: Sequence[str] | None = None,
    workspace_id: UUID | None = None,
    page: int = PAGE,
) -> AsyncIterator[tuple[str, list[Change]]]:
    """Yields pages of what became visible after `cursor`, up to one snapshot: `upto`, or that of the first read. `facts` and
    `workspace_id` narrow it.

    Each page comes with the upper snapshot; only after the last page may a reader take it as its new cursor. There is always one
    page, perhaps an empty one: a reader that filters still moves on. Must read the primary: a standby's snapshot loses events.
    """
    after_seq = 0
    while True:
        rows = await CHANGES.rows(
            db, after=cursor, upto=upto, after_seq=after_seq, facts=facts, workspace_id=workspace_id, page=page
        )
        bound: str = rows[0]["cursor"]
        changes = [Change.of(row) for row in rows if row["seq"] is not None]
        yield bound, changes
        if len(changes) < page:
            return
        upto, after_seq, page = bound, changes[-1].seq, max(page, min(2 * page, LARGEST_PAGE))
