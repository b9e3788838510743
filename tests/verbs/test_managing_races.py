"""What people who manage a team do at the same moment: each is weighed by the role that they have left."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from askbus.access import managing, reads, verbs
from askbus.access.credentials import digest
from askbus.access.model import Role
from askbus.db.pool import Connection, Pool
from askbus.errors import AskbusError, InvalidInput, PermissionDenied, Unauthenticated
from askbus.testing.people import Company
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("I3")

Step: TypeAlias = "Callable[[Connection], Awaitable[object]]"


async def meet(pool: Pool, first: Step, second: Step) -> object:
    """What becomes of `second`, which began while `first` had moved and was not committed: it waited for it."""
    async with pool.acquire() as one, pool.acquire() as two:
        backend = await two.fetchval("SELECT pg_backend_pid()")

        async def waits() -> bool:
            return bool(await pool.fetchval("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", backend))

        transaction = one.transaction()
        await transaction.start()
        await first(one)
        late = asyncio.ensure_future(second(two))
        await until(waits)
        await transaction.commit()
        try:
            return await late
        except AskbusError as error:
            return type(error)


def change(company: Company, who: str, whom: str, role: Role) -> Step:
    return lambda db: managing.change_member(db, company[who].principal, company[whom].id, role=role, demo=None)


def dismiss(company: Company, who: str, whom: str) -> Step:
    return lambda db: managing.dismiss_member(db, company[who].principal, company[whom].id)


async def owners(pool: Pool, company: Company) -> list[object]:
    return [
        row["user_id"]
        for row in await pool.fetch(
            "SELECT user_id FROM memberships WHERE workspace_id = $1 AND role = 'owner'", company.workspace_id
        )
    ]


async def test_of_two_owners_who_put_each_other_out_the_first_stays(pool: Pool, company: Company) -> None:
    """Demoted or removed, in each order: the second has lost the right by the time it is their turn."""
    for first in (change(company, "owner", "admin", Role.MEMBER), dismiss(company, "owner", "admin")):
        for second in (change(company, "admin", "owner", Role.MEMBER), dismiss(company, "admin", "owner")):
            await verbs.set_member(pool, company.workspace_id, company["admin"].id, Role.OWNER)
            assert await meet(pool, first, second) is PermissionDenied
            assert await owners(pool, company) == [company["owner"].id]


async def test_who_loses_the_right_while_they_use_it_changes_nothing(pool: Pool, company: Company) -> None:
    """An admin who is being demoted, whatever they do at that moment."""
    by, mia = company["admin"].principal, company["mia"].id
    steps: list[Step] = [
        change(company, "admin", "mia", Role.ADMIN),
        dismiss(company, "admin", "mia"),
        lambda db: managing.change_workspace(db, by, {"name": "Mine"}),
        lambda db: managing.create_project(db, by, company.workspace_id, "mine"),
        lambda db: managing.rename_project(db, by, company.north, "mine"),
        lambda db: managing.add_project_member(db, by, company.south, mia),
        lambda db: managing.remove_project_member(db, by, company.north, mia),
    ]
    before = await pool.fetch("SELECT * FROM project_access ORDER BY user_id, project_id")
    for step in steps:
        demoted = await meet(pool, change(company, "owner", "admin", Role.VIEWER), step)
        assert demoted is not None
        assert issubclass(demoted, AskbusError)  # type: ignore[arg-type]
        await verbs.set_member(pool, company.workspace_id, company["admin"].id, Role.ADMIN)
    assert await pool.fetch("SELECT * FROM project_access ORDER BY user_id, project_id") == before
    assert await pool.fetchval("SELECT count(*) FROM projects WHERE name = 'mine'") == 0
    assert await pool.fetchval("SELECT name FROM workspaces WHERE id = $1", company.workspace_id) == "Nordlicht"


@pytest.mark.requirement("I1")
async def test_no_token_or_session_is_made_past_a_removal(pool: Pool, company: Company) -> None:
    """Made in the same moment, before or after: it is of no use, then or when the member comes back."""
    mia = company["mia"]
    secrets: list[str] = []

    async def token(db: Connection) -> None:
        secrets.append((await verbs.create_token(db, mia.principal, name="last"))[0])

    code = await verbs.create_login_code(pool, company.workspace_id, mia.id)
    cookies: list[str] = []

    async def enter(db: Connection) -> None:
        cookies.append((await verbs.sign_in(db, code)).cookie)

    out = dismiss(company, "owner", "mia")
    assert await meet(pool, out, token) is InvalidInput
    await verbs.set_member(pool, company.workspace_id, mia.id, Role.MEMBER)
    assert await meet(pool, token, out) is None
    await verbs.set_member(pool, company.workspace_id, mia.id, Role.MEMBER)
    code = await verbs.create_login_code(pool, company.workspace_id, mia.id)
    assert await meet(pool, enter, out) is None
    await verbs.set_member(pool, company.workspace_id, mia.id, Role.MEMBER)
    code = await verbs.create_login_code(pool, company.workspace_id, mia.id)
    assert await meet(pool, out, enter) is Unauthenticated
    await verbs.set_member(pool, company.workspace_id, mia.id, Role.MEMBER)
    assert len(secrets) == 1
    assert await reads.principal_of_token(pool, secrets[0]) is None
    assert len(cookies) == 1
    assert await reads.principal_of_session(pool, cookies[0]) is None
    ended = "SELECT fact FROM change_log WHERE entity_id = (SELECT id FROM sessions WHERE hash = $1)"
    assert await pool.fetchval(ended, digest(cookies[0])) == "session.revoked"
