"""What the tools say of themselves: their order, their size, and schemas that every provider takes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.doors.over_mcp.talk import LEGACY, MODERN, Stage, ask

from askbus.testing.people import Agent

ORDER = [
    "search_workspace",
    "get_workspace_activity",
    "query_records",
    "run_dataset",
    "get_chart_data",
    "create_chart_preview",
    "explore_data",
    "propose_changes",
    "ask_user_question",
    "get_question_answer",
    "list_open_questions",
    "cancel_question",
]
"""M6. Not all of them exist yet."""
MOST_CHARACTERS = 8_000


async def listed(stage: Stage, agent: Agent, revision: str = MODERN) -> Any:
    async with stage.running.client(agent) as client:
        return (await ask(client, "tools/list", revision=revision)).json()["result"]


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all those in it."""
    if isinstance(schema, dict):
        yield schema
        for inner in (*schema.get("properties", {}).values(), schema.get("items")):
            yield from schemas(inner)


@pytest.mark.requirement("M1", "M6")
async def test_the_list_is_in_its_order_and_fits(stage: Stage, agent: Agent) -> None:
    """Every time the same bytes, for a caller who may use every tool; at most 8,000 characters as a client receives it."""
    first, again = [await listed(stage, agent) for _ in range(2)]
    assert first == again
    names = [tool["name"] for tool in first["tools"]]
    assert names == [name for name in ORDER if name in names]
    assert len(json.dumps(first, separators=(",", ":"))) <= MOST_CHARACTERS
    assert (first["ttlMs"], first["cacheScope"], first["resultType"]) == (60_000, "private", "complete")
    assert "ttlMs" not in await listed(stage, agent, LEGACY)


@pytest.mark.requirement("M6")
async def test_schemas_are_such_as_every_provider_takes(stage: Stage, agent: Agent) -> None:
    """An object at the top, items for each array, one type each; no references, alternatives or documentation; one sentence of purpose."""
    for tool in (await listed(stage, agent))["tools"]:
        assert tool["description"].count(".") == 1, tool["name"]
        for given in (tool["inputSchema"], tool["outputSchema"]):
            assert given["type"] == "object"
            for schema in schemas(given):
                assert schema.keys() <= {"type", "properties", "required", "items", "enum"}, tool["name"]
                assert isinstance(schema.get("type", ""), str)
                assert ("items" in schema) == (schema.get("type") == "array")
                assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()


@pytest.mark.requirement("M1")
async def test_both_eras_say_who_is_there_and_what_it_speaks(stage: Stage, agent: Agent) -> None:
    """`server/discover` and `initialize`: tools and nothing else. What one era does not know is no method of its own."""
    async with stage.running.client(agent) as client:
        found = (await ask(client, "server/discover")).json()["result"]
        assert found["supportedVersions"][0] == MODERN
        assert (found["capabilities"], found["cacheScope"]) == ({"tools": {}}, "private")
        for wanted, chosen in ((LEGACY, LEGACY), ("2025-06-18", "2025-06-18"), ("2099-01-01", LEGACY)):
            params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            begun = await ask(client, "initialize", params, revision="2025-03-26")
            assert begun.json()["result"]["protocolVersion"] == chosen
            assert "mcp-session-id" not in begun.headers
        for method, revision, status in (("initialize", MODERN, 404), ("ping", MODERN, 404), ("server/discover", LEGACY, 200)):
            response = await ask(client, method, revision=revision)
            assert (response.status_code, response.json()["error"]["code"]) == (status, -32601)
        for revision, status in ((MODERN, 400), (LEGACY, 200)):
            response = await ask(client, "tools/call", {"name": "no_such_tool"}, revision=revision)
            assert (response.status_code, response.json()["error"]["code"]) == (status, -32602)
