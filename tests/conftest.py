"""Servers for every test: Postgres once per process, a database and a NATS server per test. See askbus.testing.servers."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.spread import Spread, turn

from askbus.db.migrate import migrate
from askbus.testing.servers import (
    SECRET,
    TEMPLATE,
    Server,
    TestDatabase,
    administer,
    fresh_database,
    on_database,
    run_nats,
    run_postgres,
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spread:
    """Whatever `--dist` says: how these tests are spread is theirs to know."""
    return Spread(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first."""
    items.sort(key=lambda item: turn(item.nodeid))


@pytest.fixture(scope="session")
async def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    """Postgres 18 without fsync; `url` is its administrator's."""
    async with run_postgres(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture(scope="session")
async def migrated_template(postgres_server: Server) -> str:
    """The name of a migrated database, from which each test's is copied."""
    await administer(postgres_server.url, f'DROP DATABASE IF EXISTS "{TEMPLATE}" WITH (FORCE)')
    await administer(postgres_server.url, f'CREATE DATABASE "{TEMPLATE}"')
    await migrate(on_database(postgres_server.url, TEMPLATE), SECRET)
    return TEMPLATE


@pytest.fixture
async def database(postgres_server: Server, migrated_template: str) -> AsyncIterator[TestDatabase]:
    """A fresh migrated database: `url` is the administrator's, `role_url(service)` each service's own."""
    async with fresh_database(postgres_server.url, migrated_template) as made:
        yield made


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[Server]:
    """A fresh NATS server that lets everyone in; it takes 10 ms."""
    async with run_nats(tmp_path) as server:
        yield server
