"""The tools beside the chat: called directly over HTTP, and the deployment's own, whose example is the one of the documentation."""

import re
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from pydantic import JsonValue
from structlog.testing import capture_logs
from tests.doors.own.conftest import Stage
from tests.doors.own.talk import answer

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token


@pytest.mark.requirement("C30", "C20")
async def test_a_turn_uses_a_deployments_own_tools(running: Composed, company: Company, pool: Pool) -> None:
    """The example of the documentation: its results, its refusal in its own words, and a check of arguments before it is run."""
    depth, refusal, check, worth = await answer(running, company, "How deep is the berth?")
    assert depth == "3.45 m"
    assert refusal == "There is no berth Z9. The berths are A1, A2."
    assert "name: Field required" in check
    assert worth == "300.30"
    labels = await pool.fetch("SELECT DISTINCT label FROM tool_calls WHERE name = 'berth_depth'")
    assert [row["label"] for row in labels] == ["Looked up a berth"]


@pytest.mark.requirement("C20")
async def test_whatever_its_tools_do_the_turn_goes_on(running: Composed, company: Company) -> None:
    """One never returns, one breaks, one returns another thing, one floods, one is not there, one is called wrongly; it is answered."""
    with capture_logs() as logged:
        late, broken, wrong, flood, missing, invalid, well = await answer(running, company, "Be strange.")
    assert (late, broken, wrong) == ("timed_out", "internal", "internal")
    assert "[cut: " in flood
    assert len(flood.encode()) < 1024 + 200
    assert "There is no tool 'is_not_there'" in missing
    assert "word: Input should be a valid string" in invalid
    assert well == "well"
    refused = [entry["tool"] for entry in logged if entry["event"] == "tool_call.refused"]
    assert refused == ["unknown", "plain"]
    ended = {entry["tool"]: entry["code"] for entry in logged if entry["event"] == "tool_run.finished" and "code" in entry}
    assert ended == {"blocks_a_thread": "timed_out", "breaks": "internal", "returns_something_else": "internal"}


@pytest.mark.requirement("C30")
async def test_the_tools_that_one_may_use_are_listed_with_their_schemas(
    running: Composed, agent: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """An OpenAPI document, own tools among them, in which every reference resolves; what needs a conversation is not there."""
    found = (await agent.get("/v1/tools")).json()
    assert found["openapi"].startswith("3.1")
    names = [path.removeprefix("/v1/tools/") for path in found["paths"]]
    assert {"describe_records", "query_records", "propose_changes", "berth_depth", "customer_standing"} <= set(names)
    assert "ask_user" not in names
    body = found["paths"]["/v1/tools/berth_depth"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"]["arguments"]["properties"]["name"]["description"].startswith("The berth as it is painted")
    for reference in re.findall(r'"\$ref":\s*"#/components/schemas/([^"]+)"', (await agent.get("/v1/tools")).text):
        assert reference in found["components"]["schemas"]
    reader = await give_token(pool, company["mia"], (Scope.DATA_READ,))
    async with running.client(reader) as client:
        assert "/v1/tools/propose_changes" not in (await client.get("/v1/tools")).json()["paths"]


async def call(client: httpx2.AsyncClient, name: str, project: object, /, **arguments: JsonValue) -> httpx2.Response:
    return await client.post(f"/v1/tools/{name}", json={"project_id": str(project), "arguments": arguments})


@pytest.mark.requirement("C30", "C4")
async def test_a_tool_called_directly_is_the_one_that_the_model_calls(agent: httpx2.AsyncClient, company: Company) -> None:
    """Same output, same words where it is refused, same cap with the same mark."""
    counted: Any = (await call(agent, "query_records", company.north, collection="orders", aggregates={"op": "count"})).json()
    assert (counted["name"], counted["content"]["rows"], counted["cut"]) == ("query_records", [[4]], False)
    assert (await call(agent, "berth_depth", company.north, name="A1")).json()["content"] == {"metres": "2.10"}
    wrong = await call(agent, "query_records", company.north, collection="ordrs")
    assert (wrong.status_code, wrong.json()["code"]) == (404, "not_found")
    assert "orders" in wrong.json()["message"]
    invalid = await call(agent, "query_records", company.north, limit=9999)
    assert (invalid.status_code, invalid.json()["code"]) == (400, "invalid_input")
    assert "collection: Field required" in invalid.json()["message"]
    described: Any = (await call(agent, "describe_records", company.north)).json()
    assert described["content"]["names_only"]


@pytest.mark.requirement("C30", "I4", "I6")
async def test_a_direct_call_may_what_its_caller_may(
    running: Composed, agent: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """Scope, project and membership as everywhere; what needs a conversation, or does not exist, is not there."""
    assert (await call(agent, "query_records", company.south, collection="orders")).status_code == 404
    assert (await call(agent, "query_records", company.elsewhere, collection="orders")).status_code == 404
    assert (await call(agent, "ask_user", company.north, text="Well?")).status_code == 404
    assert (await call(agent, "no_such_tool", company.north)).status_code == 404
    reader = await give_token(pool, company["mia"], (Scope.DATA_READ,))
    async with running.client(reader) as client:
        refused = await call(client, "propose_changes", company.north, operations=[])
        assert (refused.status_code, refused.json()["details"]) == (403, {"scope": "actions:propose"})


@pytest.mark.requirement("C30", "R9")
async def test_a_proposal_made_directly_is_pending_and_made_once(
    stage: Stage, agent: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """The same Idempotency-Key finds the same action, which belongs to no conversation and waits for a person."""
    operation: JsonValue = {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {"country": "IE"}}
    said = {"project_id": str(company.north), "arguments": {"operations": [operation]}}
    key = {"idempotency-key": str(uuid4())}
    first, second = [(await agent.post("/v1/tools/propose_changes", json=said, headers=key)).json() for _ in range(2)]
    assert first == second
    assert first["content"]["state"] == "pending"
    assert "Pending, not applied" in first["content"]["note"]
    rows = await pool.fetch("SELECT id::text, turn_id, call_id, state::text FROM actions")
    assert [tuple(row.values()) for row in rows] == [(first["content"]["action_id"], None, None, "pending")]
    assert await stage.shop.value("SELECT country FROM customers WHERE id = 1") == "UK"
