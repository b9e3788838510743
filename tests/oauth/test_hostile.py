"""What is no request at all, or one that means two things: an error as OAuth has it, and nothing else."""

from collections.abc import Sequence

import httpx2
import pytest
from tests.oauth.browsing import NO_TLS, Browser, Client

from askbus.testing.composed import Composed
from askbus.testing.people import Company

HOSTILE: Sequence[tuple[str, str | bytes, int]] = [
    ("twice", "grant_type=refresh_token&client_id=x&refresh_token=a&refresh_token=b", 400),
    ("twice with one empty", "grant_type=refresh_token&client_id=x&refresh_token=a&refresh_token=", 400),
    ("nul", "grant_type=refresh_token&client_id=x&refresh_token=%00", 400),
    ("no utf-8", "grant_type=refresh_token&client_id=x&refresh_token=%ff", 400),
    ("raw bytes", b"grant_type=refresh_token&client_id=\xff", 400),
    ("too many", "&".join(f"a{n}=1" for n in range(60)), 400),
    ("too large", "grant_type=refresh_token&client_id=" + "x" * 40_000, 413),
    ("no grant", "client_id=x", 400),
    ("another grant", "grant_type=client_credentials&client_id=x", 400),
    ("password", "grant_type=password&client_id=x&username=a&password=b", 400),
    ("no app", "grant_type=refresh_token&refresh_token=x", 401),
]


@pytest.mark.requirement("M3")
async def test_hostile_requests_get_an_answer_and_nothing_else(running: Composed, company: Company) -> None:
    """Repeated, broken, too long, too many, in the wrong place: an error as OAuth has it, never one of ours."""
    client = Client(running.http)
    await client.register()
    async with httpx2.AsyncClient(base_url=running.http, verify=NO_TLS) as app:
        for name, said, status in HOSTILE:
            form = {"content-type": "application/x-www-form-urlencoded"}
            response = await app.post("/oauth/token", content=said, headers=form)
            assert (response.status_code, "error" in response.json()) == (status, True), name
        good = {"grant_type": "refresh_token", "client_id": client.id, "refresh_token": "x"}
        assert (await app.post("/oauth/token", json=good)).json()["error"] == "invalid_request"
        assert (await app.post("/oauth/token", params=good)).json()["error"] == "invalid_request"
        assert (await app.post("/oauth/token?client_id=x", data=good)).json()["error"] == "invalid_request"
        for basic in ("Basic !!!", "Basic " + "eA==", "Bearer x", "Basic /w=="):
            refused = await app.post("/oauth/token", data=good, headers={"authorization": basic})
            assert refused.status_code in {400, 401}, basic
        for body, error in (
            (b"[" * 5000, "invalid_client_metadata"),
            (b"{}", "invalid_redirect_uri"),
            (b'{"redirect_uris": []}', "invalid_redirect_uri"),
            (b'{"redirect_uris": ["https://a.example/\\u0000"]}', "invalid_client_metadata"),
            (
                b'{"redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "private_key_jwt"}',
                "invalid_client_metadata",
            ),
            (b'{"redirect_uris": ["https://a.example/"], "grant_types": ["implicit"]}', "invalid_client_metadata"),
            (b'{"redirect_uris": "https://a.example/"}', "invalid_redirect_uri"),
            (b'{"redirect_uris": ["https://a.example/"], "client_name": {"a": 1}}', "invalid_client_metadata"),
            (b"x" * 20_000, "invalid_request"),
        ):
            refused = await app.post("/oauth/register", content=body)
            assert (refused.status_code in {400, 413}, refused.json()["error"]) == (True, error), body[:60]
    owner = Browser(running, company["owner"])
    for query in (
        "client_id=a&client_id=b", "client_id=%00", "client_id=%ff", "x=" + "y" * 9000, "&".join(f"a{n}=1" for n in range(60)),
        str(httpx2.QueryParams(client.asks(state="s" * 3000))), f"client_id={client.id}&redirect_uri=http://127.0.0.1/callback&state=%0d%0aa:b",
    ):  # fmt: skip
        response = await owner.get(f"/oauth/authorize?{query}")
        assert response.status_code in {303, 400, 414}, query[:60]
        assert "a" not in response.headers
    registered = [await client.register() for _ in range(31)]
    assert (registered[-1].status_code, registered[-1].json()["error"]) == (429, "temporarily_unavailable")
    assert int(registered[-1].headers["retry-after"]) > 0
