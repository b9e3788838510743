"""The scene of the tables: all six services over one company, once for the folder."""

from collections.abc import AsyncIterator

import pytest
from tests.doors.isolation.furnished import MODEL, SETTINGS, Furnished, furnish
from tests.loop.conftest import ALL_SIX

from askbus.bus.provision import provision
from askbus.db.pool import open_pool
from askbus.testing.composed import compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import found_company
from askbus.testing.records import SHOP, team_database
from askbus.testing.servers import Server, fresh_database, run_nats


@pytest.fixture(scope="package")
async def bus(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The address of the bus that the services share."""
    async with run_nats(tmp_path_factory.mktemp("isolation")) as nats:
        await provision(nats.url, ack_wait=1)
        yield nats.url


@pytest.fixture(scope="package")
async def furnished(postgres_server: Server, migrated_template: str, bus: str) -> AsyncIterator[Furnished]:
    """All six services, the scene and its callers."""
    async with (
        fresh_database(postgres_server.url, migrated_template) as database,
        team_database(postgres_server.url, ledger=True) as shop,
        open_pool(database.url, size=4, name="tests") as pool,
        ScriptedModel(MODEL) as model,
    ):
        await shop.run(SHOP)
        company = await found_company(pool)
        settings = {"model_base_url": model.base_url, "records_url": shop.url, **SETTINGS}
        async with compose(database, bus, ALL_SIX, **settings) as services, furnish(services, company, pool) as made:
            yield made
