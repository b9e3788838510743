"""Whoever removes a member, and what that member does in the moment, take locks in one order: owners, memberships, what hangs on them."""

import asyncio

import pytest

from askbus.access import managing, passwords, verbs
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.errors import Unauthenticated
from askbus.testing.people import Company
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("I1", "I3")


@pytest.mark.parametrize("what", ["comes by a link", "sets a password by a link", "is given a role by the operator"])
async def test_a_removal_and_what_it_meets_do_not_wait_for_each_other(pool: Pool, company: Company, what: str) -> None:
    """The removal has begun to lock when the other comes: it goes on to its end, where Postgres would otherwise fail one of the two."""
    owner, mia, workspace = company["owner"], company["mia"], company.workspace_id
    link = await verbs.create_login_code(pool, workspace, mia.id)
    password = await verbs.create_login_code(pool, workspace, mia.id, purpose="password")

    async def meets() -> None:
        async with pool.acquire() as db, db.transaction():
            match what:
                case "comes by a link":
                    await verbs.sign_in(db, link)
                case "sets a password by a link":
                    await passwords.hold(db, mia.id)
                    await passwords.set_by_code(db, password, "$argon2id$new")
                case _:
                    await verbs.set_member(db, workspace, mia.id, Role.VIEWER)

    async def waits() -> bool:
        waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return bool(await pool.fetchval(waiting))

    held = [owner.id] if what.startswith("is given") else [owner.id, mia.id]
    async with pool.acquire() as removing, removing.transaction():
        sql = "SELECT FROM memberships WHERE workspace_id = $1 AND user_id = ANY ($2) ORDER BY user_id FOR UPDATE"
        await removing.execute(sql, workspace, held)
        meeting = asyncio.create_task(meets())
        await until(waits)
        await managing.dismiss_member(removing, owner.principal, mia.id)
    [met] = await asyncio.gather(meeting, return_exceptions=True)
    assert met is None or isinstance(met, Unauthenticated), met
    assert await pool.fetchval("SELECT count(*) FROM sessions WHERE user_id = $1 AND state = 'active'", mia.id) == 0
