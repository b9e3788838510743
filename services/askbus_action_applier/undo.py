"""Requested undos are carried out: under a ledger key of their own, and copied from there as an action's outcome is."""

from uuid import UUID

import structlog

from askbus.access import reads as access
from askbus.actions import reads, verbs
from askbus.actions.reads import Requested
from askbus.bus import faults
from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.errors import Conflict, Unavailable
from askbus.records.changes import LedgerKind, Outcome, OutcomeState
from askbus.records.ledger import Entry
from askbus.records.undo import undo
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus_action_applier.give_up import give_up
from askbus_action_applier.target import Target

log = structlog.get_logger()

NOT_TRIED = "Not tried: an undo that comes before this one was refused."


class Undoer:
    """Undoes what was asked for, as the person who asked, with the rights that they have by then."""

    def __init__(self, pool: Pool, target: Target) -> None:
        self.pool = pool
        self.target = target

    async def on_action_undo_requested(self, fact: Fact) -> None:
        """The fact's parent is the undo; one wake-up does for a whole turn.

        Raises Unavailable while the target is away: the fact waits."""
        if fact.parent_id is not None:
            await self.undo(fact.parent_id)

    async def undo(self, undo_id: UUID) -> None:
        """Undoes the action unless that was done or refused before; then the outcome is copied, unless that was done too.

        Of a turn's undos it does all that are left, in their order; when one is refused, those after it are refused untried.
        """
        stopped = False
        for requested in await reads.to_undo(self.pool, undo_id):
            stopped = stopped or requested.stopped
            outcome = await self._one(requested, NOT_TRIED if stopped else None)
            stopped = outcome.state is OutcomeState.REFUSED and not requested.rest

    async def _one(self, requested: Requested, refusal: str | None) -> Outcome:
        by = await access.person_in_project(self.pool, requested.user_id, requested.workspace_id, requested.project_id)
        crash.point("applier.undo.before_target")
        entry = Entry(id=requested.id, kind=LedgerKind.UNDO, action_id=requested.action_id)
        if refusal is None:
            try:
                outcome = await undo(
                    self.target.within(requested.project_id), requested.id, requested.action_id, by, rest=requested.rest
                )
            except (
                Conflict
            ) as conflict:  # the ledger knows of nothing to undo: these records are not those that it was applied to
                outcome = await give_up(self.target.records, entry, by, conflict.message)
        else:
            outcome = await give_up(self.target.records, entry, by, refusal)
        crash.point("applier.undo.before_copy")
        if await verbs.record_undo(self.pool, requested.id, outcome, trace=traceparent()):
            log.info("undo.settled", undo_id=str(requested.id), state=outcome.state.value)
        crash.point("applier.undo.after_copy")
        return outcome

    async def end(self, undo_id: UUID) -> None:
        """Tries a last time; where that fails for a reason that is ours, the undo is refused. What the ledger has stands."""
        try:
            await self.undo(undo_id)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it has come several times: people must not wait for more
            log.error("undo.given_up", undo_id=str(undo_id), error=faults.kind(error), frames=faults.stack(error))  # noqa: TRY400  # no words of the error
            await self._give_up(undo_id)

    async def _give_up(self, undo_id: UUID) -> None:
        for requested in await reads.to_undo(self.pool, undo_id):
            by = await access.person_in_project(self.pool, requested.user_id, requested.workspace_id, requested.project_id)
            entry = Entry(id=requested.id, kind=LedgerKind.UNDO, action_id=requested.action_id)
            outcome = await give_up(self.target.records, entry, by)
            await verbs.record_undo(self.pool, requested.id, outcome, trace=traceparent())
