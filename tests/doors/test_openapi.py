"""The served OpenAPI document: it is one, and it has every route."""

from collections.abc import AsyncIterator, Sequence

import httpx2
import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31
from starlette.routing import BaseRoute, Route

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.runtime.health import Asgi
from askbus.testing.composed import Composed, compose
from askbus.testing.conforming import Conforming
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway import app
from askbus_gateway.http.api import make_api

SERVED: list[Route] = []


@pytest.fixture
async def gateway(monkeypatch: pytest.MonkeyPatch, database: TestDatabase, nats_server: Server) -> AsyncIterator[Composed]:
    """The gateway alone, whose routes are noted."""

    def noted(routes: Sequence[BaseRoute]) -> Asgi:
        SERVED[:] = [route for route in routes if isinstance(route, Route)]
        return make_api(routes)

    monkeypatch.setattr(app, "make_api", noted)
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, [(Service.GATEWAY, app.make_app)]) as running:
        yield running


@pytest.mark.requirement("C30")
async def test_the_document_is_openapi_and_has_every_route(gateway: Composed) -> None:
    """It is read without credentials, valid by the schema that OpenAPI publishes, and names each method of each path under /v1.

    Every answer that the tests of doors get is judged by it (askbus.testing.conforming); here, that the judge does refuse.
    """
    async with gateway.client() as nobody:
        response = await nobody.get("/v1/openapi.json")
    document = response.raise_for_status().json()
    jsonschema_rs.validator_for(OPENAPI_31).validate(document)
    described = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    served = {
        (method, route.path)
        for route in SERVED
        for method in (route.methods or set()) - {"HEAD"}
        if route.path.startswith("/v1/")
    }
    assert described == served
    assert len(served) > 70
    ids = [operation["operationId"] for operations in document["paths"].values() for operation in operations.values()]
    assert len(set(ids)) == len(ids)
    for status, answer in (
        (418, "{}"),
        (200, '{"principal": "somebody"}'),
        (404, '{"code": "conflict", "message": "", "details": {}}'),
    ):
        with pytest.raises(AssertionError):
            Conforming(document).judge(answered(status, answer))


def answered(status: int, text: str) -> httpx2.Response:
    """An answer that the document does not have."""
    request = httpx2.Request("GET", "http://localhost/v1/me")
    return httpx2.Response(status, text=text, headers={"content-type": "application/json"}, request=request)
