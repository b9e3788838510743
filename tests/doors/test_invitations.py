"""Invitations by link over HTTP: who may send them, what a link does, and what it never does."""

import asyncio
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access import managing, verbs
from askbus.access.credentials import digest
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.waiting import until

CHANGES = {"x-askbus": "1"}
ADA = "ada@new.example"


async def sent(client: httpx2.AsyncClient, email: str = ADA, **said: Any) -> tuple[dict[str, Any], str]:
    """An invitation, and the code of its link."""
    response = await client.post("/v1/invitations", json={"email": email, **said})
    assert response.status_code == 201, response.text
    return response.json()["invitation"], code_of(response)


def code_of(response: httpx2.Response) -> str:
    address, _, code = response.json()["link"].partition("#invitation=")
    assert address == "http://localhost/"
    return str(code)


async def accepted(client: httpx2.AsyncClient, code: str, **said: Any) -> httpx2.Response:
    return await client.post("/v1/invitations/accept", json={"code": code, **said})


@pytest.mark.requirement("I3", "I10")
async def test_a_link_lets_somebody_new_in_once(team: Composed, company: Company, pool: Pool) -> None:
    """As what it says, into the projects that it says; shown before it is used, kept as a hash, in the audit by ids."""
    async with team.client(company["admin"]) as admin, team.client() as browser:
        made, code = await sent(admin, role="viewer", projects=[str(company.north)])
        assert (made["state"], made["stands"], made["invited_by_name"]) == ("pending", True, "admin")
        looked = await browser.post("/v1/invitations/look-at", json={"code": code})
        shown = looked.json()
        assert (shown["workspace"], shown["role"], shown["email"], shown["known"], shown["must_sign_in"]) == (
            "Nordlicht", "viewer", ADA, False, False,
        )  # fmt: skip
        assert (await accepted(browser, code)).json()["details"] == {"field": "name"}
        tries = await asyncio.gather(*(accepted(browser, code, name="Ada") for _ in range(6)))
        assert sorted(response.status_code for response in tries) == [201, *[401] * 5]
        me = next(response for response in tries if response.status_code == 201).json()
        assert (me["name"], me["email"], me["principal"]["role"]) == ("Ada", ADA, "viewer")
        assert [project["name"] for project in me["projects"]] == ["north"]
        assert (await browser.get("/v1/me")).json()["name"] == "Ada"
        [listed] = (await admin.get("/v1/invitations")).json()["invitations"]
        assert (listed["state"], listed["stands"], listed["user_id"]) == ("accepted", False, me["principal"]["user_id"])
        for path in ("look-at", "accept"):
            assert (await browser.post(f"/v1/invitations/{path}", json={"code": code})).status_code == 401
        assert (await admin.delete(f"/v1/invitations/{made['id']}", headers=CHANGES)).status_code == 409
    row = await pool.fetchrow("SELECT * FROM invitations WHERE hash = $1", digest(code))
    assert row is not None
    assert code not in str(dict(row))
    trail = await pool.fetch("SELECT event, user_id FROM audit_log WHERE entity_id = $1 ORDER BY id", row["id"])
    assert [(entry["event"], entry["user_id"]) for entry in trail] == [
        ("invitation.sent", company["admin"].id),
        ("invitation.accepted", row["user_id"]),
    ]
    facts = await pool.fetch("SELECT fact FROM change_log WHERE entity IN ('invitation', 'member') ORDER BY seq DESC LIMIT 3")
    assert {fact["fact"] for fact in facts} == {"member.added", "invitation.accepted"}


@pytest.mark.requirement("I3", "I4")
async def test_nobody_invites_for_more_than_they_may_give(team: Composed, company: Company, pool: Pool) -> None:
    """Admins no owners; members, viewers and tokens nobody; and whom a workspace has, or invited already, is not invited."""
    async with team.client(company["owner"]) as owner, team.client(company["admin"]) as admin:
        for said, status in (
            ({"role": "owner"}, 403),
            ({"role": "admin", "demo": True}, 400),
            ({"projects": [str(company.elsewhere)]}, 400),
            ({"email": "no address"}, 400),
            ({"email": "a@b@c"}, 400),
            ({"expires_in": 59}, 400),
            ({"expires_in": 31 * 24 * 3600}, 400),
            ({"email": "MIA@" + (await email_of(pool, company)).split("@")[1]}, 409),
        ):
            refused = await admin.post("/v1/invitations", json={"email": ADA, **said})
            assert refused.status_code == status, (said, refused.text)
        boss, _ = await sent(owner, "boss@new.example", role="owner")
        for path in ("", "/renew"):
            how = {"json": {}} if path else {"headers": CHANGES}
            refused = await admin.request("POST" if path else "DELETE", f"/v1/invitations/{boss['id']}{path}", **how)  # type: ignore[arg-type]
            assert refused.status_code == 403
        again = await admin.post("/v1/invitations", json={"email": "BOSS@new.example"})
        assert (again.status_code, again.json()["details"]) == (409, {"field": "email"})
        token = await give_token(pool, company["owner"])
        for who in (token, company["mia"], company["viewer"], company["demo"]):
            async with team.client(who) as client:
                assert (await client.get("/v1/invitations")).status_code == 403
                assert (await client.post("/v1/invitations", json={"email": ADA})).status_code == 403
                assert (await client.post(f"/v1/invitations/{boss['id']}/renew", json={})).status_code == 403
                assert (await client.delete(f"/v1/invitations/{boss['id']}", headers=CHANGES)).status_code == 403
        async with team.client(company["stranger"]) as stranger:
            assert (await stranger.get("/v1/invitations")).json() == {"invitations": [], "next": None}
            assert (await stranger.delete(f"/v1/invitations/{boss['id']}", headers=CHANGES)).status_code == 404


async def email_of(pool: Pool, company: Company) -> str:
    return str(await pool.fetchval("SELECT email FROM users WHERE id = $1", company["mia"].id))


@pytest.mark.requirement("I3")
async def test_a_link_ends_when_it_is_sent_again_revoked_too_old_or_its_sender_may_not_invite(
    team: Composed, company: Company, pool: Pool
) -> None:
    """All are told the same; sent again by somebody who may, it stands again."""
    admin_id = company["admin"].id
    async with team.client(company["admin"]) as admin, team.client(company["owner"]) as owner, team.client() as browser:
        made, first = await sent(admin)
        second = code_of(await admin.post(f"/v1/invitations/{made['id']}/renew", json={"expires_in": 60}))
        words = {(await accepted(browser, wrong, name="Ada")).text for wrong in (first, "made up")}
        await verbs.set_member(pool, company.workspace_id, admin_id, Role.MEMBER)
        words.add((await accepted(browser, second, name="Ada")).text)
        words.add((await browser.post("/v1/invitations/look-at", json={"code": second})).text)
        [listed] = (await owner.get("/v1/invitations", params={"state": "pending"})).json()["invitations"]
        assert listed["stands"] is False
        third = code_of(await owner.post(f"/v1/invitations/{made['id']}/renew", json={}))
        await pool.execute(
            "UPDATE invitations SET invited_at = now() - interval '1 day', expires_at = now() WHERE id = $1", made["id"]
        )
        words.add((await accepted(browser, third, name="Ada")).text)
        assert (await owner.get("/v1/invitations")).json()["invitations"][0]["state"] == "expired"
        anew, fourth = await sent(owner)
        assert anew["id"] == made["id"]
        for _ in range(2):
            assert (await owner.delete(f"/v1/invitations/{made['id']}", headers=CHANGES)).status_code == 204
        words.add((await accepted(browser, fourth, name="Ada")).text)
        assert len(words) == 1
        assert "unauthenticated" in words.pop()
        assert (await owner.post(f"/v1/invitations/{made['id']}/renew", json={})).status_code == 409
    assert await pool.fetchval("SELECT count(*) FROM users WHERE email = $1", ADA) == 0


@pytest.mark.requirement("I3", "I6")
async def test_a_link_never_speaks_for_somebody_who_is_a_member(team: Composed, company: Company, pool: Pool) -> None:
    """Elsewhere: they must be signed in as themselves. Here, meanwhile: they stay what they are, and nobody is signed in as them."""
    stranger = company["stranger"]
    address = await pool.fetchval("SELECT email FROM users WHERE id = $1", stranger.id)
    async with team.client(company["owner"]) as owner, team.client() as thief, team.client(company["mia"]) as other:
        _, code = await sent(owner, address, role="admin")
        shown = (await thief.post("/v1/invitations/look-at", json={"code": code})).json()
        assert (shown["known"], shown["must_sign_in"]) == (True, True)
        for browser in (thief, other):
            refused = await accepted(browser, code, name="Thief")
            assert (refused.status_code, "set-cookie" in refused.headers) == (403, False)
        async with team.client(stranger) as self:
            joined = await accepted(self, code)
            assert (joined.status_code, joined.json()["name"], joined.json()["principal"]["role"]) == (201, "stranger", "admin")
        back, code = await sent(owner, ADA, role="admin")
        user_id = await verbs.create_user(pool, ADA, "Ada")
        await verbs.set_member(pool, company.workspace_id, user_id, Role.VIEWER)
        refused = await accepted(thief, code, name="Ada")
        assert (refused.status_code, "set-cookie" in refused.headers) == (409, False)
        assert await pool.fetchval("SELECT role FROM memberships WHERE user_id = $1", user_id) == "viewer"
        # Removed, they are a member nowhere: the link lets them back in, under the name that they have.
        assert (await owner.delete(f"/v1/workspace/members/{user_id}", headers=CHANGES)).status_code == 204
        joined = await accepted(thief, code, name="Somebody else")
        assert (joined.status_code, joined.json()["name"]) == (201, "Ada")
        assert (await owner.get("/v1/invitations", params={"state": "pending"})).json()["invitations"] == []
        assert back["id"] == (await owner.get("/v1/invitations")).json()["invitations"][0]["id"]


@pytest.mark.requirement("I5")
async def test_no_foreign_page_opens_a_link(team: Composed, company: Company) -> None:
    """It would sign its reader in as somebody else."""
    async with team.client(company["owner"]) as owner, team.client() as browser:
        _, code = await sent(owner)
        for path in ("look-at", "accept"):
            foreign = await browser.post(
                f"/v1/invitations/{path}", json={"code": code}, headers={"origin": "https://evil.example"}
            )
            assert foreign.status_code == 403


@pytest.mark.requirement("I3")
async def test_who_is_demoted_while_their_link_is_opened_lets_nobody_in(team: Composed, company: Company, pool: Pool) -> None:
    """The role is taken first: whoever opens the link waits for that, and finds it ended."""
    async with team.client(company["admin"]) as admin, team.client() as browser, pool.acquire() as db:
        _, code = await sent(admin)
        transaction = db.transaction()
        await transaction.start()
        await managing.change_member(db, company["owner"].principal, company["admin"].id, role=Role.MEMBER, demo=None)
        opening = asyncio.ensure_future(accepted(browser, code, name="Ada"))

        async def waits() -> bool:
            stuck = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR SHARE OF m%'"
            return bool(await pool.fetchval(f"{stuck} AND pid <> pg_backend_pid() AND datname = current_database()"))

        await until(waits)
        await transaction.commit()
        assert (await opening).status_code == 401
    assert await pool.fetchval("SELECT count(*) FROM users WHERE email = $1", ADA) == 0


@pytest.mark.requirement("I3")
async def test_an_invitation_that_is_sent_twice_is_one(team: Composed, company: Company) -> None:
    """The same key: another link, and only the last works."""
    key = {"idempotency-key": str(uuid4())}
    async with team.client(company["admin"]) as admin, team.client() as browser:
        both = [await admin.post("/v1/invitations", json={"email": ADA}, headers=key) for _ in range(2)]
        assert [response.status_code for response in both] == [201, 201]
        assert len((await admin.get("/v1/invitations")).json()["invitations"]) == 1
        codes = [code_of(response) for response in both]
        assert [(await accepted(browser, code, name="Ada")).status_code for code in codes] == [401, 201]


@pytest.mark.requirement("I3", "I4")
async def test_an_invitation_of_somebody_else_s_is_not_sent_again_by_its_id(team: Composed, company: Company) -> None:
    """An admin who may not revoke an owner's invitation of an owner cannot put their own in its place by using its id as the key."""
    async with team.client(company["owner"]) as owner, team.client(company["admin"]) as admin, team.client() as browser:
        made, code = await sent(owner, role="owner")
        key = {"idempotency-key": made["id"]}
        instead = await admin.post("/v1/invitations", json={"email": ADA, "role": "viewer"}, headers=key)
        assert (instead.status_code, instead.json()["code"]) == (409, "conflict")
        again = await owner.post("/v1/invitations", json={"email": ADA, "role": "owner"}, headers=key)
        assert (await browser.post("/v1/invitations/look-at", json={"code": code})).status_code == 401
        shown = (await browser.post("/v1/invitations/look-at", json={"code": code_of(again)})).json()
        assert (shown["role"], shown["invited_by"]) == ("owner", "owner")
