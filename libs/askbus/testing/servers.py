"""The Postgres and NATS that tests run against: embedded by default, containers or servers that run already when told so.

| environment                                          | servers                                                        |
| ---------------------------------------------------- | -------------------------------------------------------------- |
| nothing                                              | embedded ones from wheels, each test process its own           |
| ASKBUS_TEST_SERVERS=testcontainers                   | containers of the official images (a Docker engine is needed)  |
| ASKBUS_TEST_DATABASE_URL, ASKBUS_TEST_NATS_URL       | these; NATS configured by `askbus deploy nats-conf` for SECRET |
"""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import asyncpg

from askbus.bus.envelope import Service
from askbus.runtime.secrets import service_database_url
from askbus.stack.nats import Nats
from askbus.stack.ports import free_port
from askbus.stack.postgres import Postgres

SECRET = "the secret of deployments that only tests see"  # noqa: S105  # and that nobody else should use
TEMPLATE = "askbus_template"

MEMORY = Path("/dev/shm")  # noqa: S108  # each folder in it is made by mkdtemp
ROOM = 1 << 30
"""Bytes that must be free there for a cluster to live in it: each takes a quarter of that."""


class Server(Protocol):
    """A running server. `url` is the administrator's for Postgres; for NATS it holds no credentials."""

    @property
    def url(self) -> str: ...


@dataclass(frozen=True)
class Elsewhere:
    """A server that somebody else started."""

    url: str


@dataclass(frozen=True)
class TestDatabase:
    """A migrated database that one test has to itself."""

    __test__ = False

    url: str
    """The administrator's DSN."""
    secret: str = SECRET

    def role_url(self, service: Service) -> str:
        """The DSN of the service's own Postgres role."""
        return service_database_url(self.url, service, self.secret)


@asynccontextmanager
async def run_postgres(folder: Path) -> AsyncIterator[Server]:
    """Postgres 18 for a whole session of tests."""
    if url := os.environ.get("ASKBUS_TEST_DATABASE_URL"):
        yield Elsewhere(url)
    elif _containers():
        from testcontainers.postgres import PostgresContainer  # noqa: PLC0415  # only where Docker is wanted

        with PostgresContainer("postgres:18", driver=None).with_command(
            "postgres -c fsync=off -c max_connections=200"
        ) as container:
            yield Elsewhere(container.get_connection_url())
    else:
        with _in_memory(folder) as data:
            postgres = Postgres(data / "postgres", port=free_port(), log=folder / "postgres.log", durable=False)
            await postgres.start()
            try:
                yield postgres
            finally:
                await postgres.stop()


@asynccontextmanager
async def run_nats(folder: Path, accounts: str = "") -> AsyncIterator[Server]:
    """A NATS server with JetStream and an empty store. `accounts` says who may do what; a server elsewhere has its own."""
    if url := os.environ.get("ASKBUS_TEST_NATS_URL"):
        yield Elsewhere(url)
    elif _containers():
        from testcontainers.nats import NatsContainer  # noqa: PLC0415  # only where Docker is wanted

        config = folder / "nats.conf"
        config.write_text(f"jetstream {{ store_dir: /data }}\n{accounts}\n")
        container = NatsContainer("nats:2.15", jetstream=False).with_volume_mapping(str(config), "/nats.conf", "ro")
        with container.with_command("-c /nats.conf") as running:
            yield Elsewhere(running.nats_uri())
    else:
        nats = Nats(folder / "nats", port=free_port(), log=folder / "nats.log", accounts=accounts)
        await nats.start()
        try:
            yield nats
        finally:
            await nats.kill()  # nobody needs its store any more, and an orderly end takes it 100 ms


@asynccontextmanager
async def fresh_database(server_url: str, template: str) -> AsyncIterator[TestDatabase]:
    """A copy of `template`, dropped afterwards. Whoever is still connected then is cut off."""
    name = f"test_{uuid4().hex}"
    await administer(server_url, f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
    try:
        yield TestDatabase(on_database(server_url, name))
    finally:
        await administer(server_url, f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def _in_memory(folder: Path) -> Iterator[Path]:
    """A folder in memory, where the machine has one with room, else `folder`: databases are copied there for a third of the CPU.

    What a test process that was killed left there goes when the next one starts.
    """
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield folder
        return
    for left in MEMORY.glob("askbus-test-*-*"):
        if not Path(f"/proc/{left.name.split('-')[2]}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"askbus-test-{os.getpid()}-", dir=MEMORY) as made:
        yield Path(made)


async def administer(server_url: str, statement: str) -> None:
    """Run one statement as the administrator."""
    connection = await asyncpg.connect(server_url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def on_database(url: str, name: str) -> str:
    """The same address with another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _containers() -> bool:
    return os.environ.get("ASKBUS_TEST_SERVERS") == "testcontainers"
