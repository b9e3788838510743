"""Sessions and tokens over HTTP: who is let in, with what, and for how long."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from askbus.access import verbs
from askbus.access.credentials import TOKEN_PREFIX, digest
from askbus.access.model import Role, Scope
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Agent, Company, Person, give_token
from askbus_gateway.http.gate import Gate

CHANGES = {"x-askbus": "1"}


async def code_for(pool: Pool, who: Person, now: datetime | None = None) -> str:
    return await verbs.create_login_code(pool, who.principal.workspace_id, who.id, now=now)


async def made(browser: httpx2.AsyncClient, **said: object) -> Any:
    """A token, as the one response that shows it."""
    response = await browser.post("/v1/tokens", json={"name": "agent", **said})
    assert response.status_code == 201, response.text
    return response.json()


@pytest.mark.requirement("I1")
async def test_a_sign_in_code_opens_a_session_in_a_guarded_cookie(questions: Composed, company: Company, pool: Pool) -> None:
    """HttpOnly, SameSite=Lax, for the whole site; what it stands for is stored as a hash."""
    code = await code_for(pool, company["mia"])
    async with questions.client() as browser:
        signed_in = await browser.post("/v1/session", json={"code": code})
        assert (signed_in.status_code, signed_in.json()["name"], signed_in.json()["workspace"]) == (201, "mia", "Nordlicht")
        name, attributes = signed_in.headers["set-cookie"].split("=", 1)
        value, *rest = (part.strip().lower() for part in attributes.split(";"))
        assert name == "askbus_session"
        assert {"httponly", "samesite=lax", "path=/"} <= set(rest)
        assert "secure" not in rest
        assert (await browser.get("/v1/me")).json()["email"] == signed_in.json()["email"]
        cookie = browser.cookies["askbus_session"]
    assert cookie.lower() == value
    stored = await pool.fetchrow("SELECT * FROM sessions WHERE hash = $1", digest(cookie))
    assert stored is not None
    assert cookie not in str(dict(stored))
    assert "location" not in signed_in.headers
    assert code not in signed_in.text


@pytest.mark.requirement("I1")
@pytest.mark.parametrize(
    ("public_url", "secure"),
    [
        ("http://localhost:8080", False),
        ("http://127.0.0.1:8080", False),
        ("http://[::1]:8080", False),
        ("https://localhost", True),
        ("https://askbus.example", True),
        ("http://askbus.example", True),
        ("http://localhost.example", True),
    ],
)
def test_cookies_are_secure_everywhere_but_on_this_machine(public_url: str, secure: bool) -> None:
    """Two instances on one machine keep two cookies, since a browser tells hosts apart and not ports."""
    gate = Gate(None, None, public_url, limits=None, proxies=None)  # type: ignore[arg-type]
    assert gate.secure is secure
    assert gate.cookie == ("askbus_session_8080" if ":8080" in public_url else "askbus_session")


@pytest.mark.requirement("I1")
async def test_a_code_works_once_and_for_a_quarter_of_an_hour(questions: Composed, company: Company, pool: Pool) -> None:
    """Of ten browsers that try at once one is let in; used, late and made-up codes are told the same."""
    code = await code_for(pool, company["mia"])
    async with questions.client() as browser:
        tries = await asyncio.gather(*(browser.post("/v1/session", json={"code": code}) for _ in range(10)))
        assert sorted(response.status_code for response in tries) == [201, *[401] * 9]
        assert await pool.fetchval("SELECT count(*) FROM sessions WHERE user_id = $1", company["mia"].id) == 2
        almost, late = timedelta(minutes=14, seconds=50), timedelta(minutes=15)
        fresh = await code_for(pool, company["mia"], now=datetime.now(UTC) - almost)
        assert (await browser.post("/v1/session", json={"code": fresh})).status_code == 201
        words = set()
        for wrong in (code, await code_for(pool, company["mia"], now=datetime.now(UTC) - late), "made up"):
            refused = await browser.post("/v1/session", json={"code": wrong})
            assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
            words.add(refused.text)
        assert len(words) == 1


@pytest.mark.requirement("I1", "I10")
async def test_signing_out_ends_the_session_and_nothing_else(questions: Composed, company: Company, pool: Pool) -> None:
    """The cookie is worth nothing any more, and is taken away; it is in the audit."""
    agent = await give_token(pool, company["mia"])
    async with questions.client(company["mia"]) as browser, questions.client(agent) as robot:
        out = await browser.delete("/v1/session", headers=CHANGES)
        assert out.status_code == 204
        assert 'askbus_session=""' in out.headers["set-cookie"]
        assert (await robot.get("/v1/me")).status_code == 200
    async with questions.client(company["mia"]) as browser:
        assert (await browser.get("/v1/me")).status_code == 401
        assert (await browser.delete("/v1/session", headers=CHANGES)).status_code == 401
    event = "SELECT count(*) FROM audit_log WHERE event = 'session.ended' AND entity_id = $1"
    assert await pool.fetchval(event, company["mia"].principal.id) == 1


@pytest.mark.requirement("I1", "I4")
async def test_a_token_is_shown_once_and_starts_with_reading(questions: Composed, company: Company, pool: Pool) -> None:
    """With a start that secret scanners know; stored is its hash, shown are its first characters."""
    async with questions.client(company["mia"]) as browser:
        new = await made(browser)
        secret, token = new["secret"], new["token"]
        assert secret.startswith(TOKEN_PREFIX)
        assert secret.startswith(token["prefix"])
        assert len(secret) > len(token["prefix"]) + 40
        assert token["scopes"] == ["data:read"]
        listed = await browser.get("/v1/tokens")
        assert [item["id"] for item in listed.json()["tokens"]] == [token["id"]]
        assert secret not in listed.text
        assert listed.json()["tokens"][0]["last_used_at"] is None
        async with httpx2.AsyncClient(base_url=questions.http, headers={"authorization": f"Bearer {secret}"}) as robot:
            me = (await robot.get("/v1/me")).json()
        assert (me["principal"]["kind"], me["principal"]["scopes"]) == ("token", ["data:read"])
        assert (await browser.get("/v1/tokens")).json()["tokens"][0]["last_used_at"] is not None
    row = await pool.fetchrow("SELECT * FROM tokens WHERE hash = $1", digest(secret))
    assert row is not None
    assert secret not in str(dict(row))


@pytest.mark.requirement("I4")
async def test_no_token_confirms_and_none_makes_tokens(questions: Composed, company: Company, pool: Pool) -> None:
    """Confirming needs a person present, and so does giving rights away."""
    agent = await give_token(pool, company["owner"])
    async with questions.client(company["owner"]) as browser, questions.client(agent) as robot:
        refused = await browser.post("/v1/tokens", json={"name": "x", "scopes": ["actions:confirm"]})
        assert (refused.status_code, refused.json()["details"]) == (400, {"scope": "actions:confirm"})
        assert (await robot.post("/v1/tokens", json={"name": "x"})).status_code == 403
        assert (await robot.get("/v1/tokens")).status_code == 403
        assert (await robot.delete("/v1/session", headers=CHANGES)).status_code == 403
        me = (await robot.get("/v1/me")).json()
        assert "actions:confirm" not in me["principal"]["scopes"]
    with pytest.raises(Exception, match="tokens_scopes_check"):
        await pool.execute("UPDATE tokens SET scopes = '{actions:confirm}' WHERE id = $1", agent.id)


@pytest.mark.requirement("I3", "I4")
async def test_a_token_never_exceeds_its_owners_role_of_now(questions: Composed, company: Company, pool: Pool) -> None:
    """By table, for a token that was given everything while its owner was a member."""
    everything = tuple(set(Scope) - {Scope.ACTIONS_CONFIRM})
    agent = await give_token(pool, company["mia"], everything)
    async with questions.client(agent) as robot:
        for role in Role:
            await verbs.set_member(pool, company.workspace_id, company["mia"].id, role)
            principal = (await robot.get("/v1/me")).json()["principal"]
            assert principal["role"] == role
            assert set(principal["scopes"]) == ({"data:read"} if role is Role.VIEWER else set(everything))
        await verbs.set_member(pool, company.workspace_id, company["mia"].id, Role.MEMBER, demo=True)
        assert (await robot.get("/v1/me")).json()["principal"]["scopes"] == ["data:read"]


@pytest.mark.requirement("I1")
async def test_a_token_ends_when_it_is_revoked_or_its_time_is_over(questions: Composed, company: Company, pool: Pool) -> None:
    """At that moment, at every door; revoking is for its owner, and for the token itself."""
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    async with questions.client(company["mia"]) as browser, questions.client(company["max"]) as other:
        revoked, expired, own = [await made(browser, expires_at=soon) for _ in range(3)]
        agents = [httpx2.AsyncClient(base_url=questions.http, headers=bearer(new["secret"])) for new in (revoked, expired, own)]
        assert [(await agent.get("/v1/me")).status_code for agent in agents] == [200, 200, 200]
        url = f"/v1/tokens/{revoked['token']['id']}"
        for stranger in (other, agents[2]):
            assert (await stranger.delete(url, headers=CHANGES)).status_code in {403, 404}
        for _ in range(2):
            assert (await browser.delete(url, headers=CHANGES)).status_code == 204
        await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = $1", expired["token"]["id"])
        assert (await agents[2].delete(f"/v1/tokens/{own['token']['id']}", headers=CHANGES)).status_code == 204
        assert [(await agent.get("/v1/me")).status_code for agent in agents] == [401, 401, 401]
        states = {item["id"]: item["state"] for item in (await browser.get("/v1/tokens")).json()["tokens"]}
        assert [states[new["token"]["id"]] for new in (revoked, expired, own)] == ["revoked", "expired", "revoked"]
        assert (await browser.delete(f"/v1/tokens/{uuid4()}", headers=CHANGES)).status_code == 404
    for agent in agents:
        await agent.aclose()
    events = await pool.fetch("SELECT event FROM audit_log WHERE entity = 'token' ORDER BY id")
    assert [row["event"] for row in events] == ["token.created"] * 3 + ["token.revoked"] * 2


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


@pytest.mark.requirement("I3", "I1")
async def test_tokens_of_others_are_revoked_by_those_who_manage_them(questions: Composed, company: Company, pool: Pool) -> None:
    """Owners revoke anybody's, admins anybody's but owners'; for everybody else they do not exist. The audit says who did it."""
    may = {("owner", "admin"), ("owner", "mia"), ("admin", "mia"), ("mia", "mia")}
    for by in ("owner", "admin", "mia", "viewer"):
        for whose in ("owner", "admin", "mia"):
            token = await give_token(pool, company[whose])
            async with questions.client(company[by]) as browser:
                answer = await browser.delete(f"/v1/tokens/{token.id}", headers={"x-askbus": "1"})
            allowed = by == whose or (by, whose) in may
            assert answer.status_code == (204 if allowed else 404), (by, whose)
            state = await pool.fetchval("SELECT state FROM tokens WHERE id = $1", token.id)
            assert state == ("revoked" if allowed else "active")
            audited = await pool.fetch("SELECT user_id FROM audit_log WHERE event = 'token.revoked' AND entity_id = $1", token.id)
            assert [row["user_id"] for row in audited] == ([company[by].id] if allowed else [])


@pytest.mark.requirement("I1", "I4")
async def test_a_token_that_nobody_could_use_well_is_not_made(questions: Composed, company: Company) -> None:
    """For no scope, an unknown one, somebody else's project, no name, or a time that is past or beyond the calendar."""
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    nonsense: list[dict[str, object]] = [
        {"scopes": []},
        {"scopes": ["everything"]},
        {"projects": [str(company.south)]},
        {"projects": [str(company.elsewhere)]},
        {"projects": [str(uuid4())]},
        {"projects": []},
        {"name": " "},
        {"name": "a\0b"},
        {"expires_at": past},
        {"expires_at": "2999-01-01T00:00:00"},
        {"expires_at": "9999-12-31T23:59:59-14:00"},
        {"surprise": 1},
    ]
    async with questions.client(company["mia"]) as browser:
        for said in nonsense:
            refused = await browser.post("/v1/tokens", json={"name": "agent", **said})
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input"), said
        assert (await browser.get("/v1/tokens")).json()["tokens"] == []


@pytest.mark.requirement("I3", "I6")
async def test_people_of_a_project_are_shown_to_its_people_alone(questions: Composed, company: Company) -> None:
    """To anybody else there is no such project."""
    async with questions.client(company["mia"]) as mia, questions.client(company["stranger"]) as stranger:
        members = (await mia.get(f"/v1/projects/{company.north}/members")).json()["members"]
        assert {member["name"]: member["may_write"] for member in members} == {
            "owner": True, "admin": True, "mia": True, "max": True, "viewer": False, "demo": False,
        }  # fmt: skip
        hidden = [
            await mia.get(f"/v1/projects/{company.south}/members"),
            await stranger.get(f"/v1/projects/{company.north}/members"),
            await mia.get(f"/v1/projects/{uuid4()}/members"),
        ]
        assert len({(response.status_code, response.text) for response in hidden}) == 1
        assert hidden[0].status_code == 404


@pytest.mark.requirement("I3")
async def test_a_membership_counts_as_it_is_at_each_call(questions: Composed, company: Company, pool: Pool) -> None:
    """Removed, and the next call is refused, with the session and with the token alike; let in again, both stay ended."""
    agent: Agent = await give_token(pool, company["mia"])
    async with questions.client(company["mia"]) as browser, questions.client(agent) as robot:
        assert [(await client.get("/v1/me")).status_code for client in (browser, robot)] == [200, 200]
        await verbs.remove_member(pool, company.workspace_id, company["mia"].id)
        assert [(await client.get("/v1/me")).status_code for client in (browser, robot)] == [401, 401]
        await verbs.set_member(pool, company.workspace_id, company["mia"].id, Role.MEMBER)
        assert [(await client.get("/v1/me")).status_code for client in (browser, robot)] == [401, 401]


@pytest.mark.requirement("R3")
async def test_people_say_their_language_and_where_they_are(questions: Composed, company: Company, pool: Pool) -> None:
    """What is missing stays, null takes it back, nonsense is refused by name; a token says nothing for its owner."""
    async with questions.client() as browser:
        await browser.post("/v1/session", json={"code": await code_for(pool, company["mia"])})
        said = await browser.patch("/v1/me", json={"locale": "de", "time_zone": "Europe/Berlin"})
        assert (said.status_code, said.json()["locale"], said.json()["time_zone"]) == (200, "de", "Europe/Berlin")
        said = await browser.patch("/v1/me", json={"locale": None})
        assert (said.json()["locale"], (await browser.get("/v1/me")).json()["time_zone"]) == (None, "Europe/Berlin")
        long = {"locale": f"de@{'x' * 100}"}
        for wrong in ({"locale": "klingon!"}, long, {"time_zone": "Mars/Olympus"}, {"language": "de"}):
            refused = await browser.patch("/v1/me", json=wrong)
            assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    async with questions.client(await give_token(pool, company["mia"])) as robot:
        assert (await robot.patch("/v1/me", json={"locale": "de"})).status_code == 403
