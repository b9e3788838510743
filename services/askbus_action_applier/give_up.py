"""Ending what cannot be done: through the ledger too, so that nothing can be applied after it was called failed."""

from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal
from askbus.records.changes import Outcome, Problem
from askbus.records.engine import Records
from askbus.records.ledger import Entry, Verdict
from askbus.records.settle import FAILED, Progress, settle

OURS = "Nothing was changed: askbus itself failed at this several times. It was logged for whoever runs it."


async def give_up(records: Records, entry: Entry, by: Principal, reason: str = OURS) -> Outcome:
    """Records a failed apply, or a refused undo, unless the ledger has an outcome: then that one stands.

    Raises Unavailable while the target is away.
    """

    async def work(_connection: AsyncConnection, _progress: Progress) -> Verdict:
        return Verdict(state=FAILED[entry.kind], problem=Problem(operation="", message=reason))

    return await settle(records, by, entry, work)
