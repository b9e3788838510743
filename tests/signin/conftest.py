"""A gateway that trusts small issuers, which run beside it: started once, tests are kept apart by their workspaces."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.issuer import AUDIENCE, CLIENT, SECRET, TestIssuer, issuing, new_key
from askbus.testing.people import Company, found_company
from askbus.testing.servers import Server, TestDatabase, fresh_database, run_nats
from askbus_gateway.app import make_app as make_gateway


@dataclass(frozen=True)
class Stack:
    """The gateway, and what it stands on. `issuer` serves; `down` never did."""

    askbus: Composed
    database: TestDatabase
    issuer: TestIssuer
    down: TestIssuer


@pytest.fixture(scope="package")
async def stack(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stack]:
    """People sign in at the issuers, and their JWTs are bearer tokens."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        run_nats(tmp_path_factory.mktemp("nats")) as nats,
        issuing() as issuer,
        issuing() as down,
    ):
        await provision(nats.url, ack_wait=1)
        issuer.keys = [new_key("first"), new_key("pair", "RSA")]
        named = {"acme": issuer, "down": down}
        trusted = {name: {"issuer": one.url, "algorithms": ["ES256", "RS256"]} for name, one in named.items()}
        client = {"label": "Acme", "client_id": CLIENT, "client_secret": SECRET}
        settings = {
            "outbound_hosts": ["127.0.0.1"],
            "limit_sign_in_address": 0,
            "limit_sign_in_account": 6,
            "jwt_issuers": {name: {**one, "audience": AUDIENCE} for name, one in trusted.items()},
            "sign_in": {name: {**one, **client} for name, one in trusted.items()},
        }
        async with compose(database, nats.url, [(Service.GATEWAY, make_gateway)], command_patience=0, **settings) as askbus:
            yield Stack(askbus, database, issuer, down)


@pytest.fixture
async def askbus(stack: Stack) -> Composed:
    """The gateway."""
    return stack.askbus


@pytest.fixture
async def issuer(stack: Stack) -> TestIssuer:
    """The issuer that serves, honest again."""
    honest = TestIssuer()
    for name in ("person", "twist", "metadata", "answer", "signs", "names_itself"):
        setattr(stack.issuer, name, getattr(honest, name))
    return stack.issuer


@pytest.fixture
async def pool(stack: Stack) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(stack.database.url, size=4, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger: this test's own."""
    return await found_company(pool, f"Nordlicht {uuid4().hex[:8]}")
