"""The isolation table, tried: every route by everybody who should get nothing of it, with ids that are real and ids that are made up."""

import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

import httpx2
import pytest
from tests.doors.furnished import MODEL, SETTINGS, Furnished, furnish
from tests.doors.isolation import CALLERS, ELSEWHERE, ROUTES, STREAMS, Row
from tests.loop.conftest import ALL_SIX

from askbus.bus.provision import provision
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.testing.composed import compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus_gateway.sse.rules import RULES

THING = re.compile(r"{(\w+)}")
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TELLS_APART = frozenset({"date", "askbus-trace-id"})
"""Headers that differ from answer to answer."""


@pytest.fixture
async def furnished(
    database: TestDatabase, nats_server: Server, company: Company, pool: Pool, shop: TeamDatabase
) -> AsyncIterator[Furnished]:
    """All six services, the scene and its callers."""
    await provision(nats_server.url, ack_wait=1)
    async with ScriptedModel(MODEL) as model:
        settings = {"model_base_url": model.base_url, "records_url": shop.url, **SETTINGS}
        async with compose(database, nats_server.url, ALL_SIX, **settings) as services, furnish(services, company, pool) as made:
            yield made


def filled(part: Any, ids: Mapping[str, str]) -> Any:
    """The same with the id of each `{thing}`."""
    if isinstance(part, str):
        return THING.sub(lambda found: ids[found[1]], part)
    if isinstance(part, Mapping):
        return {key: filled(value, ids) for key, value in part.items()}
    return [filled(value, ids) for value in part] if isinstance(part, list) else part


async def sent(client: httpx2.AsyncClient, row: Row, ids: Mapping[str, str]) -> httpx2.Response:
    """The row's request with these ids."""
    method, path = filled(row.route, ids).split(" ", 1)
    headers = {"x-askbus": "1", **row.headers}
    what: dict[str, Any] = {} if row.body is None else {"json": filled(row.body, ids)}
    if row.headers:
        what = {"content": b"kestrel"}
    return await client.request(method, path, params=filled(row.query, ids), headers=headers, **what)


REFUSALS = {404: ".", 403: "x", 400: "!"}


def cell(real: httpx2.Response, made_up: httpx2.Response, ids: Mapping[str, str], secrets: Sequence[str]) -> str:
    """What a caller got, as the table writes it; words where it is none of these. `ids` are those that the request named."""
    text = neutral(real, ids)
    same = real.status_code == made_up.status_code and told(real) == told(made_up) and text == neutral(made_up, ids)
    if real.status_code in REFUSALS and same:
        return REFUSALS[real.status_code]
    if real.is_success and (not text or any(secret in text for secret in secrets)):
        return "+"
    if real.is_success and (same or not ids or "word" in ids):
        return "0"
    return f"{real.status_code} {real.text[:200]} but made up {made_up.status_code} {made_up.text[:200]}"


def neutral(response: httpx2.Response, ids: Mapping[str, str]) -> str:
    """The answer without the ids that were asked for, real ones or made up: somebody who sends one may read it back."""
    sent = UUIDS.findall(f"{response.request.url} {response.request.content.decode()}") if ids else []
    text = response.text
    for one in sent:
        text = text.replace(one, "{id}")
    return text


def told(response: httpx2.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name not in TELLS_APART}


def route_of(row: Row) -> str:
    return re.sub(r"{\w+}|kestrel-\w+|query_records", "{}", row.route)


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
    begun = {caller: (await client.get("/v1/changes")).json()["id"] for caller, client in furnished.clients.items()}
    wrong = [problem for row in ROUTES async for problem in problems(furnished, row)]
    assert not wrong, "\n".join(wrong)
    assert STREAMS.keys() == RULES.keys(), "each entity of streams has a row, and each row an entity"
    here = await furnished.changed()
    told_of = {caller: await heard(furnished.clients[caller], after, here) for caller, after in begun.items()}
    assert told_of["mia"] | told_of["admin"] == RULES.keys(), "all of it happened"
    cells = {entity: "".join("+" if entity in told_of[caller] else "." for caller in CALLERS) for entity in RULES}
    assert cells == STREAMS


async def heard(client: httpx2.AsyncClient, after: str, here: Collection[str]) -> set[str]:
    """The kinds of the entities of the scene's workspace that this caller was told of since."""
    polled = (await client.get("/v1/changes", params={"after": after})).json()
    assert polled["reset"] is None
    return {change["entity"] for change in polled["changes"] if change["id"] in here}


async def problems(furnished: Furnished, row: Row) -> AsyncIterator[str]:
    """What of the row does not hold."""
    ids = await furnished.ids(THING.findall(f"{row.route} {row.body} {row.query}"))
    nobodys = {
        name: value if name == "digest" else f"{value}s" if name == "word" else str(new_id()) for name, value in ids.items()
    }
    shows = (row.shows,) if row.shows else ()
    got = {}
    for caller in CALLERS:
        client = furnished.clients[caller]
        made_up = await sent(client, row, nobodys)
        got[caller] = cell(await sent(client, row, ids), made_up, ids, (*furnished.secrets(caller), *shows))
    if list(got.values()) != list(row.cells):
        yield f"{row.route}: not {row.cells!r} but {'|'.join(got.values())}"
    answer = await sent(furnished.clients[row.may], row, ids)
    if not answer.is_success:
        yield f"{row.route}: {row.may} is entitled, but {answer.status_code} {answer.text[:300]}"
    holds = any(secret in neutral(answer, ids) for secret in (*furnished.made, *shows))
    if ids and row.route.startswith("GET") and answer.content and not holds:
        yield f"{row.route}: nothing of the scene is in what {row.may} is answered, so that no cell says anything: {answer.text[:300]}"
