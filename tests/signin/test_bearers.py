"""JWTs of a trusted issuer as bearer tokens: who is let in by them, where, and until when."""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from starlette.responses import JSONResponse
from tests.signin.conftest import Stack

from askbus.access import verbs
from askbus.access.model import Role
from askbus.db.pool import Pool
from askbus.identity import issuer as keys
from askbus.testing.composed import Composed
from askbus.testing.issuer import AUDIENCE, TestIssuer, new_key, signed
from askbus.testing.people import Company, hire

pytestmark = pytest.mark.requirement("I1")

CHANGES = {"x-askbus": "1"}


async def address_of(pool: Pool, company: Company, who: str) -> str:
    return str(await pool.fetchval("SELECT email FROM users WHERE id = $1", company[who].id))


async def identities_of(pool: Pool, company: Company) -> int:
    return int(await pool.fetchval("SELECT count(*) FROM identities WHERE user_id = $1", company["mia"].id))


async def ask(askbus: Composed, token: str, path: str = "/v1/me", method: str = "GET", **headers: str) -> httpx2.Response:
    """One request with this bearer."""
    sent = {"authorization": f"Bearer {token}", **headers}
    async with httpx2.AsyncClient(base_url=askbus.http, timeout=30) as client:
        return await client.request(method, path, headers=sent)


async def test_a_token_of_a_trusted_issuer_is_a_session_that_ends_with_it(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """The person is found by their verified address, and from then on by the issuer's own name for them; they may confirm."""
    ends = int(time.time()) + 1800
    token = issuer.token(f"mia-{company.north}", await address_of(pool, company, "mia"), exp=ends)
    first = await ask(askbus, token)
    assert first.status_code == 200, first.text
    principal = first.json()["principal"]
    assert (principal["kind"], principal["user_id"]) == ("session", str(company["mia"].id))
    assert "actions:confirm" in principal["scopes"]
    assert (await ask(askbus, token)).json()["principal"]["id"] == principal["id"]
    row = await pool.fetchrow(
        "SELECT method, extract(epoch FROM expires_at)::int AS ends FROM sessions WHERE id = $1::uuid", principal["id"]
    )
    assert row is not None
    assert dict(row) == {"method": "jwt", "ends": ends}
    await pool.execute("UPDATE users SET email = 'mia@new.example' WHERE id = $1", company["mia"].id)
    later = await ask(askbus, issuer.token(f"mia-{company.north}", "gone@acme.example"))
    assert later.json()["principal"]["user_id"] == str(company["mia"].id)
    events = await pool.fetch("SELECT event FROM audit_log WHERE user_id = $1 ORDER BY id", company["mia"].id)
    assert [row["event"] for row in events][-3:] == ["identity.linked", "session.opened", "session.opened"]
    await pool.execute("UPDATE sessions SET expires_at = now() WHERE id = $1::uuid", principal["id"])
    assert (await ask(askbus, token)).status_code == 401


async def test_signing_out_ends_a_token_for_good_and_in_every_workspace(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Its signature holds for an hour more: it is worth nothing all the same. The next one works."""
    email = await address_of(pool, company, "mia")
    other = await verbs.create_workspace(pool, f"Second {uuid4().hex[:8]}")
    await verbs.set_member(pool, other, company["mia"].id, Role.MEMBER)
    here, there = {"askbus-workspace": str(company.workspace_id)}, {"askbus-workspace": str(other)}
    token, unused = issuer.token(email, email), issuer.token(email, email)
    assert [(await ask(askbus, token, **where)).status_code for where in (here, there)] == [200, 200]
    assert (await ask(askbus, token, "/v1/session", "DELETE", **here, **CHANGES)).status_code == 204
    assert [(await ask(askbus, token, **where)).status_code for where in (here, there)] == [401, 401]
    assert (await ask(askbus, unused, "/v1/session", "DELETE", **here, **CHANGES)).status_code == 204
    assert [(await ask(askbus, unused, **where)).status_code for where in (there, here)] == [401, 401]
    assert (await ask(askbus, issuer.token(email, email), **here)).status_code == 200


async def test_a_member_of_several_workspaces_says_where_they_are(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Without that it is refused, with the workspaces that there are to choose from; others are nobody's business."""
    other = await verbs.create_workspace(pool, f"Second {uuid4().hex[:8]}")
    await verbs.set_member(pool, other, company["mia"].id, Role.VIEWER)
    token = issuer.token(uuid4().hex, await address_of(pool, company, "mia"))
    unclear = await ask(askbus, token)
    assert (unclear.status_code, unclear.json()["code"]) == (400, "invalid_input")
    assert set(unclear.json()["details"]["workspaces"]) == {str(company.workspace_id), str(other)}
    for workspace, role in ((company.workspace_id, "member"), (other, "viewer")):
        chosen = (await ask(askbus, token, **{"askbus-workspace": str(workspace)})).json()["principal"]
        assert (chosen["workspace_id"], chosen["role"]) == (str(workspace), role)
    elsewhere = await pool.fetchval("SELECT workspace_id FROM projects WHERE id = $1", company.elsewhere)
    refused = [await ask(askbus, token, **{"askbus-workspace": str(one)}) for one in (elsewhere, uuid4())]
    assert [response.status_code for response in refused] == [403, 403]
    assert refused[0].text == refused[1].text
    assert (await ask(askbus, token, **{"askbus-workspace": "second"})).status_code == 400


async def test_whom_no_member_is_let_in_by(askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer) -> None:
    """No address, one that is not verified or nobody's, and an address that its issuer gave to somebody else since."""
    email = await address_of(pool, company, "mia")
    for claims in (
        {"email": None},
        {"email_verified": None},
        {"email_verified": "true"},
        {"email_verified": False},
        {"email": "nobody@acme.example"},
        {"email": "mia\0@acme.example"},
        {"email": email.replace("mia", "m\u0130a")},
    ):
        refused = await ask(askbus, issuer.token("somebody", email, **claims))
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied"), claims
    assert await identities_of(pool, company) == 0
    assert (await ask(askbus, issuer.token(email, email))).status_code == 200
    assert (await ask(askbus, issuer.token(uuid4().hex, email))).status_code == 403
    await verbs.remove_member(pool, company.workspace_id, company["mia"].id)
    assert (await ask(askbus, issuer.token(email, email))).status_code == 403


async def test_two_first_requests_at_once_make_one_session(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Whoever comes second finds what the first made: the same identity, the same session."""
    token = issuer.token(uuid4().hex, await address_of(pool, company, "mia"))
    answers = await asyncio.gather(*(ask(askbus, token) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["principal"]["id"] for answer in answers}) == 1
    assert await pool.fetchval("SELECT count(*) FROM sessions WHERE method = 'jwt' AND user_id = $1", company["mia"].id) == 1


Forged = Callable[[TestIssuer, str], str]


def unsigned(issuer: TestIssuer, email: str) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, issuer.claims(email, email))
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


def keyed_with_the_public_key(issuer: TestIssuer, email: str) -> str:
    published = issuer.keys[0]
    assert isinstance(published, ECKey)
    pem = published.as_pem(private=False)
    key = OctKey.import_key(base64.urlsafe_b64encode(pem).decode())  # PEM itself is refused by the library as a secret
    return jwt.encode({"alg": "HS256", "kid": issuer.keys[0].kid}, issuer.claims(email, email), key)


def with_its_own_key_inside(issuer: TestIssuer, email: str) -> str:
    key = new_key("first")
    return signed(issuer.claims(email, email), key, jwk=key.as_dict(private=False), jku=f"{issuer.url}/evil")


def changed(**claims: object) -> Forged:
    return lambda issuer, email: issuer.token(
        email, email, **{name: v(issuer) if callable(v) else v for name, v in claims.items()}
    )


def headed(**header: object) -> Forged:
    return lambda issuer, email: signed(issuer.claims(email, email), issuer.keys[1], **header)


def nested(issuer: TestIssuer, email: str) -> str:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    return issuer.token(email, email, deep=deep)


FORGED: dict[str, Forged] = {
    "no algorithm": unsigned,
    "a secret made of the public key": keyed_with_the_public_key,
    "a key of its own in its header": with_its_own_key_inside,
    "another key under the same name": lambda issuer, email: signed(issuer.claims(email, email), new_key("first")),
    "an algorithm that is not allowed": lambda issuer, email: signed(
        issuer.claims(email, email), ECKey.generate_key("P-384", {"kid": "first"}), alg="ES384"
    ),
    "another kind of key": lambda issuer, email: signed(issuer.claims(email, email), RSAKey.generate_key(2048, {"kid": "first"})),
    "a key that is not published": headed(kid="unknown"),
    "a critical header that nobody knows": headed(crit=["future"], future="1"),
    "a critical header that every reader knows": headed(crit=["alg"]),
    "a token of another type": headed(typ="logout+jwt"),
    "no end": changed(exp=None),
    "an end that is past": changed(exp=lambda _issuer: int(time.time()) - 1),
    "an end that is no number": changed(exp="2999"),
    "a start that is to come": changed(nbf=lambda _issuer: int(time.time()) + 120),
    "made in the future": changed(iat=lambda _issuer: int(time.time()) + 120),
    "no audience": changed(aud=None),
    "another audience": changed(aud="https://askbus.example.evil"),
    "the audience with another port": changed(aud=f"{AUDIENCE}:443"),
    "the audience with a slash": changed(aud=f"{AUDIENCE}/"),
    "several audiences": changed(aud=[AUDIENCE, "https://other.example"]),
    "no issuer": changed(iss=None),
    "the issuer with a slash": changed(iss=lambda issuer: f"{issuer.url}/"),
    "the issuer without its port": changed(iss="http://127.0.0.1"),
    "the issuer by another name": changed(iss=lambda issuer: issuer.url.replace("127.0.0.1", "localhost")),
    "no subject": changed(sub=None),
    "an empty subject": changed(sub=""),
    "a subject without end": changed(sub="x" * 256),
    "a subject that Postgres cannot store": changed(sub="m\0ia"),
    "too large": changed(padding="x" * 9000),
    "nested without end": nested,
    "a subject that cannot be shown": changed(sub="mia\u202eaim"),
    "cut off": lambda issuer, email: issuer.token(email, email)[:-1],
    "no JSON": lambda _issuer, _email: "eyJ.eyJ.AAAA",
    "four parts": lambda issuer, email: f"{issuer.token('mia', email)}.AAAA",
}


async def test_what_is_forged_or_stale_lets_nobody_in(askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer) -> None:
    """By table (RFC 8725): each is told in a sentence, none leaves a row, and none makes the gateway read the keys again and again."""
    email = await address_of(pool, company, "mia")
    before = issuer.reads_of_keys()
    for what, forged in FORGED.items():
        response = await ask(askbus, forged(issuer, email))
        assert (response.status_code, response.json()["code"]) == (401, "unauthenticated"), (what, response.text)
        assert response.headers["www-authenticate"] == "Bearer"
    assert await identities_of(pool, company) == 0
    assert issuer.reads_of_keys() <= before + 1
    assert (await ask(askbus, issuer.token(email, email, aud=[AUDIENCE]))).status_code == 200


async def test_a_key_pair_of_rsa_and_a_long_header_serve_too(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """Issuers put names of their own into headers, and some write no type."""
    email = await address_of(pool, company, "mia")
    for header in ({}, {"typ": None}, {"typ": "at+JWT"}, {"typ": "application/at+jwt"}, {"x5t": "AAAA", "rh": "0.AX"}):
        response = await ask(askbus, signed(issuer.claims(email, email), issuer.keys[1], **header))
        assert response.status_code == 200, (header, response.text)
    assert (await ask(askbus, signed(issuer.claims(email, email), issuer.keys[1], kid=None))).status_code == 401


async def test_an_issuer_out_of_reach_is_told_as_such_and_troubles_nobody_else(
    askbus: Composed, company: Company, pool: Pool, stack: Stack
) -> None:
    """503 to its people, after one attempt; whoever has a session or a token notices nothing."""
    issuer = stack.down
    issuer.answer = lambda _path: JSONResponse({}, 500)
    token = issuer.token(uuid4().hex, await address_of(pool, company, "mia"))
    answers = [await ask(askbus, token) for _ in range(3)]
    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(503, "unavailable")}
    assert answers[0].headers["retry-after"] == "30"
    assert len(issuer.asked) == 1
    async with askbus.client(company["mia"]) as browser:
        assert (await browser.get("/v1/me")).status_code == 200


async def test_keys_are_rotated_without_a_restart_and_old_ones_stop(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new name makes the gateway look, at most every FLOOR seconds; what the issuer publishes no more is worth nothing then."""
    monkeypatch.setattr(keys, "FLOOR", 0)
    email = await address_of(pool, company, "mia")
    old, kept = issuer.token(email, email), issuer.keys
    assert (await ask(askbus, old)).status_code == 200
    issuer.keys = [new_key("second"), kept[1]]
    assert (await ask(askbus, issuer.token(email, email))).status_code == 200
    assert (await ask(askbus, old)).status_code == 401
    issuer.keys = kept
    assert (await ask(askbus, old)).status_code == 200
    monkeypatch.undo()
    before = issuer.reads_of_keys()
    forged = [signed(issuer.claims(email, email), new_key(uuid4().hex)) for _ in range(20)]
    assert {answer.status_code for answer in await asyncio.gather(*(ask(askbus, one) for one in forged))} == {401}
    assert issuer.reads_of_keys() == before


@pytest.mark.requirement("M3")
async def test_the_door_of_mcp_takes_no_token_of_an_issuer(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """The same token that every other door trusts: apps come there by a grant, with an audience of its own."""
    token = issuer.token(uuid4().hex, await address_of(pool, company, "mia"))
    assert (await ask(askbus, token)).status_code == 200
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with httpx2.AsyncClient(base_url=askbus.http) as client:
        assert (await client.post("/mcp", json=call, headers=headers)).status_code == 401


async def test_a_person_hired_elsewhere_is_not_let_in_here(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer
) -> None:
    """A JWT reaches what its person's membership reaches, and no more: somebody else's project does not exist for them."""
    name = f"Second {uuid4().hex[:8]}"
    other = await verbs.create_workspace(pool, name)
    zoe = await hire(pool, other, "zoe", Role.OWNER)
    token = issuer.token(uuid4().hex, str(await pool.fetchval("SELECT email FROM users WHERE id = $1", zoe.id)))
    assert (await ask(askbus, token)).json()["workspace"] == name
    assert (await ask(askbus, token, f"/v1/projects/{company.north}/members")).status_code == 404
