"""Codes and refresh tokens on a real Postgres, with the gateway's own rights: each is used once, and a second use ends what came of it."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from askbus.access import reads as access
from askbus.access import verbs as people
from askbus.access.credentials import new_secret
from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.db.pool import Pool
from askbus.errors import PermissionDenied
from askbus.oauth import reads, verbs
from askbus.oauth.model import GRACE, GRANTABLE, Client, Issued, Verdict, challenge_of
from askbus.testing.apps import RESOURCE, App, Code, connect, consent, register_app
from askbus.testing.people import Company
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("M3")


async def redeem(db: Pool, client: Client, code: Code, **said: str | None) -> Issued:
    given: dict[str, str | None] = {"redirect_uri": client.redirect_uris[0], "resource": RESOURCE, **said}
    return await verbs.redeem(
        db,
        client,
        code.code,
        challenge=given.pop("challenge", None) or code.challenge,
        redirect_uri=given["redirect_uri"],
        resource=given["resource"],
    )


async def who(db: Pool, issued: Issued, resource: str = RESOURCE) -> Principal | None:
    assert issued.access_token is not None
    return await reads.principal_of_access_token(db, issued.access_token, resource)


async def events(pool: Pool) -> list[str]:
    rows = await pool.fetch("SELECT event FROM audit_log WHERE event LIKE 'app.%' ORDER BY id")
    return [row["event"] for row in rows]


async def test_a_grant_is_a_token_for_one_audience(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """It stands for the person with what they allowed, at that audience alone; it opens no other door, and nothing readable is stored."""
    issued = await connect(gateway, company["mia"], app.client, scopes=(Scope.DATA_READ,), projects=(company.north,))
    assert issued.verdict is Verdict.GRANTED
    found = await who(gateway, issued)
    assert found is not None
    assert (found.kind, found.user_id, found.workspace_id) == (PrincipalKind.TOKEN, company["mia"].id, company.workspace_id)
    assert (found.scopes, found.projects) == (frozenset({Scope.DATA_READ}), (company.north,))
    for other in ("http://localhost/mcp/", "http://localhost", "https://localhost/mcp", "http://localhost:80/mcp", ""):
        assert await who(gateway, issued, other) is None
    assert issued.access_token is not None
    assert issued.refresh_token is not None
    for secret in (issued.access_token, issued.refresh_token):
        assert await access.principal_of_token(gateway, secret) is None
        assert await access.principal_of_session(gateway, secret) is None
    assert await reads.principal_of_access_token(gateway, issued.refresh_token, RESOURCE) is None
    assert await access.refreshed(gateway, found) == found
    assert await events(pool) == ["app.allowed", "app.connected"]
    stored = await pool.fetchval("SELECT last_used_at IS NOT NULL AND kind = 'oauth' FROM tokens WHERE id = $1", found.id)
    assert stored is True
    tables = ("oauth_clients", "oauth_requests", "oauth_codes", "oauth_access_tokens", "oauth_refresh_tokens", "tokens")
    rows = [str(row) for table in tables for row in await pool.fetch(f"SELECT t::text AS row FROM {table} t")]
    assert rows
    assert not [row for row in rows if issued.access_token in row or issued.refresh_token in row]


WRONG = [
    ({"challenge": challenge_of(new_secret())}, Verdict.WRONG_VERIFIER),
    ({"redirect_uri": "http://127.0.0.1/callback/"}, Verdict.OTHER_REDIRECT),
    ({"resource": "http://localhost/mcp/"}, Verdict.OTHER_RESOURCE),
]


@pytest.mark.parametrize(("said", "verdict"), WRONG, ids=[verdict.value for _said, verdict in WRONG])
async def test_a_wrong_request_burns_the_code(
    gateway: Pool, company: Company, app: App, said: dict[str, str], verdict: Verdict
) -> None:
    """Whatever was wrong: the right request that comes after it is refused as well."""
    code = await consent(gateway, company["owner"], app.client)
    assert await redeem(gateway, app.client, code, **said) == Issued(verdict=verdict)
    assert await redeem(gateway, app.client, code) == Issued(verdict=Verdict.REPLAYED)


async def test_a_stolen_code_is_of_no_use_to_another_app(gateway: Pool, company: Company, app: App) -> None:
    """Even with its verifier; and a code lives for a minute."""
    thief = await register_app(gateway, "Thief")
    code = await consent(gateway, company["owner"], app.client)
    assert (await redeem(gateway, thief.client, code, redirect_uri=None)).verdict is Verdict.FOREIGN
    late = await consent(gateway, company["owner"], app.client)
    issued = await verbs.redeem(
        gateway,
        app.client,
        late.code,
        challenge=late.challenge,
        redirect_uri=None,
        resource=None,
        now=datetime.now(UTC) + timedelta(minutes=2),
    )
    assert issued.verdict is Verdict.EXPIRED
    assert (await redeem(gateway, app.client, Code(new_secret(), new_secret()))).verdict is Verdict.UNKNOWN


async def test_a_replayed_code_revokes_what_came_of_it(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """One of the two who showed it is a thief: both lose."""
    code = await consent(gateway, company["owner"], app.client)
    issued = await redeem(gateway, app.client, code)
    assert await who(gateway, issued) is not None
    assert (await redeem(gateway, app.client, code)).verdict is Verdict.REPLAYED
    assert await who(gateway, issued) is None
    assert issued.refresh_token is not None
    assert (await verbs.refresh(gateway, app.client, issued.refresh_token)).verdict is Verdict.ENDED
    assert (await events(pool))[-1] == "app.replayed"


async def test_of_two_uses_of_a_code_at_once_one_wins_and_both_lose(
    gateway: Pool, pool: Pool, company: Company, app: App
) -> None:
    """The second waits for the first one's transaction, finds the code used, and ends the grant that it could not see when it began."""
    code = await consent(gateway, company["owner"], app.client)
    async with gateway.acquire() as first:
        async with first.transaction():
            issued = await verbs.redeem(first, app.client, code.code, challenge=code.challenge, redirect_uri=None, resource=None)
            second = asyncio.create_task(redeem(gateway, app.client, code))
            await waiting_for_lock(pool)
        assert (issued.verdict, (await second).verdict) == (Verdict.GRANTED, Verdict.REPLAYED)
    assert await who(gateway, issued) is None


async def waiting_for_lock(pool: Pool) -> None:
    """Until somebody waits for somebody's transaction."""

    async def waits() -> bool:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        return bool(await pool.fetchval(sql))

    await until(waits)


async def test_a_refresh_token_is_used_once_and_followed(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """Each use gives the next one; the grant and its scopes stay as they were allowed, and last on."""
    issued = await connect(gateway, company["owner"], app.client, scopes=(Scope.DATA_READ, Scope.QUESTIONS_ASK))
    assert issued.refresh_token is not None
    before = await who(gateway, issued)
    narrow = await verbs.refresh(gateway, app.client, issued.refresh_token, scopes=(Scope.DATA_READ,), resource=RESOURCE)
    assert (narrow.verdict, narrow.scopes) == (Verdict.GRANTED, (Scope.DATA_READ,))
    assert narrow.refresh_token not in {None, issued.refresh_token}
    found = await who(gateway, narrow)
    assert found is not None
    assert before is not None
    assert (found.id, found.scopes) == (before.id, frozenset({Scope.DATA_READ}))
    assert narrow.refresh_token is not None
    wider = await verbs.refresh(gateway, app.client, narrow.refresh_token, scopes=GRANTABLE)
    elsewhere = await verbs.refresh(gateway, app.client, narrow.refresh_token, resource="http://localhost/other")
    assert (wider.verdict, elsewhere.verdict) == (Verdict.WIDER, Verdict.OTHER_RESOURCE)
    thief = await register_app(gateway, "Thief")
    assert (await verbs.refresh(gateway, thief.client, narrow.refresh_token)).verdict is Verdict.FOREIGN
    whole = await verbs.refresh(gateway, app.client, narrow.refresh_token)
    assert (whole.verdict, len(whole.scopes)) == (Verdict.GRANTED, 2)
    assert await pool.fetchval("SELECT count(*) FROM tokens WHERE kind = 'oauth'") == 1
    assert (await verbs.refresh(gateway, app.client, "askbus_rt_" + new_secret())).verdict is Verdict.UNKNOWN


async def test_two_refreshes_at_once_get_the_same_successor(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """Two processes of one client race: the second waits for the first one's transaction, and nobody is signed out."""
    issued = await connect(gateway, company["owner"], app.client)
    assert issued.refresh_token is not None
    async with gateway.acquire() as first:
        async with first.transaction():
            won = await verbs.refresh(first, app.client, issued.refresh_token)
            second = asyncio.create_task(verbs.refresh(gateway, app.client, issued.refresh_token))
            await waiting_for_lock(pool)
        lost = await second
    assert (won.verdict, lost.verdict) == (Verdict.GRANTED, Verdict.REPEATED)
    assert won.refresh_token == lost.refresh_token
    assert await who(gateway, won) == await who(gateway, lost) is not None
    assert await pool.fetchval("SELECT count(*) FROM oauth_refresh_tokens") == 2


@pytest.mark.parametrize("how", ["late", "after_the_successor"])
async def test_a_replayed_refresh_token_ends_the_grant(gateway: Pool, pool: Pool, company: Company, app: App, how: str) -> None:
    """After the grace, or as soon as the successor was used: the thief's tokens and the app's own are dead at once."""
    issued = await connect(gateway, company["owner"], app.client)
    assert issued.refresh_token is not None
    latest = await verbs.refresh(gateway, app.client, issued.refresh_token)
    now = None
    if how == "late":
        now = datetime.now(UTC) + timedelta(seconds=GRACE + 1)
    else:
        assert latest.refresh_token is not None
        latest = await verbs.refresh(gateway, app.client, latest.refresh_token)
    assert (await verbs.refresh(gateway, app.client, issued.refresh_token, now=now)) == Issued(verdict=Verdict.REPLAYED)
    assert [await who(gateway, each) for each in (issued, latest)] == [None, None]
    assert latest.refresh_token is not None
    assert (await verbs.refresh(gateway, app.client, latest.refresh_token)).verdict is Verdict.ENDED
    assert (await events(pool))[-1] == "app.replayed"
    assert await pool.fetchval("SELECT count(*) FROM change_log WHERE fact = 'token.revoked'") == 1


@pytest.mark.requirement("M5")
async def test_membership_and_role_count_as_they_are_now(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """A viewer's app only reads, whatever was allowed before; who left is nobody; and both hold for the exchange of tokens."""
    issued = await connect(gateway, company["mia"], app.client, projects=(company.north,))
    await people.set_member(pool, company.workspace_id, company["mia"].id, Role.VIEWER)
    found = await who(gateway, issued)
    assert found is not None
    assert found.scopes == {Scope.DATA_READ}
    await people.remove_member(pool, company.workspace_id, company["mia"].id)
    assert await who(gateway, issued) is None
    assert issued.refresh_token is not None
    assert (await verbs.refresh(gateway, app.client, issued.refresh_token)).verdict is Verdict.ENDED


@pytest.mark.requirement("M5")
async def test_switching_mcp_off_refuses_every_app_at_once(gateway: Pool, pool: Pool, company: Company, app: App) -> None:
    """At the door, at the exchange, for who waits, and for a code on its way; switching it on again takes nothing back."""
    admin = company["admin"].principal
    issued = await connect(gateway, company["owner"], app.client)
    found = await who(gateway, issued)
    assert found is not None
    assert issued.refresh_token is not None
    code = await consent(gateway, company["owner"], app.client)
    with pytest.raises(PermissionDenied):
        await verbs.set_mcp(gateway, company["mia"].principal, on=False)
    await verbs.set_mcp(gateway, admin, on=False)
    with pytest.raises(PermissionDenied, match="switched off"):
        await who(gateway, issued)
    with pytest.raises(PermissionDenied, match="switched off"):
        await reads.require_mcp(gateway, company.workspace_id)
    assert await access.refreshed(gateway, found) is None
    assert await access.still_standing(gateway, [found, admin]) == {admin.id}
    assert (await verbs.refresh(gateway, app.client, issued.refresh_token)).verdict is Verdict.OFF
    assert (await redeem(gateway, app.client, code)).verdict is Verdict.OFF
    await verbs.set_mcp(gateway, admin, on=True)
    assert await who(gateway, issued) == found
    audited = await pool.fetch("SELECT event FROM audit_log WHERE event LIKE 'mcp.%' ORDER BY id")
    assert [row["event"] for row in audited] == ["mcp.switched_off", "mcp.switched_on"]
