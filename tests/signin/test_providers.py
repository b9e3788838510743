"""Signing in at an issuer, which may be hostile: who comes back must be who went, and the answer must be to this very question."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx2
import pytest
from joserfc.jwk import OctKey
from starlette.responses import JSONResponse, Response
from tests.signin.conftest import Stack

from askbus.access import identities, verbs
from askbus.access.credentials import digest
from askbus.db.pool import Pool
from askbus.identity import issuer as keys
from askbus.testing.composed import Composed
from askbus.testing.issuer import CLIENT, TestIssuer, new_key, signed
from askbus.testing.people import Company
from askbus_gateway.signin.hashing import NOBODYS
from askbus_gateway.signin.paths import local_path

pytestmark = pytest.mark.requirement("I2")


async def as_mia(pool: Pool, company: Company, issuer: TestIssuer) -> str:
    """Mia is whom the issuer signs in; returns her address."""
    email = str(await pool.fetchval("SELECT email FROM users WHERE id = $1", company["mia"].id))
    issuer.person = {"sub": email, "email": email, "email_verified": True, "name": "Mia"}
    return email


async def begin(browser: httpx2.AsyncClient, return_to: str = "/") -> str:
    """Where the issuer is to be visited."""
    begun = await browser.post("/v1/sign-in/acme", json={"return_to": return_to})
    assert begun.status_code == 200, begun.text
    return str(begun.json()["url"])


async def visit(address: str) -> str:
    """The issuer signs `person` in; returns path and query that it sends the browser back to."""
    async with httpx2.AsyncClient() as client:
        sent = await client.get(address)
    assert sent.status_code == 303, sent.text
    back = urlsplit(sent.headers["location"])
    assert f"{back.scheme}://{back.netloc}" == "http://localhost"
    return f"{back.path}?{back.query}"


async def sign_in(browser: httpx2.AsyncClient, return_to: str = "/") -> httpx2.Response:
    """The whole way, with one browser."""
    return await browser.get(await visit(await begin(browser, return_to)))


def failed(response: httpx2.Response) -> str:
    """Why a sign-in came to nothing, as the console is told; no session was opened."""
    assert response.status_code == 303, response.text
    assert "askbus_session" not in response.headers.get("set-cookie", "")
    return str(response.headers["location"]).removeprefix("/#sign-in-failed=")


@pytest.mark.requirement("I10")
async def test_a_member_signs_in_at_the_issuer_and_is_known_there_from_then_on(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """With PKCE, state and nonce; back on the page where they began. Linked by their verified address once, then by the issuer's name."""
    await as_mia(pool, company, issuer)
    async with askbus.client() as browser:
        ways = (await browser.get("/v1/sign-in")).json()
        assert {"name": "acme", "label": "Acme"} in ways["providers"]
        address = await begin(browser, "/#thread=1")
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (asked["response_type"], asked["code_challenge_method"], asked["client_id"]) == ("code", "S256", CLIENT)
        assert asked["redirect_uri"] == "http://localhost/v1/sign-in/acme/callback"
        assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
        secret = browser.cookies["askbus_sign_in"]
        stored = await pool.fetchrow("SELECT * FROM sign_in_attempts WHERE hash = $1", digest(asked["state"]))
        assert secret not in str(stored)
        back = await browser.get(await visit(address))
        assert (back.status_code, back.headers["location"]) == (303, "/#thread=1")
        me = (await browser.get("/v1/me")).json()
        assert me["principal"]["user_id"] == str(company["mia"].id)
    await pool.execute("UPDATE users SET email = $2 WHERE id = $1", company["mia"].id, f"{uuid4().hex}@new.example")
    async with askbus.client() as browser:
        await sign_in(browser)
        assert (await browser.get("/v1/me")).json()["principal"]["user_id"] == str(company["mia"].id)
    events = [
        row["event"] for row in await pool.fetch("SELECT event FROM audit_log WHERE user_id = $1 ORDER BY id", company["mia"].id)
    ]
    assert events[-3:] == ["identity.linked", "session.opened", "session.opened"]


async def test_the_cookie_of_a_sign_in_is_new_whatever_the_browser_had(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Nobody can fix a session that somebody else then signs in to."""
    await as_mia(pool, company, issuer)
    async with httpx2.AsyncClient(base_url=askbus.http, cookies={"askbus_session": "planted-by-somebody"}) as browser:
        back = await sign_in(browser)
    cookie = next(value for value in back.headers.get_list("set-cookie") if value.startswith("askbus_session="))
    assert "planted" not in cookie
    assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
    assert await pool.fetchval("SELECT count(*) FROM sessions WHERE hash = $1", digest("planted-by-somebody")) == 0


async def test_an_answer_counts_once_and_in_the_browser_that_asked(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """A replayed state, another browser's, a made-up one, one that is too old: each is refused, and of many at once one is let in."""
    await as_mia(pool, company, issuer)
    async with askbus.client() as browser, askbus.client() as victim:
        back = await visit(await begin(browser))
        await begin(victim)
        assert failed(await victim.get(back)) == "stale"
        answers = await asyncio.gather(*(browser.get(back) for _ in range(4)))
        assert sorted(answer.headers["location"] for answer in answers) == ["/", *["/#sign-in-failed=stale"] * 3]
        assert failed(await browser.get("/v1/sign-in/acme/callback?code=x&state=made-up")) == "stale"
        assert failed(await browser.get("/v1/sign-in/acme/callback")) == "stale"
        late = await visit(await begin(browser))
        await pool.execute("UPDATE sign_in_attempts SET expires_at = now()")
        assert failed(await browser.get(late)) == "stale"
        other = (await visit(await begin(browser))).replace("/acme/", "/down/")
        assert failed(await browser.get(other)) == "stale"


def unsigned(claims: dict[str, Any]) -> str:
    whole = signed(claims, new_key("first"))
    return "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0." + whole.split(".")[1] + "."


def by_the_client_secret(claims: dict[str, Any]) -> str:
    return signed(claims, OctKey.import_key("s3cret-of-the-client-that-is-long-enough"), alg="HS256", kid="first")


HOSTILE: dict[str, Callable[[TestIssuer], None]] = {
    "another nonce": lambda one: setattr(one, "twist", lambda said: {**said, "nonce": "replayed"}),
    "no nonce": lambda one: setattr(one, "twist", lambda said: {k: v for k, v in said.items() if k != "nonce"}),
    "another issuer": lambda one: setattr(one, "twist", lambda said: {**said, "iss": "https://evil.example"}),
    "another audience": lambda one: setattr(one, "twist", lambda said: {**said, "aud": "another client"}),
    "another audience besides": lambda one: setattr(one, "twist", lambda said: {**said, "aud": [CLIENT, "other"], "azp": CLIENT}),
    "for another party": lambda one: setattr(one, "twist", lambda said: {**said, "azp": "another client"}),
    "past its end": lambda one: setattr(one, "twist", lambda said: {**said, "exp": said["iat"] - 1}),
    "of another access token": lambda one: setattr(one, "twist", lambda said: {**said, "at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}),
    "a claim of the wrong kind": lambda one: setattr(one, "twist", lambda said: {**said, "azp": ["x"], "amr": 1}),
    "no signature": lambda one: setattr(one, "signs", unsigned),
    "signed with the client's secret": lambda one: setattr(one, "signs", by_the_client_secret),
    "signed by somebody else": lambda one: setattr(one, "signs", lambda said: signed(said, new_key("first"))),
    "no token at all": lambda one: setattr(one, "answer", lambda path: JSONResponse({"access_token": "x"}) if path == "/token" else None),
    "an error": lambda one: setattr(one, "answer", lambda path: JSONResponse({"error": "no"}, 400) if path == "/token" else None),
    "no JSON": lambda one: setattr(one, "answer", lambda path: Response("<html>") if path == "/token" else None),
}  # fmt: skip


async def test_a_hostile_issuer_lets_nobody_in(askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer) -> None:
    """By table (OpenID Connect Core 1.0, 3.1.3.7; RFC 9700): each sign-in comes to nothing, and says no more than that."""
    await as_mia(pool, company, issuer)
    honest = {name: getattr(issuer, name) for name in ("twist", "signs", "answer")}
    async with askbus.client() as browser:
        for what, cheat in HOSTILE.items():
            back = await visit(await begin(browser))
            cheat(issuer)
            assert failed(await browser.get(back)) == "refused", what
            for name, value in honest.items():
                setattr(issuer, name, value)
        back = await visit(await begin(browser))
        mixed_up = back.replace(f"iss=http%3A%2F%2F127.0.0.1%3A{issuer.port}", "iss=https%3A%2F%2Fevil.example")
        assert mixed_up != back
        assert failed(await browser.get(mixed_up)) == "refused"
        no_name = await visit(await begin(browser))
        assert failed(await browser.get(no_name.partition("&iss=")[0])) == "refused"
        assert (await browser.get("/v1/me")).status_code == 401
    assert await pool.fetchval("SELECT count(*) FROM identities WHERE user_id = $1", company["mia"].id) == 0


async def test_whom_the_issuer_knows_and_nobody_here_does_is_told_so(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Nobody's address, one that is not verified, and one that its issuer gave to somebody else since."""
    email = await as_mia(pool, company, issuer)
    async with askbus.client() as browser:
        for person in (
            {"sub": "1", "email": "nobody@acme.example", "email_verified": True},
            {"sub": "2", "email": email},
            {"sub": "3", "email": email, "email_verified": False},
        ):
            issuer.person = person
            assert failed(await sign_in(browser)) == "nobody"
        await as_mia(pool, company, issuer)
        assert (await sign_in(browser)).headers["location"] == "/"
        issuer.person["sub"] = uuid4().hex
        assert failed(await sign_in(browser)) == "nobody"
        await identities.remove_identities(pool, company["mia"].id)
        assert (await sign_in(browser)).headers["location"] == "/"
        await verbs.remove_member(pool, company.workspace_id, company["mia"].id)
        assert failed(await sign_in(browser)) == "nobody"


async def test_an_invited_address_becomes_a_member_by_its_first_sign_in(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """The invitation is for the address, which the issuer verified; without that, or for an address that is not invited, nobody joins."""
    email = f"{uuid4().hex}@acme.example"
    async with askbus.client(company["owner"]) as owner, askbus.client() as browser:
        assert (await owner.post("/v1/invitations", json={"email": email, "role": "viewer"})).status_code == 201
        issuer.person = {"sub": email, "email": email, "email_verified": False, "name": "Zoe"}
        assert failed(await sign_in(browser)) == "nobody"
        issuer.person["email_verified"] = True
        assert (await sign_in(browser)).headers["location"] == "/"
        me = (await browser.get("/v1/me")).json()
        assert (me["name"], me["principal"]["role"], me["principal"]["workspace_id"]) == (
            "Zoe",
            "viewer",
            str(company.workspace_id),
        )
        issuer.person["sub"] = uuid4().hex
        assert (await owner.post("/v1/invitations", json={"email": email, "role": "admin"})).status_code in {201, 409}
        assert failed(await sign_in(browser)) == "nobody"


async def test_what_let_somebody_act_for_an_address_before_it_was_proved_ends(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Whoever had the address's link first would else stay in the account of whom it belongs to, by a session or a password."""
    await as_mia(pool, company, issuer)
    await pool.execute("INSERT INTO passwords (user_id, hash) VALUES ($1, $2)", company["mia"].id, NOBODYS)
    async with askbus.client(company["mia"]) as before, askbus.client() as browser:
        assert (await before.get("/v1/me")).status_code == 200
        await sign_in(browser)
        assert [(await one.get("/v1/me")).status_code for one in (before, browser)] == [401, 200]
        assert (await browser.get("/v1/me/password")).json() == {"set": False}
        async with askbus.client() as second:
            await sign_in(second)
            assert (await browser.get("/v1/me")).status_code == 200


async def test_a_person_who_says_no_there_and_an_issuer_that_is_away(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer, stack: Stack
) -> None:
    """The one comes back to the sign-in page; the other is told before anybody leaves, or once they are back."""
    await as_mia(pool, company, issuer)
    async with askbus.client() as browser:
        state = parse_qs(urlsplit(await begin(browser)).query)["state"][0]
        assert failed(await browser.get(f"/v1/sign-in/acme/callback?error=access_denied&state={state}")) == "denied"
        stack.down.answer = lambda _path: JSONResponse({}, 500)
        away = await browser.post("/v1/sign-in/down", json={})
        assert (away.status_code, away.json()["code"]) == (503, "unavailable")
        back = await visit(await begin(browser))
        issuer.answer = lambda path: JSONResponse({}, 502) if path == "/token" else None
        assert failed(await browser.get(back)) == "unreachable"
        assert (await browser.post("/v1/sign-in/elsewhere", json={})).status_code == 404
        foreign = {"origin": "https://evil.example", "content-type": "application/json"}
        assert (await browser.post("/v1/sign-in/acme", content=b"{}", headers=foreign)).status_code == 403


async def test_the_issuers_keys_may_change_between_two_sign_ins(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a restart: a key of a new name is looked for."""
    monkeypatch.setattr(keys, "FLOOR", 0)
    await as_mia(pool, company, issuer)
    kept = issuer.keys
    async with askbus.client() as browser:
        for name in ("second", "third"):
            issuer.keys = [new_key(name), kept[1]]
            assert (await sign_in(browser)).headers["location"] == "/"
        issuer.keys = kept
        assert (await sign_in(browser)).headers["location"] == "/"


@pytest.mark.parametrize(
    "path",
    ["", "//evil.example", "/\\evil.example", "https://evil.example", "\\\\evil.example", "/\t/evil.example", "/\n", "javascript:alert(1)",
     "evil", "/a b", f"/{'x' * 10_000}", "/ä", "/%00\0"],
)  # fmt: skip
async def test_nobody_is_sent_on_to_another_site(askbus: Composed, path: str) -> None:
    """An open redirect would lend our name to anybody (OWASP, unvalidated redirects)."""
    async with askbus.client() as browser:
        refused = await browser.post("/v1/sign-in/acme", json={"return_to": path})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")


def test_a_path_of_our_own_is_let_through() -> None:
    """With its query and fragment."""
    for path in ("/", "/#thread=1", "/oauth/authorize?client_id=a&x=%2F%2Fb#c", "/a//b"):
        assert local_path(path) == path
