"""GET /v1/changes: what a stream would have told, for clients that ask now and then."""

from typing import Any

import httpx2
import pytest

from askbus.access import verbs as access
from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.questions import verbs
from askbus.testing.composed import Composed
from askbus.testing.events import following
from askbus.testing.people import Company, give_token
from askbus.testing.questions import answer_command, open_question

pytestmark = pytest.mark.requirement("S13")


async def poll(client: httpx2.AsyncClient, after: str | None = None, **more: str) -> dict[str, Any]:
    response = await client.get("/v1/changes", params={**({"after": after} if after else {}), **more})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_a_poll_tells_what_a_stream_tells_under_the_same_ids(gateway: Composed, company: Company, pool: Pool) -> None:
    """First a state; then what moved since, once and in order; and the id of either way continues the other."""
    mia, max_ = company["mia"].principal, company["max"]
    before = await open_question(pool, mia, company.north)
    async with gateway.client(max_) as client, following(gateway.http, max_) as stream:
        state = (await stream.next()).data
        first = await poll(client)
        assert (first["reset"], first["state"], first["changes"]) == (None, state, [])
        asked = await open_question(pool, mia, company.north)
        await verbs.answer(pool, answer_command(max_.principal, before.id), trace=None)
        told = [*await stream.changes(), *await stream.changes()]
        news = await poll(client, first["id"])
        assert (news["state"], news["changes"]) == (None, told)
        assert [change["id"] for change in told] == [str(asked.id), str(before.id)]
        assert (await poll(client, news["id"]))["changes"] == []
        by_stream = await poll(client, stream.events[1].id)
        assert by_stream["changes"] == told[1:]
        async with following(gateway.http, max_, after=first["id"]) as resumed:
            assert await resumed.changes() == told


async def test_a_poll_goes_by_the_rights_and_the_entities_of_a_stream(gateway: Composed, company: Company, pool: Pool) -> None:
    """Another project's changes do not come; a token's scopes count; lost rights, and ids that mean nothing, give a reset."""
    mia, max_ = company["mia"].principal, company["max"]
    reader = await give_token(pool, company["mia"], (Scope.DATA_READ,))
    async with gateway.client(max_) as client, gateway.client(reader) as narrow:
        start, narrowed = await poll(client), await poll(narrow)
        assert narrowed["state"] == {"entities": [], "counts": None}
        await open_question(pool, company["owner"].principal, company.south)
        seen = await open_question(pool, mia, company.north)
        assert [change["id"] for change in (await poll(client, start["id"]))["changes"]] == [str(seen.id)]
        assert (await poll(client, start["id"], entities="action,turn"))["changes"] == []
        assert (await poll(narrow, narrowed["id"]))["changes"] == []
        await access.remove_from_project(pool, company.workspace_id, company.north, max_.id)
        for after in (start["id"], "nonsense", "other.5:5:", f"{start['id'].partition('.')[0]}.999999999:999999999:"):
            reset = await poll(client, after)
            assert (reset["reset"], reset["state"]["entities"], reset["changes"]) == ("position", [], [])
        refused = await client.get("/v1/changes", params={"entities": "session"})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
