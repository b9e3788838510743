"""The official Python client connects, lists and calls, in both eras of the protocol."""

from typing import Literal

import pytest
from mcp_types import TextContent
from tests.doors.over_mcp.talk import Stage, official

from askbus.testing.people import Agent

ERAS: list[tuple[Literal["legacy", "auto"], str]] = [("auto", "2026-07-28"), ("legacy", "2025-11-25")]


@pytest.mark.requirement("M1", "M7")
@pytest.mark.parametrize(("mode", "revision"), ERAS)
async def test_the_official_client_lists_and_calls(
    stage: Stage, agent: Agent, mode: Literal["legacy", "auto"], revision: str
) -> None:
    """It speaks the era that it asked for, checks each result against the declared shape, and finds what it asked."""
    async with official(stage, agent, mode) as client:
        assert client.protocol_version == revision
        listed = await client.list_tools()
        assert "ask_user_question" in [tool.name for tool in listed.tools]
        asked = await client.call_tool("ask_user_question", {"text": "Ship it?", "options": ["yes", "no"]})
        assert not asked.is_error
        [question] = asked.structured_content["questions"]
        found = await client.call_tool("get_question_answer", {"ids": [question["id"]]})
        assert found.structured_content["questions"] == [question]
        rows = await client.call_tool("query_records", {"collection": "customers", "limit": 1})
        assert (rows.is_error, len(rows.structured_content["rows"])) == (False, 1)
        wrong = await client.call_tool("query_records", {"collection": "nowhere"})
        assert wrong.is_error
        [said] = wrong.content
        assert isinstance(said, TextContent)
        assert '"code":"not_found"' in said.text
