"""The table of routes, tried: every route by everybody who should get nothing of it, with ids that are real and ids that are made up."""

import re
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

import httpx2
import pytest
from tests.doors.isolation.furnished import Furnished
from tests.doors.isolation.routes import CALLERS, ELSEWHERE, ROUTES, STREAMS
from tests.doors.isolation.table import Got, Row, filled, problems

from askbus_gateway.sse.rules import RULES

TELLS_APART = frozenset({"date", "askbus-trace-id"})
"""Headers that differ from answer to answer."""
CODES = {404: "not_found", 403: "permission_denied", 400: "invalid_input", 401: "unauthenticated"}


async def sent(furnished: Furnished, caller: str, row: Row, ids: Mapping[str, str]) -> Got:
    """The row's request over HTTP."""
    method, path = filled(row.name, ids).split(" ", 1)
    headers = {"x-askbus": "1", **row.headers}
    what: dict[str, Any] = {} if row.body is None else {"json": filled(row.body, ids)}
    if row.headers:
        what = {"content": b"kestrel"}
    response = await furnished.clients[caller].request(method, path, params=filled(row.query, ids), headers=headers, **what)
    return told(response)


def told(response: httpx2.Response) -> Got:
    """The answer as the tables compare it."""
    headers = {name: value for name, value in response.headers.items() if name not in TELLS_APART}
    code = None if response.is_success else CODES.get(response.status_code, str(response.status_code))
    return Got(code, response.text, headers)


def route_of(row: Row) -> str:
    return re.sub(r"{\w+}|kestrel-\w+|query_records|orders_in_all", "{}", row.name)


def test_each_route_has_one_row() -> None:
    """Two would hide what one of them says."""
    routes = [route_of(row) for row in ROUTES]
    assert len(set(routes)) == len(routes)


@pytest.mark.requirement("I6", "I3", "I4")
async def test_nobody_gets_what_is_anothers_at_any_route(furnished: Furnished) -> None:
    """Cell by cell; and whoever is entitled does get an answer to the very same request, so that no refusal is for another reason."""
    document = (await furnished.clients["stranger"].get("/v1/openapi.json")).json()
    served = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    tried = {route_of(row) for row in ROUTES} | set(ELSEWHERE)
    assert {re.sub(r"{\w+}", "{}", route) for route in served} == tried, "each route has a row, and each row a route"
    await furnished.ids(["question", "action", "approval"])  # what lists have to show from the first row on
    begun = {caller: (await client.get("/v1/changes")).json()["id"] for caller, client in furnished.clients.items()}
    send = partial(sent, furnished)
    wrong = [one for row in ROUTES for one in await problems(furnished, CALLERS, row, send, shown=row.name.startswith("GET"))]
    assert not wrong, "\n".join(wrong)
    assert STREAMS.keys() == RULES.keys(), "each entity of streams has a row, and each row an entity"
    here = await furnished.changed()
    begun.pop("mover")  # who is elsewhere by now
    told_of = {caller: await heard(furnished.clients[caller], after, here) for caller, after in begun.items()}
    assert told_of["mia"] | told_of["admin"] == RULES.keys(), "all of it happened"
    cells = {entity: "".join("+" if entity in told_of[caller] else "." for caller in CALLERS) for entity in RULES}
    assert cells == STREAMS


async def heard(client: httpx2.AsyncClient, after: str, here: Collection[str]) -> set[str]:
    """The kinds of the entities of the scene's workspace that this caller was told of since."""
    polled = (await client.get("/v1/changes", params={"after": after})).json()
    assert polled["reset"] is None
    return {change["entity"] for change in polled["changes"] if change["id"] in here}
