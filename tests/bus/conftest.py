"""NATS as the tests of the bus need it: provisioned, open to everyone or with the accounts of a deployment."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from askbus.bus.accounts import accounts_block
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.testing.bus import Bus
from askbus.testing.servers import SECRET, Server, run_nats


@pytest.fixture
async def bus(nats_server: Server) -> AsyncIterator[Bus]:
    """A provisioned server that lets everyone in and do everything."""
    async with AsyncExitStack() as stack:
        bus = Bus(nats_server, guarded=False, stack=stack)
        await bus.provision()
        yield bus


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Bus]:
    """A provisioned server with a deployment's users and permissions."""
    async with run_nats(tmp_path, accounts_block(SECRET)) as server, AsyncExitStack() as stack:
        bus = Bus(server, guarded=True, stack=stack)
        await bus.provision()
        yield bus


@pytest.fixture
async def nc(bus: Bus) -> Connection:
    """The question-broker's connection to the open server."""
    return await bus.connect(Service.QUESTION_BROKER)
