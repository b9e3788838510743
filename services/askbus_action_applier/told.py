"""Telling agents on the bus what became of their actions.

The row is what they must hear, and stays untold until they acknowledge it; the message is only a wake-up for those who listen
now.
"""

from nats.aio.client import Client

from askbus.actions import reads
from askbus.bus import subjects
from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.runtime import crash


class Teller:
    """Wakes the agent whose action has an outcome."""

    def __init__(self, pool: Pool, nc: Client) -> None:
        self.pool = pool
        self.nc = nc

    async def on_action_concluded(self, fact: Fact) -> None:
        token_id = await reads.proposer_token(self.pool, fact.entity_id)
        if token_id is None:
            return
        crash.point("applier.tell.before_publish")
        await self.nc.publish(subjects.told(token_id, fact.entity_id), fact.status.encode())
        crash.point("applier.tell.after_publish")
