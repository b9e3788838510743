"""What ends by time alone, swept with no more rights than expiry has."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from askbus.access import verbs
from askbus.access.model import Scope
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase

SOON = timedelta(minutes=1)


@pytest.fixture
async def expiry(database: TestDatabase) -> AsyncIterator[Pool]:
    """Connections as expiry's own role."""
    async with open_pool(database.role_url(Service.EXPIRY), size=2, name="expiry") as pool:
        yield pool


async def test_sign_in_codes_are_dropped_when_their_time_is_over(pool: Pool, expiry: Pool, company: Company) -> None:
    """A code of a quarter of an hour ago is deleted, one that still works stays."""
    mia = company["mia"]
    now = datetime.now(UTC)
    await verbs.create_login_code(pool, company.workspace_id, mia.id, now=now - timedelta(minutes=16))
    await verbs.create_login_code(pool, company.workspace_id, mia.id, now=now)
    before = await pool.fetchval("SELECT count(*) FROM login_links")
    assert len(await verbs.drop_login_codes(expiry, now=now)) == 1
    assert await verbs.drop_login_codes(expiry, now=now) == []
    assert await pool.fetchval("SELECT count(*) FROM login_links WHERE expires_at > $1", now) == before - 1


async def test_sessions_and_tokens_expire_once(pool: Pool, expiry: Pool, company: Company) -> None:
    """Each is marked by one sweep and left alone by the next; what has time left is untouched."""
    soon = datetime.now(UTC) + SOON
    _secret, token = await verbs.create_token(pool, company["mia"].principal, name="short", scopes=[Scope.CHAT], expires_at=soon)
    await verbs.create_token(pool, company["mia"].principal, name="lasting", scopes=[Scope.CHAT])
    assert await verbs.expire_tokens(expiry) == []
    assert await verbs.expire_tokens(expiry, now=soon + SOON) == [token.id]
    assert await verbs.expire_tokens(expiry, now=soon + SOON) == []
    assert await verbs.expire_sessions(expiry) == []
    over = datetime.now(UTC) + timedelta(seconds=verbs.SESSION_LIFE) + SOON
    assert len(await verbs.expire_sessions(expiry, now=over)) == len(company.people)
    assert await verbs.expire_sessions(expiry, now=over) == []
