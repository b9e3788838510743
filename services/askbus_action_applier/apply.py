"""Confirmed actions become records: the ledger in the records' own database decides, the action's state is copied from it.

Nothing is remembered between the two: whoever comes again finds the outcome in the ledger.
"""

from uuid import UUID

import structlog

from askbus.access import reads as access
from askbus.actions import reads, verbs
from askbus.bus import faults
from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.errors import Unavailable
from askbus.records.apply import apply
from askbus.records.changes import LedgerKind
from askbus.records.ledger import Entry
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus_action_applier.give_up import give_up
from askbus_action_applier.target import Target

log = structlog.get_logger()


class Applier:
    """Applies what was confirmed, as the person who confirmed it, with the rights that they have by then."""

    def __init__(self, pool: Pool, target: Target) -> None:
        self.pool = pool
        self.target = target

    async def on_action_confirmed(self, fact: Fact) -> None:
        """Raises Unavailable while the target is away: the fact waits, the action stays confirmed."""
        await self.apply(fact.entity_id)

    async def apply(self, action_id: UUID) -> None:
        """Applies the action unless that was done before; then its outcome is copied, unless that was done too."""
        action = await reads.to_apply(self.pool, action_id)
        if action is None:
            return
        by = await access.person_in_project(self.pool, action.user_id, action.workspace_id, action.project_id)
        crash.point("applier.apply.before_target")
        outcome = await apply(self.target.within(action.project_id), action.id, action.prepared(), by)
        crash.point("applier.apply.before_copy")
        if await verbs.record_outcome(self.pool, action.id, outcome, trace=traceparent()):
            log.info("action.settled", action_id=str(action.id), state=outcome.state.value)
        crash.point("applier.apply.after_copy")

    async def end(self, action_id: UUID) -> None:
        """Tries a last time; where that fails for a reason that is ours, so does the action. What the ledger has stands."""
        try:
            await self.apply(action_id)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it has come several times: people must not wait for more
            log.error("action.given_up", action_id=str(action_id), error=faults.kind(error), frames=faults.stack(error))  # noqa: TRY400  # no words of the error
            await self._give_up(action_id)

    async def _give_up(self, action_id: UUID) -> None:
        action = await reads.to_apply(self.pool, action_id)
        if action is None:
            return
        by = await access.person_in_project(self.pool, action.user_id, action.workspace_id, action.project_id)
        entry = Entry(id=action.id, kind=LedgerKind.APPLY, action_id=action.id)
        outcome = await give_up(self.target.records, entry, by)
        await verbs.record_outcome(self.pool, action.id, outcome, trace=traceparent())
