"""The table of MCP tools, tried: every tool with every kind of credentials, with ids that are real and ids that are made up."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

import httpx2
import pytest
from tests.doors.isolation.furnished import Furnished
from tests.doors.isolation.table import Got, Row, filled, problems
from tests.doors.isolation.test_routes import told
from tests.doors.isolation.tools import CALLERS, DEAD, TOOLS
from tests.doors.over_mcp.talk import ask, said

from askbus.access import verbs as access
from askbus.access.credentials import digest
from askbus.access.model import TOKEN_SCOPES, Scope
from askbus.oauth import verbs as oauth
from askbus.oauth.model import GRANTABLE
from askbus.testing.apps import connect, register_app
from askbus.testing.people import give_token

EVERY = tuple(TOKEN_SCOPES)


async def tokens(furnished: Furnished) -> dict[str, str | None]:
    """What each caller shows."""
    company, pool, people = furnished.company, furnished.pool, furnished.people
    mia, owner = company["mia"], company["owner"]
    shown = {name: (await give_token(pool, people[name], EVERY)).token for name in ("stranger", "other", "viewer", "demo")}
    shown["mia"] = furnished.agent.token
    shown["reader"] = (await give_token(pool, mia, (Scope.DATA_READ,))).token
    shown["south"] = (await give_token(pool, owner, EVERY, (company.south,))).token
    expired, revoked = [await give_token(pool, mia, EVERY) for _ in range(2)]
    await pool.execute("UPDATE tokens SET expires_at = now() WHERE id = $1", expired.id)
    await access.revoke_token(pool, mia.principal, revoked.id)
    shown |= {"expired": expired.token, "revoked": revoked.token, "made_up": f"{revoked.token[:-4]}AAAA", "session": mia.cookie}
    for name, person, scopes, projects in (
        ("app", owner, GRANTABLE, (company.south,)),
        ("narrow", mia, (Scope.DATA_READ,), (company.north,)),
        ("app_expired", mia, GRANTABLE, (company.north,)),
        ("app_removed", mia, GRANTABLE, (company.north,)),
        ("app_elsewhere", mia, GRANTABLE, (company.north,)),
    ):
        app = await register_app(pool, name)
        issued = await connect(pool, person, app.client, scopes=scopes, projects=projects)
        assert issued.access_token is not None
        shown[name] = issued.access_token
    hashes = {name: digest(token) for name, token in shown.items()}
    of = "UPDATE oauth_access_tokens SET {} WHERE hash = $1"
    await pool.execute(of.format("expires_at = now()"), hashes["app_expired"])
    await pool.execute(of.format("resource = 'http://localhost/other'"), hashes["app_elsewhere"])
    grant = await pool.fetchval("SELECT grant_id FROM oauth_access_tokens WHERE hash = $1", hashes["app_removed"])
    await oauth.remove_app(pool, mia.principal, grant)
    return {**shown, "nobody": None}


async def sent(clients: Mapping[str, httpx2.AsyncClient], caller: str, row: Row, ids: Mapping[str, str]) -> Got:
    """The row's call of its tool. What the tool itself refuses is a result."""
    request = said("tools/call", {"name": row.name, "arguments": filled(row.body, ids)})
    request["headers"]["accept"] = "application/json"
    got = told(await clients[caller].post("/mcp", **request))
    result = {} if got.code else json.loads(got.text)["result"]
    return replace(got, code=json.loads(result["content"][0]["text"])["code"]) if result.get("isError") else got


@pytest.fixture
async def clients(furnished: Furnished) -> AsyncIterator[Mapping[str, httpx2.AsyncClient]]:
    """One of each caller's, with what they show."""
    async with AsyncExitStack() as opened:
        made = {}
        for name, token in (await tokens(furnished)).items():
            made[name] = await opened.enter_async_context(furnished.services.client())
            if token is not None:
                made[name].headers["authorization"] = f"Bearer {token}"
        yield made


@pytest.mark.requirement("I6", "M2", "I3", "I4")
async def test_nobody_gets_what_is_anothers_by_any_tool(furnished: Furnished, clients: Mapping[str, httpx2.AsyncClient]) -> None:
    """Cell by cell, every tool that there is; Mia's own token is answered each time. Dead credentials get the same of all of them."""
    listed = (await ask(clients["mia"], "tools/list")).json()["result"]["tools"]
    assert {tool["name"] for tool in listed} == {row.name for row in TOOLS}, "each tool has a row, and each row a tool"
    await furnished.ids(["applied"])  # what who may read data is told of
    refused = "-" * len(DEAD)
    wrong = []
    for row in TOOLS:
        whole = replace(row, cells=f"{row.cells}{refused}")
        wrong += await problems(furnished, (*CALLERS, *DEAD), whole, partial(sent, clients), shown=True)
    assert not wrong, "\n".join(wrong)
