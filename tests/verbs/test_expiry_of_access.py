"""What ends by time alone, swept with no more rights than expiry has."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest

from askbus.access import invitations, joining, reads, verbs
from askbus.access.model import Role, Scope
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


@pytest.mark.requirement("I3", "I7")
async def test_invitations_expire_once(pool: Pool, expiry: Pool, company: Company) -> None:
    """Marked by one sweep, with its word in the audit; what has time left is untouched, and so is the rest of the row."""
    by = company["admin"].principal
    short, _code = await invitations.invite(pool, by, uuid4(), invitations.InvitationForm(email="a@b.example", expires_in=60))
    await invitations.invite(pool, by, uuid4(), invitations.InvitationForm(email="c@d.example"))
    assert await invitations.expire_due(expiry) == []
    assert await invitations.expire_due(expiry, now=short.expires_at) == [short.id]
    assert await invitations.expire_due(expiry, now=short.expires_at) == []
    audited = "SELECT via FROM audit_log WHERE event = 'invitation.expired' AND entity_id = $1"
    assert [row["via"] for row in await pool.fetch(audited, short.id)] == ["service"]
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await expiry.execute("UPDATE invitations SET role = 'owner'")


@pytest.mark.requirement("I3")
async def test_a_proven_address_is_let_in_without_the_code(pool: Pool, company: Company) -> None:
    """What a sign-in uses that has verified the address: by the newest invitation that stands. Whoever came by a link to it elsewhere,
    unproven, is out."""
    by, session = company["admin"].principal, uuid4()
    assert await joining.accept_proven(pool, "ada@new.example", name="Ada", session_id=session) is None
    form = invitations.InvitationForm(email="Ada@new.example", role=Role.VIEWER, projects=(company.north,))
    await invitations.invite(pool, by, uuid4(), form)
    elsewhere = company["stranger"].principal
    early, code = await invitations.invite(pool, elsewhere, uuid4(), invitations.InvitationForm(email="ada@new.example"))
    async with pool.acquire() as db, db.transaction():
        thief = await joining.accept(db, code, name="Thief", signed_in=None)
    assert early.stands
    assert await reads.principal_of_session(pool, thief.cookie) is not None
    found = await joining.accept_proven(pool, "ada@new.example", name="Ada", session_id=session)
    assert found is not None
    workspace_id, user_id = found
    assert workspace_id == company.workspace_id
    seen = await pool.fetch("SELECT role, project_id FROM project_access WHERE user_id = $1", user_id)
    assert [tuple(row) for row in seen] == [("viewer", company.north)]
    assert await joining.accept_proven(pool, "ada@new.example", name="Ada", session_id=session) is None
    assert await reads.principal_of_session(pool, thief.cookie) is None
