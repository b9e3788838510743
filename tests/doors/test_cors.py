"""Pages of other origins: those that are listed may call the API with a token, and nobody's may with a cookie."""

from collections.abc import AsyncIterator

import pytest
from pydantic import TypeAdapter, ValidationError

from askbus.access.origins import Origin
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.app import make_app as make_gateway
from askbus_gateway.http.cors import HEADERS, METHODS

pytestmark = pytest.mark.requirement("I5")

APP, LOCAL = "https://app.example", "http://localhost:5173"
OTHERS = (
    "https://app.example.evil.example", "http://app.example", "https://app.example:8443", "https://APP.example", "null", "",
    f"{APP},{LOCAL}",
)  # fmt: skip


@pytest.fixture
async def listed(database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """A gateway that lists two origins."""
    await provision(nats_server.url, ack_wait=1)
    given: dict[str, object] = {"cors_origins": f"{APP}, {LOCAL}", "command_patience": 0}
    async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)], **given) as running:
        yield running


async def test_a_listed_page_is_let_in_with_a_token(listed: Composed, company: Company, pool: Pool) -> None:
    """A preflight gets leave without any credentials; the answer names the page and never `*`, refusals and unknown addresses too."""
    agent = await give_token(pool, company["mia"])
    async with listed.client() as stranger, listed.client(agent) as robot:
        for origin in (APP, LOCAL):
            asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}
            leave = await stranger.options("/v1/questions", headers={"origin": origin, **asks})
            assert (leave.status_code, leave.headers["access-control-allow-origin"]) == (204, origin)
            assert (leave.headers["access-control-allow-methods"], leave.headers["access-control-allow-headers"]) == (
                METHODS,
                HEADERS,
            )
            assert "Origin" in leave.headers["vary"]
            asked = {"project_id": str(company.north), "text": "Ship it?"}
            answers = [
                (200, await robot.get("/v1/me", headers={"origin": origin})),
                (400, await robot.post("/v1/questions", json={}, headers={"origin": origin})),
                (503, await robot.post("/v1/questions", json=asked, headers={"origin": origin})),
                (401, await stranger.get("/v1/me", headers={"origin": origin})),
                (404, await robot.get("/v1/nothing", headers={"origin": origin})),
                (405, await robot.put("/v1/me", headers={"origin": origin}, json={})),
                (400, await robot.post("/v1/questions", content=b"x", headers={"origin": origin, "content-encoding": "gzip"})),
            ]
            for status, answer in answers:
                assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, origin)
                assert "Retry-After" in answer.headers["access-control-expose-headers"]
                assert answer.headers["vary"] == "Origin"
                assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_that_is_not_listed_is_not_let_in(listed: Composed, company: Company, pool: Pool) -> None:
    """Letter by letter: neither a longer name, nor another scheme or port, nor a sandbox; and caches keep the answers apart."""
    agent = await give_token(pool, company["mia"])
    async with listed.client(agent) as robot:
        for origin in OTHERS:
            leave = await robot.options("/v1/questions", headers={"origin": origin, "access-control-request-method": "POST"})
            assert leave.status_code == 405
            for answer in (leave, await robot.get("/v1/me", headers={"origin": origin}), await robot.get("/v1/me")):
                assert not [name for name in answer.headers if name.startswith("access-control")]
                assert answer.headers["vary"] == "Origin"
        twice = await robot.get("/v1/me", headers=[("origin", APP), ("origin", "https://evil.example")])
        assert "access-control-allow-origin" not in twice.headers
        plain = await robot.options("/v1/questions", headers={"origin": APP})
        assert plain.status_code == 405


async def test_a_cookie_counts_from_our_own_page_alone(listed: Composed, company: Company) -> None:
    """A listed page can change nothing with it, and no answer to it may be shown there: leave for credentials is never given."""
    async with listed.client(company["mia"]) as mia:
        changed = await mia.patch("/v1/me", json={"locale": "de"}, headers={"origin": APP})
        assert (changed.status_code, changed.json()["code"]) == (403, "permission_denied")
        own = await mia.patch("/v1/me", json={"locale": "de"}, headers={"origin": listed.http})
        assert own.status_code == 200
        read = await mia.get("/v1/me", headers={"origin": APP})
        assert "access-control-allow-credentials" not in read.headers


@pytest.mark.parametrize(
    "wrong",
    [
        "*",
        "https://*.app.example",
        "https://app.example/",
        "https://App.example",
        "https://app.example:443",
        "app.example",
        "null",
    ],
)
def test_an_origin_is_listed_as_browsers_write_it(wrong: str) -> None:
    """Anything else would never match, or match too much: said when the gateway starts."""
    with pytest.raises(ValidationError, match=r"no origin|did you mean"):
        TypeAdapter(Origin).validate_python(wrong)
    for right in (APP, LOCAL, "http://[::1]:8080"):
        assert TypeAdapter(Origin).validate_python(right) == right
