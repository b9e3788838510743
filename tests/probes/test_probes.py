"""The probes that hold the prompt, run through the real services: a model that is right passes each, one that is wrong fails each."""

import asyncpg
import pytest

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
