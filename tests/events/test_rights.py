"""Streams whose rights change while they are open."""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest
from tests.events.conftest import BOTH_WAYS

from askbus.access import verbs as access
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, following
from askbus.testing.people import Agent, Company, Person, give_token, hire
from askbus.testing.questions import open_question

SECONDS = 3


async def ended(client: EventClient) -> bool:
    """Whether the stream says that it is over, and is, within seconds."""
    left = await client.end(within=SECONDS)
    return [(event.name, event.data) for event in left] == [("end", {"reason": "ended"})]


async def log_out(gateway: Composed, pool: Pool, who: Person) -> None:
    async with gateway.client(who) as browser:
        response = await browser.delete("/v1/session", headers={"x-askbus": "1"})
    assert response.status_code == 204


async def sign_out_everywhere(gateway: Composed, pool: Pool, who: Person) -> None:
    await pool.execute("DELETE FROM sessions WHERE id = $1", who.principal.id)


async def leave_the_workspace(gateway: Composed, pool: Pool, who: Person) -> None:
    await access.remove_member(pool, who.principal.workspace_id, who.id)


async def be_deleted(gateway: Composed, pool: Pool, who: Person) -> None:
    await pool.execute("DELETE FROM users WHERE id = $1", who.id)


@pytest.mark.requirement("S8")
@pytest.mark.parametrize("leave", [log_out, sign_out_everywhere, leave_the_workspace, be_deleted])
async def test_a_session_that_ends_takes_its_stream_with_it(
    leave: Callable[[Composed, Pool, Person], Awaitable[None]], gateway: Composed, company: Company, pool: Pool
) -> None:
    """Within seconds, and the stream of another session of the same person only where that ended too."""
    max_ = company["max"]
    other = await hire(pool, company.workspace_id, "max", Role.MEMBER)
    assert other.id == max_.id
    async with following(gateway.http, max_) as client, following(gateway.http, other) as second:
        await client.next()
        await second.next()
        await leave(gateway, pool, max_)
        assert await ended(client)
        if leave in {leave_the_workspace, be_deleted}:
            assert await ended(second)
        else:
            question = await open_question(pool, company["mia"].principal, company.north)
            assert [change["id"] for change in await second.changes()] == [str(question.id)]
    async with gateway.client(max_) as browser:
        assert (await browser.get("/v1/events")).status_code == 401


@pytest.mark.requirement("S10")
@BOTH_WAYS
@pytest.mark.requirement("S8", "I1")
async def test_a_revoked_token_closes_its_stream(gateway: Composed, company: Company, pool: Pool) -> None:
    """By its owner over HTTP; the owner's other token goes on."""
    revoked, other = await give_token(pool, company["mia"]), await give_token(pool, company["mia"])
    async with following(gateway.http, revoked) as client, following(gateway.http, other) as second:
        await client.next()
        await second.next()
        async with gateway.client(company["mia"]) as browser:
            response = await browser.delete(f"/v1/tokens/{revoked.id}", headers={"x-askbus": "1"})
        assert response.status_code == 204
        assert await ended(client)
        question = await open_question(pool, company["max"].principal, company.north)
        assert [change["id"] for change in await second.changes()] == [str(question.id)]


@pytest.mark.requirement("S8", "O9")
@pytest.mark.parametrize("kind", ["session", "token"])
async def test_a_stream_ends_with_the_time_of_its_session_or_token(
    kind: str, gateway: Composed, company: Company, pool: Pool
) -> None:
    """No sweep runs here, and no row changes at that moment."""
    who: Person | Agent = company["max"] if kind == "session" else await give_token(pool, company["mia"])
    row: UUID = who.principal.id
    await pool.execute(f"UPDATE {kind}s SET expires_at = now() + interval '700 milliseconds' WHERE id = $1", row)
    async with following(gateway.http, who) as client:
        assert (await client.next()).name == "state"
        assert await ended(client)
    assert await pool.fetchval(f"SELECT state FROM {kind}s WHERE id = $1", row) == "active"
    async with gateway.client(who) as again:
        assert (await again.get("/v1/events")).status_code == 401


@pytest.mark.requirement("S10")
@BOTH_WAYS
@pytest.mark.requirement("S2", "I3")
async def test_a_removed_member_hears_nothing_more_and_a_new_one_everything(
    gateway: Composed, company: Company, pool: Pool
) -> None:
    """The stream stays open: it is told to forget, and gets the state of what is left; and again when somebody lets them in."""
    mia, max_ = company["mia"], company["max"]
    before = await open_question(pool, mia.principal, company.north)
    async with following(gateway.http, max_) as client, following(gateway.http, mia) as witness:
        assert len((await client.next()).data["entities"]) == 1
        await witness.next()
        await access.remove_from_project(pool, company.workspace_id, company.north, max_.id)
        assert (await client.next()).name == "reset"
        assert (await client.next()).data == {"entities": [], "counts": {"open": 0, "for_me": 0, "unseen": 0}}
        hidden = await open_question(pool, mia.principal, company.north)
        assert [change["id"] for change in await witness.changes()] == [str(hidden.id)]
        await access.add_to_project(pool, company.workspace_id, company.north, max_.id)
        assert (await client.next()).name == "reset"
        state = (await client.next()).data
        assert {entity["id"] for entity in state["entities"]} == {str(before.id), str(hidden.id)}
        assert state["counts"] == {"open": 2, "for_me": 2, "unseen": 2}
        after = await open_question(pool, mia.principal, company.north)
        assert [change["id"] for change in await client.changes()] == [str(after.id)]
    assert [event.name for event in client.events].count("changes") == 1
    assert [event.name for event in witness.events].count("reset") == 0


@pytest.mark.requirement("S2", "I3")
async def test_a_demoted_admin_sees_their_own_projects_alone_at_once(gateway: Composed, company: Company, pool: Pool) -> None:
    """And as a viewer has nothing to answer."""
    admin, owner = company["admin"], company["owner"].principal
    await access.add_to_project(pool, company.workspace_id, company.north, admin.id)
    await open_question(pool, owner, company.south)
    north = await open_question(pool, owner, company.north)
    async with following(gateway.http, admin) as client:
        assert (await client.until("state")).data["counts"] == {"open": 2, "for_me": 2, "unseen": 2}
        await access.set_member(pool, company.workspace_id, admin.id, Role.VIEWER)
        assert (await client.next()).name == "reset"
        state = (await client.next()).data
        assert [entity["id"] for entity in state["entities"]] == [str(north.id)]
        assert state["counts"] == {"open": 1, "for_me": 0, "unseen": 0}
        await open_question(pool, owner, company.south)
        seen = await open_question(pool, owner, company.north)
        assert [change["id"] for change in await client.changes()] == [str(seen.id)]


@pytest.mark.requirement("S2")
async def test_the_change_that_takes_a_right_comes_before_what_it_hides(gateway: Composed, company: Company, pool: Pool) -> None:
    """In one transaction: removed, then a question is asked. The removed one is not told of it."""
    mia, max_ = company["mia"], company["max"]
    async with following(gateway.http, max_) as client:
        await client.next()
        async with pool.acquire() as db, db.transaction():
            await access.remove_from_project(db, company.workspace_id, company.north, max_.id)
            hidden = await open_question(db, mia.principal, company.north)
        assert (await client.next()).name == "reset"
        assert (await client.next()).data["entities"] == []
        await access.add_to_project(pool, company.workspace_id, company.north, max_.id)
        assert (await client.next()).name == "reset"
        assert [entity["id"] for entity in (await client.next()).data["entities"]] == [str(hidden.id)]


@pytest.mark.requirement("S8")
async def test_a_token_that_is_revoked_while_its_stream_begins_gets_none(gateway: Composed, company: Company, pool: Pool) -> None:
    """At whatever moment: whoever wins, no stream outlives its token."""
    agents = [await give_token(pool, company["mia"]) for _ in range(8)]

    async def follow(agent: Agent) -> bool:
        async with following(gateway.http, agent) as client:
            return client.status == 401 or (await client.end(within=SECONDS))[-1].name == "end"

    follows = [asyncio.ensure_future(follow(agent)) for agent in agents]
    for agent in agents:
        await access.revoke_token(pool, company["mia"].principal, agent.id)
    assert all(await asyncio.gather(*follows))
