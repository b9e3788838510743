"""Telling a service to stop before it is ready."""

import asyncio

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.testing.servers import Server, TestDatabase


async def test_a_service_stops_though_what_it_waits_for_swallows_a_cancellation(
    database: TestDatabase, nats_server: Server
) -> None:
    """As asyncio.wait_for does where a connection is refused in that very moment: the service would live until it is killed."""
    await provision(nats_server.url, ack_wait=1)
    swallowed = asyncio.Event()
    waits = asyncio.Event()

    async def wire(_ground: Ground) -> None:
        waits.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.set()
        await asyncio.Event().wait()

    settings = Settings.load(database_url=database.role_url(Service.EXPIRY), nats_url=nats_server.url, http_port=0, ack_wait=1)
    stop = asyncio.Event()
    running = asyncio.create_task(App(Service.EXPIRY, settings, wire).run(stop))
    await waits.wait()
    stop.set()
    async with asyncio.timeout(30):
        await running
    assert swallowed.is_set()
