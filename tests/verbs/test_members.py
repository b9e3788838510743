"""Members and their roles: what two administrators do at once, and who must stay."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from askbus.access import verbs
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.errors import Conflict, InvalidInput
from askbus.testing.people import Company, Person
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("I3")


async def remove(db: Pool, company: Company, who: Person) -> None:
    await verbs.remove_member(db, company.workspace_id, who.id)


async def demote(db: Pool, company: Company, who: Person) -> None:
    await verbs.set_member(db, company.workspace_id, who.id, Role.MEMBER)


async def owners(pool: Pool, company: Company) -> int:
    count = await pool.fetchval(
        "SELECT count(*) FROM memberships WHERE workspace_id = $1 AND role = 'owner'", company.workspace_id
    )
    return int(count)


@pytest.mark.parametrize("first", [remove, demote])
@pytest.mark.parametrize("second", [remove, demote])
async def test_two_owners_cannot_put_each_other_out_at_once(
    first: Callable[[Pool, Company, Person], Awaitable[None]],
    second: Callable[[Pool, Company, Person], Awaitable[None]],
    pool: Pool,
    company: Company,
) -> None:
    """Each finds the other still there when it begins; the one that comes late finds itself the last."""
    await verbs.set_member(pool, company.workspace_id, company["admin"].id, Role.OWNER)
    async with pool.acquire() as one, pool.acquire() as two:
        backend = await two.fetchval("SELECT pg_backend_pid()")

        async def waits() -> bool:
            return bool(await pool.fetchval("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1", backend))

        transaction = one.transaction()
        await transaction.start()
        await first(one, company, company["admin"])  # type: ignore[arg-type]  # a connection is as good as a pool
        late = asyncio.ensure_future(second(two, company, company["owner"]))  # type: ignore[arg-type]
        await until(waits)
        await transaction.commit()
        with pytest.raises(Conflict, match="last owner"):
            await late
    assert await owners(pool, company) == 1


@pytest.mark.parametrize("put_out", [remove, demote])
async def test_the_last_owner_stays(
    put_out: Callable[[Pool, Company, Person], Awaitable[None]], pool: Pool, company: Company
) -> None:
    """And may go when there is another."""
    with pytest.raises(Conflict):
        await put_out(pool, company, company["owner"])
    await verbs.set_member(pool, company.workspace_id, company["owner"].id, Role.OWNER)
    await verbs.set_member(pool, company.workspace_id, company["mia"].id, Role.OWNER)
    await put_out(pool, company, company["owner"])
    assert await owners(pool, company) == 1


async def test_no_demo_user_runs_a_workspace(pool: Pool, company: Company) -> None:
    """They look at everything and change nothing."""
    for role in (Role.OWNER, Role.ADMIN):
        with pytest.raises(InvalidInput):
            await verbs.set_member(pool, company.workspace_id, company["mia"].id, role, demo=True)


async def test_a_new_member_of_a_project_must_be_one_of_the_workspace(pool: Pool, company: Company) -> None:
    """Nobody is let into a project through another workspace, nor into another workspace's project."""
    for who, project in ((company["stranger"], company.north), (company["mia"], company.elsewhere)):
        with pytest.raises(InvalidInput):
            await verbs.add_to_project(pool, company.workspace_id, project, who.id)
