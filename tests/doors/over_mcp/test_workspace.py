"""Finding one's way in a workspace, over MCP and REST alike: the same handlers give the same result through both doors."""

import json
from typing import Any

import httpx2
import pytest
from tests.doors.over_mcp.talk import Stage, call

from askbus.access.model import Scope
from askbus.testing.actions import confirmed, update
from askbus.testing.people import Agent, give_token
from askbus.testing.questions import open_question


@pytest.mark.requirement("M13", "M7")
async def test_collections_and_records_are_found_by_name(stage: Stage, agent: Agent) -> None:
    """A collection with its fields and types, a record with its key, a misspelt one as such; a project; and never a value."""
    async with stage.running.client(agent) as robot:
        named = (await call(robot, "search_workspace", {"query": "customer"}))["structuredContent"]
        [first, *_] = named["collections"]
        assert first["name"] == "customers"
        assert any(field.startswith("email: ") for field in first["fields"])
        name = await stage.shop.value("SELECT name FROM customers WHERE id = 1")
        for query, alike in ((str(name).upper(), False), (f"{name}x", True)):
            found = (await call(robot, "search_workspace", {"query": query}))["structuredContent"]
            assert {"collection": "customers", "key": {"id": 1}, "label": name, "alike": alike} in found["records"]
        email = await stage.shop.value("SELECT email FROM customers WHERE id = 1")
        assert str(email) not in json.dumps(found)
        everything = (await call(robot, "search_workspace"))["structuredContent"]
        assert [project["name"] for project in everything["projects"]] == ["north"]
        assert {"customers", "orders"} <= {one["name"] for one in everything["collections"]}
        few = (await call(robot, "search_workspace", {"limit": 2}))["structuredContent"]
        assert (len(few["projects"]) + len(few["collections"]), len(few["more_collections"]) > 0) == (2, True)


@pytest.mark.requirement("M13", "M5", "I6")
async def test_nothing_is_found_where_the_caller_does_not_see_it(stage: Stage, agent: Agent) -> None:
    """Not the other project, neither by its name nor by its id; and what happened there to nobody who is not in it."""
    hidden = await open_question(stage.pool, stage.company["owner"].principal, stage.company.south)
    async with stage.running.client(agent) as robot:
        assert (await call(robot, "search_workspace", {"query": "south"}))["structuredContent"]["projects"] == []
        refused = await call(robot, "search_workspace", {"project_id": str(stage.company.south)})
        assert json.loads(refused["content"][0]["text"])["code"] == "not_found"
        happened = (await call(robot, "get_workspace_activity", {"limit": 50}))["structuredContent"]["changes"]
        assert str(hidden.id) not in {one["id"] for one in happened}
    async with stage.running.client(await give_token(stage.pool, stage.company["owner"])) as robot:
        happened = (await call(robot, "get_workspace_activity", {"limit": 50}))["structuredContent"]["changes"]
        assert str(hidden.id) in {one["id"] for one in happened}


@pytest.mark.requirement("M13")
async def test_what_happened_lately_is_told_by_name_and_time(stage: Stage, agent: Agent) -> None:
    """The newest first, within the dates that were asked for; who may only read data sees what was changed and not what is asked."""
    reader = await give_token(stage.pool, stage.company["mia"], (Scope.DATA_READ,))
    async with stage.running.client(agent) as robot, stage.running.client(stage.company["max"]) as max_:
        [question] = (await call(robot, "ask_user_question", {"text": "Secret text?", "title": "Lately"}))["structuredContent"][
            "questions"
        ]
        change = {"operations": [update({"email": "lately@example.com"}, record=2)]}
        [action] = (await call(robot, "propose_changes", change))["structuredContent"]["actions"]
        await confirmed(max_, action)
        happened = (await call(robot, "get_workspace_activity"))["structuredContent"]["changes"]
        [newest, older] = [one for one in happened if one["id"] in {question["id"], action["id"]}]
        assert (newest["kind"], newest["state"], newest["name"]) == ("action", "applied", action["headline"])
        assert (older["kind"], older["state"], older["name"], older["project"]) == ("question", "open", "Lately", "north")
        assert "Secret text?" not in json.dumps(happened)
        since = (await call(robot, "get_workspace_activity", {"since": newest["at"], "limit": 1}))["structuredContent"]["changes"]
        assert [one["id"] for one in since] == [action["id"]]
        until = (await call(robot, "get_workspace_activity", {"until": question["asked_at"]}))["structuredContent"]["changes"]
        assert not {one["id"] for one in until} & {question["id"], action["id"]}
    async with stage.running.client(reader) as robot:
        seen = (await call(robot, "get_workspace_activity", {"limit": 50}))["structuredContent"]["changes"]
        assert {one["state"] for one in seen} <= {"applied", "undone"}
        assert action["id"] in {one["id"] for one in seen}


def without_empty(value: Any) -> Any:
    """As MCP shows it: what is empty is left out of questions and actions."""
    if isinstance(value, dict):
        return {name: without_empty(one) for name, one in value.items() if one is not None}
    return [without_empty(one) for one in value] if isinstance(value, list) else value


async def rest(client: httpx2.AsyncClient, method: str, path: str, **how: Any) -> Any:
    response = await client.request(method, path, **how)
    return response.json()


@pytest.mark.requirement("M10")
async def test_the_same_request_through_both_doors_gives_the_same(stage: Stage, agent: Agent) -> None:
    """Search, activity, rows, a question, a list, a proposal; and the same refusals, field by field."""
    north = str(stage.company.north)
    async with stage.running.client(agent) as client:
        plan = {"collection": "customers", "fields": ["name"], "limit": 2}
        rows = await rest(client, "POST", "/v1/tools/query_records", json={"project_id": north, "arguments": plan})
        assert (await call(client, "query_records", plan))["structuredContent"] == rows["content"]
        for bad in ({**plan, "limit": 501}, {**plan, "colour": "red"}, {**plan, "collection": "nope"}, {"fields": None}):
            refused = await rest(client, "POST", "/v1/tools/query_records", json={"project_id": north, "arguments": bad})
            assert json.loads((await call(client, "query_records", bad))["content"][0]["text"]) == refused
        for tool, path, given in (
            ("search_workspace", "/v1/search", {"query": "order", "limit": 3}),
            ("get_workspace_activity", "/v1/activity", {"limit": 3}),
        ):
            shown = await rest(client, "GET", path, params=given)
            assert (await call(client, tool, given))["structuredContent"] == shown
        ask = {"text": "Both?", "project_id": north, "dedupe_key": "both doors"}
        asked = await rest(client, "POST", "/v1/questions", json=ask)
        [question] = (await call(client, "ask_user_question", ask))["structuredContent"]["questions"]
        assert question.pop("url").endswith(question["id"])
        assert question == without_empty(asked)
        change = {
            "project_id": north,
            "operations": [update({"email": "both@example.com"}, record=3)],
            "dedupe_key": "both doors",
        }
        proposed = await rest(client, "POST", "/v1/actions", json=change)
        [action] = (await call(client, "propose_changes", change))["structuredContent"]["actions"]
        assert action.pop("url").endswith(action["id"])
        assert action == without_empty(proposed)
        await client.post(f"/v1/actions/{action['id']}/withdraw", json={})
        for tool, path, wrong in (
            ("ask_user_question", "/v1/questions", {**ask, "text": "", "colour": "red"}),
            ("ask_user_question", "/v1/questions", {**ask, "project_id": str(stage.company.south)}),
            ("propose_changes", "/v1/actions", {**change, "operations": []}),
            ("propose_changes", "/v1/actions", {**change, "dedupe_key": "x", "operations": [update({"nothing": 1})]}),
        ):
            refused = await rest(client, "POST", path, json=wrong)
            assert refused["code"] in {"invalid_input", "not_found"}
            assert json.loads((await call(client, tool, wrong))["content"][0]["text"]) == refused
