"""Agents on the bus: NATS asks the gateway about every API token that somebody connects with, and is told when one counts no more."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import nats.errors
import structlog

from askbus.access import reads
from askbus.bus import faults
from askbus.bus.callout import PATIENCE, Callout, Known
from askbus.bus.kick import end_connections
from askbus.db.outages import OUTAGES
from askbus.feed.model import Change
from askbus.runtime.ground import Ground
from askbus_gateway.sse.hub import Hub

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


def dismiss_agents(ground: Ground, hub: Hub) -> None:
    """Ends the connections of tokens that are revoked. Every gateway hears of each; the doors refuse them without it too."""
    if ground.settings.callout_seed is None:
        return
    ended: asyncio.Queue[UUID] = asyncio.Queue()

    def on_changes(changes: Sequence[Change]) -> None:
        for change in changes:
            if change.entity == "token" and change.status == "revoked":
                ended.put_nowait(change.entity_id)

    async def dismiss() -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(_dismiss(ground, await ended.get()))

    hub.listen(on_changes)
    ground.runs("agents", dismiss)


async def _dismiss(ground: Ground, p: UUID) -> None:
    """Twice: who was welcomed in the moment before the end may not be connected yet when it is looked for."""
    for pause in (0, PATIENCE):
        await asyncio.sleep(pause)
        try:
            number = await end_connections(ground.nc, p)
        except (nats.errors.Error, ValueError) as error:
            log.warning("agents.not_dismissed", token_id=str(p), reason=faults.kind(error))
        else:
            log.info("agents.dismissed", token_id=str(p), connections=number)
