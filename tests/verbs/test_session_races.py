"""Sessions that are opened, or taken to another workspace, at the moment in which what they rest on ends."""

from uuid import UUID

import pytest
from tests.verbs.test_managing_races import Step, meet

from askbus.access import identities, passwords, reads, sessions, verbs
from askbus.access.model import Role
from askbus.access.verbs import NewSession
from askbus.db.pool import Connection, Pool
from askbus.errors import NotFound
from askbus.identity.model import Identity
from askbus.testing.people import Company

OLD, NEW = "$argon2id$old", "$argon2id$new"


@pytest.fixture
async def other(pool: Pool, company: Company) -> UUID:
    """A second workspace of Mia's, whose password is OLD."""
    other = await verbs.create_workspace(pool, "Second")
    await verbs.set_member(pool, other, company["mia"].id, Role.MEMBER)
    await pool.execute("INSERT INTO passwords (user_id, hash) VALUES ($1, $2)", company["mia"].id, OLD)
    return other


async def live(pool: Pool, opened: list[NewSession]) -> list[bool]:
    return [await reads.principal_of_session(pool, one.cookie) is not None for one in opened]


@pytest.mark.requirement("I1")
async def test_a_session_that_moves_on_while_the_password_changes_ends_with_the_others(
    pool: Pool, company: Company, other: UUID
) -> None:
    """Whoever took a session cannot keep it by switching from one workspace to another while its owner changes the password, sets a new
    one by a link, or proves their address at an issuer; nor can who opens one by the password at that moment."""
    mia, owner = company["mia"], company["owner"].principal
    email = str(await pool.fetchval("SELECT email FROM users WHERE id = $1", mia.id))
    opened: list[NewSession] = []

    async def by_change(db: Connection) -> None:
        await passwords.hold(db, mia.id)
        await passwords.change(db, owner.model_copy(update={"user_id": mia.id}), old_hash=OLD, new_hash=NEW)

    async def by_link(db: Connection) -> None:
        await passwords.hold(db, mia.id)
        await passwords.set_by_code(db, code, NEW)

    async def by_issuer(db: Connection) -> None:
        identity = Identity(issuer="https://acme.example", subject="mia", email=email, name=None)
        assert await identities.person_of(db, identity) == mia.id

    async def switches(db: Connection) -> None:
        opened.append(await sessions.switch_workspace(db, by, other))

    async def signs_in(db: Connection) -> None:
        opened.append(await sessions.open_session(db, mia.id, "password", password_hash=OLD))

    ends: list[Step] = [by_change, by_link, by_issuer]
    steps: list[Step] = [switches, signs_in]
    for end in ends:
        for step in steps:
            await pool.execute("DELETE FROM identities")
            await pool.execute("DELETE FROM passwords")
            await pool.execute("INSERT INTO passwords (user_id, hash) VALUES ($1, $2)", mia.id, OLD)
            code = await verbs.create_login_code(pool, company.workspace_id, mia.id, purpose="password")
            session = await verbs.sign_in(pool, await verbs.create_login_code(pool, company.workspace_id, mia.id))
            found = await reads.principal_of_session(pool, session.cookie)
            assert found is not None
            by = found
            assert await meet(pool, step, end) is None
            assert await live(pool, opened) == [False] * len(opened), (end, step)
    assert len(opened) == len(ends) * len(steps)


@pytest.mark.requirement("I1")
async def test_a_session_stays_where_it_is_when_the_way_on_ends(pool: Pool, company: Company, other: UUID) -> None:
    """Who is removed from a workspace while they switch to it is told so, and not signed out of the one where they are."""
    mia = company["mia"]

    async def removes(db: Connection) -> None:
        await verbs.remove_member(db, other, mia.id)

    async def switches(db: Connection) -> None:
        await sessions.switch_workspace(db, mia.principal, other)

    assert await meet(pool, removes, switches) is NotFound
    assert await reads.principal_of_session(pool, mia.cookie) == mia.principal


@pytest.mark.requirement("I1")
async def test_nobody_goes_on_in_a_session_that_ends_meanwhile(pool: Pool, company: Company, other: UUID) -> None:
    """Signing out and switching at once: whoever comes second finds the session ended, and no other is opened."""
    mia = company["mia"]

    async def leaves(db: Connection) -> None:
        await verbs.end_session(db, mia.principal)

    async def switches(db: Connection) -> None:
        await sessions.switch_workspace(db, mia.principal, other)

    assert await meet(pool, leaves, switches) is NotFound
    live_ones = "SELECT count(*) FROM sessions WHERE user_id = $1 AND state = 'active'"
    assert await pool.fetchval(live_ones, mia.id) == 0
