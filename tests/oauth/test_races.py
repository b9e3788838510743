"""What happens to an app's grant at the moment in which somebody else ends what it rests on: each proved with two connections."""

import pytest
from tests.verbs.test_managing_races import Step, change, dismiss, meet

from askbus.access import verbs as people
from askbus.access.model import Role
from askbus.db.pool import Connection, Pool
from askbus.errors import NotFound, PermissionDenied
from askbus.oauth import reads, retention, verbs
from askbus.oauth.model import GRANTABLE, Issued, Verdict
from askbus.testing.apps import RESOURCE, App, connect, consent
from askbus.testing.people import Company

pytestmark = pytest.mark.requirement("M3")


async def test_a_code_that_meets_a_removal_gives_no_tokens(pool: Pool, company: Company, app: App) -> None:
    """The app is told that it is over, instead of being handed tokens that nobody knows."""
    code = await consent(pool, company["mia"], app.client, projects=(company.north,))
    issued: list[Issued] = []

    async def redeems(db: Connection) -> None:
        issued.append(
            await verbs.redeem(db, app.client, code.code, challenge=code.challenge, redirect_uri=None, resource=RESOURCE)
        )

    assert await meet(pool, dismiss(company, "owner", "mia"), redeems) is None
    assert issued == [Issued(verdict=Verdict.ENDED)]


async def test_an_app_that_is_allowed_at_last_is_not_swept_away(pool: Pool, company: Company, app: App) -> None:
    """Somebody allows it something in the moment in which it is dropped as one that nobody used: it stays, and so does the code."""
    await pool.execute("UPDATE oauth_clients SET created_at = now() - interval '8 days' WHERE id = $1", app.client.id)

    async def allows(db: Connection) -> None:
        await consent(db, company["owner"], app.client)

    async def sweeps(db: Connection) -> None:
        assert await retention.drop_clients(db) == []

    assert await meet(pool, allows, sweeps) is None
    assert await reads.client(pool, app.client.id, None) is not None
    assert await pool.fetchval("SELECT count(*) FROM oauth_codes") == 1


@pytest.mark.requirement("I3")
async def test_who_loses_the_right_while_they_use_it_takes_no_app_and_no_switch(pool: Pool, company: Company, app: App) -> None:
    """An admin who is being demoted: everybody's apps stay as they are, and so does MCP; their own app is theirs to remove."""
    admin = company["admin"].principal
    assert (await connect(pool, company["mia"], app.client, projects=(company.north,))).verdict is Verdict.GRANTED
    assert (await connect(pool, company["admin"], app.client)).verdict is Verdict.GRANTED
    grants = {one.user_id: one.id for one in await reads.apps_of(pool, company["owner"].principal, everybody=True)}
    steps: list[tuple[Step, object]] = [
        (lambda db: verbs.set_mcp(db, admin, on=False), PermissionDenied),
        (lambda db: verbs.remove_app(db, admin, grants[company["mia"].id]), NotFound),
        (lambda db: verbs.remove_app(db, admin, grants[company["admin"].id]), None),
    ]
    for step, outcome in steps:
        assert await meet(pool, change(company, "owner", "admin", Role.VIEWER), step) is outcome
        await people.set_member(pool, company.workspace_id, company["admin"].id, Role.ADMIN)
    assert await reads.mcp_is_on(pool, company.workspace_id)
    left = await reads.apps_of(pool, company["owner"].principal, everybody=True)
    assert [one.user_id for one in left] == [company["mia"].id]


@pytest.mark.parametrize("who", ["mia", "max", "admin"])
async def test_who_ends_while_their_page_is_answered_allows_nothing(pool: Pool, company: Company, app: App, who: str) -> None:
    """Who signs out, or loses the membership or the role that the answer needs, in that moment: no code is made."""
    by = company[who].principal
    ends: dict[str, Step] = {
        "mia": lambda db: people.end_session(db, by),
        "max": dismiss(company, "owner", "max"),
        "admin": change(company, "owner", "admin", Role.MEMBER),
    }
    ticket = await verbs.begin(
        pool,
        by,
        app.client,
        redirect_uri=app.client.redirect_uris[0],
        code_challenge="x" * 43,
        resource=RESOURCE,
        state=None,
        scopes=GRANTABLE,
    )
    projects = None if who == "admin" else (company.north,)
    assert await meet(pool, ends[who], lambda db: verbs.allow(db, by, ticket, GRANTABLE[:1], projects)) is None
    assert await pool.fetchval("SELECT count(*) FROM oauth_codes") == 0
