"""Every route of the gateway, those of tomorrow too: nobody gets anywhere without credentials that work.

Who has some and should get nothing is in the table of tests/doors/isolation/routes.py.
"""

import re
from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest
from starlette.routing import BaseRoute, Route

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.runtime.health import Asgi
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway import app
from askbus_gateway.http.api import make_api

OPEN = {
    ("POST", "/v1/session"), ("POST", "/v1/session/password"), ("POST", "/v1/password"),
    ("GET", "/v1/sign-in"), ("POST", "/v1/sign-in/{provider}"), ("GET", "/v1/sign-in/{provider}/callback"),
    ("POST", "/v1/invitations/look-at"), ("POST", "/v1/invitations/accept"), ("GET", "/v1/openapi.json"),
}  # fmt: skip
"""What somebody without credentials must reach: it asks for a code, a password or an issuer's word, or tells nothing of what is stored."""


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> list[Route]:
    """The routes of the gateway that starts next."""
    found: list[Route] = []

    def kept(given: Sequence[BaseRoute]) -> Asgi:
        found.extend(route for route in given if isinstance(route, Route) and route.path.startswith("/v1/"))
        return make_api(given)

    monkeypatch.setattr(app, "make_api", kept)
    return found


@pytest.fixture
async def gateway(routes: list[Route], database: TestDatabase, nats_server: Server, company: Company) -> AsyncIterator[Composed]:
    """The gateway alone: no owner is there to refuse anything for it."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, app.make_app)], command_patience=0) as running:
        yield running


def calls(routes: list[Route], some_id: object) -> list[tuple[str, str]]:
    """Each method of each route, with an id where it wants one."""
    return [
        (method, re.sub(r"{[^}]+}", str(some_id), route.path))
        for route in routes
        for method in sorted((route.methods or set()) - {"HEAD"})
        if (method, route.path) not in OPEN
    ]


async def answer(client: httpx2.AsyncClient, method: str, path: str) -> httpx2.Response:
    return await client.request(method, path, **({} if method == "GET" else {"json": {}}))  # type: ignore[arg-type]


@pytest.mark.requirement("I6", "I1")
async def test_no_route_answers_without_credentials_that_work(
    gateway: Composed, routes: list[Route], company: Company, pool: Pool
) -> None:
    """Nobody, a made-up token, a revoked one, an expired one, an ended session: 401 and nothing else, whatever the route."""
    revoked, expired = await give_token(pool, company["owner"]), await give_token(pool, company["owner"])
    await pool.execute("UPDATE tokens SET state = 'revoked' WHERE id = $1", revoked.id)
    await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = $1", expired.id)
    await pool.execute("UPDATE sessions SET expires_at = now() WHERE id = $1", company["owner"].principal.id)
    assert len(calls(routes, company.north)) > 15
    for who in (None, revoked, expired, company["owner"]):
        async with gateway.client(who) as client:
            for method, path in calls(routes, company.north):
                response = await answer(client, method, path)
                assert (response.status_code, response.json()["code"]) == (401, "unauthenticated"), (method, path)
