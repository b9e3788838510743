"""What an argument is called and which kind it is, is said three times: to MCP clients, in GET /v1/tools and in GET /v1/openapi.json. It is
one model each time."""

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from tests.doors.over_mcp.talk import Stage, ask

from askbus.testing.people import Agent

pytestmark = pytest.mark.requirement("C30", "M6")

OF_REST = {
    "search_workspace": ("/v1/search", "get"),
    "get_workspace_activity": ("/v1/activity", "get"),
    "propose_changes": ("/v1/actions", "post"),
    "ask_user_question": ("/v1/questions", "post"),
}
"""Tools of MCP, and the routes that do the same."""
OF_MCP_ALONE = {"get_question_answer", "list_open_questions", "cancel_question"}
"""Each is several routes of REST at once."""
ANSWERS = {"search_workspace", "get_workspace_activity"}
"""Those that answer with what the route answers."""


async def documents(client: httpx2.AsyncClient) -> tuple[Any, Any, Mapping[str, Any]]:
    """Of the whole API, of the tools that can be called over REST, and the tools of MCP by name."""
    api, tools = [(await client.get(path)).raise_for_status().json() for path in ("/v1/openapi.json", "/v1/tools")]
    listed = (await ask(client, "tools/list")).json()["result"]["tools"]
    return api, tools, {tool["name"]: tool for tool in listed}


def plain(schema: Any, document: Any) -> Any:
    """The schema that this one stands for: without references, and without null as the other of two."""
    while True:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = document["components"]["schemas"][name]
        elif len(one := [part for part in schema.get("anyOf", ()) if part != {"type": "null"}]) == 1:
            schema = one[0]
        else:
            return schema


def kinds(schema: Any, document: Any) -> dict[str, str | None]:
    """The names of an object's properties, and the type of each that has one."""
    found = plain(schema, document)["properties"]
    return {name: plain(part, document).get("type") for name, part in found.items()}


def taken(operation: Any, document: Any) -> dict[str, str | None]:
    """What a route takes, in its body or its query."""
    if "requestBody" in operation:
        return kinds(content(operation["requestBody"]), document)
    return {one["name"]: plain(one["schema"], document).get("type") for one in operation["parameters"] if one["in"] == "query"}


def content(part: Any) -> Any:
    return part["content"]["application/json"]["schema"]


async def test_mcp_takes_and_gives_what_rest_does(stage: Stage, agent: Agent) -> None:
    """Same names and types for every tool that has a route; where MCP says more or less, here is what."""
    async with stage.running.client(agent) as client:
        api, tools, listed = await documents(client)
    assert listed.keys() == OF_REST.keys() | OF_MCP_ALONE | {"query_records"}, "each tool is compared, or it is said why not"
    more = {"ask_user_question": {"questions": "array"}}
    for name, (path, method) in OF_REST.items():
        operation = api["paths"][path][method]
        assert kinds(listed[name]["inputSchema"], {}) == taken(operation, api) | more.get(name, {}), name
        if name in ANSWERS:
            assert kinds(listed[name]["outputSchema"], {}) == kinds(content(operation["responses"]["200"]), api), name
    called = tools["paths"]["/v1/tools/query_records"]["post"]
    arguments = content(called["requestBody"])["properties"]["arguments"]
    assert kinds(listed["query_records"]["inputSchema"], {}) == kinds(arguments, tools) | {"project_id": "string"}
    [rows, _cut] = content(called["responses"]["200"])["properties"]["content"]["anyOf"]
    assert kinds(listed["query_records"]["outputSchema"], {}).items() <= kinds(rows, tools).items()
    assert set(listed["query_records"]["outputSchema"]["required"]) <= set(plain(rows, tools)["required"])


async def test_both_documents_say_the_same_of_tools(stage: Stage, agent: Agent) -> None:
    """GET /v1/tools says of each what GET /v1/openapi.json says of all: route, body, answer and error."""
    async with stage.running.client(agent) as client:
        api, tools, _listed = await documents(client)
    every = api["paths"]["/v1/tools/{name}"]["post"]
    asked, answered = content(every["requestBody"]), content(every["responses"]["200"])
    error = api["components"]["schemas"]["ErrorBody"]
    assert len(tools["paths"]) > 2
    for path, methods in tools["paths"].items():
        [(method, one)] = methods.items()
        assert (path, method) == (f"/v1/tools/{one['operationId']}", "post")
        assert kinds(content(one["requestBody"]), tools) == kinds(asked, api), path
        told = kinds(content(one["responses"]["200"]), tools)
        assert told.keys() == kinds(answered, api).keys(), path
        assert set(plain(answered, api)["required"]) <= set(content(one["responses"]["200"])["required"]), path
        assert kinds(content(one["responses"]["default"]), tools) == kinds(error, api), path
