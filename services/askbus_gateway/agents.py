"""Agents on the bus: NATS asks the gateway about every API token that somebody connects with."""

import asyncio

import structlog

from askbus.access import reads
from askbus.bus.callout import Callout, Known
from askbus.db.outages import OUTAGES
from askbus.runtime.ground import Ground

log = structlog.get_logger()

RETRY = 0.25


async def welcome_agents(ground: Ground) -> None:
    """Answers NATS's authorisation callout until the gateway stops; not where it was given no seed to sign with."""
    seed = ground.settings.callout_seed
    if seed is None:
        log.info("agents.not_welcomed", reason="ASKBUS_CALLOUT_SEED is not set")
        return

    async def authenticate(token: str) -> Known | None:
        while True:
            try:
                principal = await reads.principal_of_token(ground.pool, token)
                standing = None if principal is None else await reads.standing(ground.pool, principal)
            except OUTAGES as error:
                # Nobody is refused for an outage of ours: the callout's own patience ends this, and the agent tries again.
                log.warning("agents.not_looked_up", error=type(error).__name__)
                await asyncio.sleep(RETRY)
            else:
                return None if standing is None else Known(standing.principal.id, standing.seconds_left)

    callout = Callout(ground.nc, seed.get_secret_value(), authenticate)
    await callout.start()
    ground.at_end(callout.stop)
