"""What is deleted when its time is over, with no more rights than expiry has; and how many registrations there may be."""

from datetime import UTC, datetime, timedelta

import pytest

from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.oauth import retention, verbs
from askbus.oauth.model import ACCESS_LIFE, REFRESH_LIFE, AuthMethod
from askbus.oauth.retention import KEEP, KEEP_CLIENTS
from askbus.testing.apps import CALLBACK, App, connect, consent, register_app
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase

pytestmark = pytest.mark.requirement("M3", "O9")


async def counts(pool: Pool) -> dict[str, int]:
    names = ("clients", "requests", "codes", "access_tokens", "refresh_tokens")
    return {name: await pool.fetchval(f"SELECT count(*) FROM oauth_{name}") for name in names}


async def test_each_goes_after_its_own_time_and_the_grant_stays(
    gateway: Pool, pool: Pool, database: TestDatabase, company: Company, app: App
) -> None:
    """Access tokens when they are over, codes when no replay can be told any more, refresh tokens with their grant, unused apps after a
    day; an app that somebody allowed something stays, and so does the row that audit and questions know."""
    await connect(gateway, company["owner"], app.client)
    await consent(gateway, company["owner"], app.client)
    await register_app(gateway, "Never used")
    now = datetime.now(UTC)
    async with open_pool(database.role_url(Service.EXPIRY), size=2, name="expiry") as expiry:
        for drop in (retention.drop_tokens, retention.drop_requests, retention.drop_clients):
            assert await drop(expiry) == []
        assert await counts(pool) == {"clients": 2, "requests": 2, "codes": 2, "access_tokens": 1, "refresh_tokens": 1}
        assert len(await retention.drop_tokens(expiry, now=now + timedelta(seconds=ACCESS_LIFE + 60))) == 1
        assert len(await retention.drop_clients(expiry, now=now + timedelta(seconds=KEEP_CLIENTS + 60))) == 1
        assert len(await retention.drop_requests(expiry, now=now + timedelta(seconds=KEEP + 900))) == 2
        assert await counts(pool) == {"clients": 1, "requests": 0, "codes": 0, "access_tokens": 0, "refresh_tokens": 1}
        assert len(await retention.drop_tokens(expiry, now=now + timedelta(seconds=REFRESH_LIFE + 60))) == 1
    assert await pool.fetchval("SELECT count(*) FROM tokens WHERE kind = 'oauth'") == 1


async def test_there_is_an_end_to_registrations_that_nobody_uses(gateway: Pool, company: Company) -> None:
    """One more than there may be is refused, until one of them was allowed something."""

    async def another() -> bool:
        made = await verbs.register(
            gateway, name="App", redirect_uris=[CALLBACK], auth_method=AuthMethod.NONE, refreshes=True, most=2
        )
        return made is not None

    app = await register_app(gateway)
    assert [await another(), await another()] == [True, False]
    await consent(gateway, company["owner"], app.client)
    assert [await another(), await another()] == [True, False]


async def test_of_one_session_s_pages_the_latest_count(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """However often a page is opened, by whomever it was led there."""
    mia = company["mia"].principal
    challenge = "c" * 43
    for _page in range(verbs.MOST_PAGES + 5):
        await verbs.begin(
            gateway,
            mia,
            app.client,
            redirect_uri=CALLBACK,
            code_challenge=challenge,
            resource="x",
            state=None,
            scopes=tuple(mia.scopes),
        )
    assert await pool.fetchval("SELECT count(*) FROM oauth_requests") == verbs.MOST_PAGES
