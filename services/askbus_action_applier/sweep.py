"""What rests too long, because a wake-up was lost, is taken up by one instance. The ledger keeps it from being done twice."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

import structlog

from askbus.actions import verbs
from askbus.approvals import verbs as approvals
from askbus.bus import faults
from askbus.db.pool import Pool
from askbus.errors import Unavailable
from askbus.runtime import crash
from askbus_action_applier.apply import Applier
from askbus_action_applier.standing import Standing
from askbus_action_applier.undo import Undoer

log = structlog.get_logger()


class Sweep:
    """One instance's sweeps. `rested` is in seconds; `committed` tells the relay that rows were moved."""

    def __init__(
        self, pool: Pool, standing: Standing, applier: Applier, undoer: Undoer, *, rested: float, committed: Callable[[], None]
    ) -> None:
        self.pool = pool
        self.standing = standing
        self.applier = applier
        self.undoer = undoer
        self.rested = rested
        self.committed = committed

    async def wake(self) -> None:
        """Weighs proposals, applies confirmed actions and carries out requested undos that nobody has for a while."""
        if self.standing.longest_days:
            await self._each(await approvals.unweighed(self.pool, rested=self.rested), self.standing.weigh)
        await self._each(await verbs.wake_confirmed(self.pool, rested=self.rested), self.applier.apply)
        await self._each(await verbs.wake_undos(self.pool, rested=self.rested), self.undoer.undo)

    async def _each(self, ids: Sequence[UUID], work: Callable[[UUID], Awaitable[None]]) -> None:
        for entity_id in ids:
            crash.point("applier.sweep.after_claim")
            try:
                await work(entity_id)
            except Unavailable:
                return  # the target is away; the next sweeps come back to these
            except Exception as error:  # noqa: BLE001  # one that cannot be done keeps none of the others from it
                log.error("action.not_woken", entity_id=str(entity_id), error=faults.kind(error), frames=faults.stack(error))  # noqa: TRY400  # no words of the error
            self.committed()
