"""Issuers that publish what nobody expects: the keys that can be used are used, and no browser is sent where nobody signs in."""

from uuid import uuid4

import pytest
from joserfc.jwk import KeySet
from starlette.responses import JSONResponse, Response
from tests.signin.test_bearers import address_of, ask

from askbus.db.pool import Pool
from askbus.identity import issuer as keys
from askbus.testing.composed import Composed
from askbus.testing.issuer import TestIssuer, signed
from askbus.testing.people import Company

ODD: list[object] = [
    1, None, [], {"kty": []}, {"kty": {"a": 1}}, {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": {"a": 1}},
    {"kty": "RSA", "n": 5, "e": "AQAB"}, {"kty": "RSA", "n": "", "e": ""}, {"kty": "OKP", "crv": "X25519", "x": "AAAA"},
    {"kty": "RSA", "n": "AQAB", "e": "AQ", "use": ["sig"]},
]  # fmt: skip


@pytest.mark.requirement("I1", "I2")
async def test_odd_keys_and_endpoints_trouble_nobody(
    askbus: Composed, company: Company, pool: Pool, issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside keys of kinds and types that nobody knows the good one counts; endpoints that are scripts or files are none, and what was
    known before stays."""
    monkeypatch.setattr(keys, "FLOOR", 0)
    email = await address_of(pool, company, "mia")
    good = KeySet(issuer.keys).as_dict(private=False)["keys"]

    def odd(path: str) -> Response | None:
        return JSONResponse({"keys": [*ODD, *good]}) if path == "/jwks" else None

    async with askbus.client() as browser:
        assert (await browser.post("/v1/sign-in/acme", json={})).status_code == 200

    async def looks_again() -> None:
        unknown = signed(issuer.claims(email, email), issuer.keys[0], kid=uuid4().hex)
        assert (await ask(askbus, unknown)).status_code == 401

    issuer.answer = odd
    await looks_again()
    assert (await ask(askbus, issuer.token(email, email))).status_code == 200
    issuer.answer = lambda _path: None
    for endpoint in (
        "javascript:alert(1)//",
        "file:///etc/passwd",
        "data:text/html,x",
        "/\\evil.example",
        "https://a.example/ b",
    ):
        issuer.metadata = {"authorization_endpoint": endpoint}
        await looks_again()
        async with askbus.client() as browser:
            begun = await browser.post("/v1/sign-in/acme", json={})
        assert (begun.status_code, begun.json()["url"].partition("?")[0]) == (200, f"{issuer.url}/authorize"), endpoint
    issuer.metadata = {}
    await looks_again()
