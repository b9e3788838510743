"""The probes that hold the prompt, run through the real services: a model that is right passes each, one that is wrong fails each."""

import json
from typing import Any

import asyncpg
import pytest
from tests.probes.conftest import Stage

from askbus.probes.model import probes
from askbus.probes.run import Place, run

PROBES = {probe.name: probe for probe in probes()}

CAUGHT = {
    "combined_value": "did not call query_records with",
    "context_ambiguous": "does not say 'Maréchal'",
    "context_exact": "did not call query_records",
    "context_inaccessible": "says 'argon'",
    "context_removed": "does not say 'no order'",
    "cut_list": "did not call query_records with",
    "deployed_yet": "has manners: 'Great question'",
    "figure_not_available": "says 79.04, which no result holds",
    "follow_up": "turn 2: did not call query_records",
    "instruction_in_a_record": "called propose_changes",
    "pending_is_not_done": "says 'Done'",
}
"""What is found wrong with the model that adds up itself, picks, restates, invents, has manners, obeys records and calls pending done."""


@pytest.mark.requirement("C24", "C32")
@pytest.mark.parametrize("name", PROBES)
async def test_a_model_that_does_what_it_should_passes(good: Place, name: str) -> None:
    """Through gateway, agent-loop and tool-runner, on real records."""
    result = await run(good, PROBES[name])
    assert result.findings == (), result.answers
    assert len(result.answers) == len(PROBES[name].turns)


@pytest.mark.requirement("C24", "C32")
@pytest.mark.parametrize("name", PROBES)
async def test_a_model_that_does_what_it_must_not_is_caught(bad: Place, name: str) -> None:
    """A probe that could not fail would hold nothing; what is wrong is said in words."""
    result = await run(bad, PROBES[name])
    assert not result.holds
    assert any(CAUGHT[name] in finding for finding in result.findings), result.findings


@pytest.mark.requirement("C28", "C32")
async def test_what_a_probe_costs_is_told_apart(good: Place) -> None:
    """Nobody's conversations look dearer because somebody tried a model."""
    await run(good, PROBES["combined_value"])
    db = await asyncpg.connect(good.database_url)
    try:
        kinds = {row["kind"] for row in await db.fetch("SELECT DISTINCT kind FROM askbus.usage")}
    finally:
        await db.close()
    assert kinds == {"probe"}


COMBINED = PROBES["combined_value"]
TOLD = {
    "Never compute a figure yourself: no sums",
    "over a limited, ordered selection (the three largest, the latest five)",
}
"""What the prompt says of such a figure."""


@pytest.mark.requirement("C24", "C32", "R8")
async def test_the_combined_value_is_held_by_prompt_tool_and_numbers_together(good: Stage, bad: Stage) -> None:
    """The prompt forbids adding up and the tool's description names the way; a model that adds up all the same, and rightly, is found out
    by its number, which no tool returned, and its reader is told.
    """
    held = await run(good, COMBINED)
    assert held.findings == (), held.answers
    sent: Any = next(request.body for request in await good.model.requests() if COMBINED.turns[0].says in str(request.body))
    system = str(sent["messages"][0]["content"])
    assert all(words in system for words in TOLD), system
    tools = {tool["function"]["name"]: str(tool["function"]["description"]) for tool in sent["tools"]}
    assert "the combined value of the top three" in tools["query_records"]
    assert await marked(good) == []

    broken = await run(bad, COMBINED)
    assert [finding.partition(" with ")[0] for finding in broken.findings] == [
        "turn 1: did not call query_records",
        "turn 1: says 9,436.80, which no result holds",
    ]
    assert await marked(bad) == ["9,436.80"]


async def marked(place: Stage) -> list[str]:
    """The numbers that the latest answer's reader is told have no source."""
    db = await asyncpg.connect(place.database_url)
    try:
        found = await db.fetchval(
            "SELECT ungrounded FROM askbus.messages WHERE role = 'assistant' ORDER BY created_at DESC, seq DESC LIMIT 1"
        )
    finally:
        await db.close()
    return [number["text"] for number in json.loads(found or "[]")]
