"""A model that makes the same call again and again."""

import pytest
from tests.loop.talk import Talk

from askbus.db.pool import Pool

pytestmark = pytest.mark.requirement("C20")


@pytest.mark.parametrize("text", ["unknown tool", "broken arguments", "wrong arguments", "failing tool", "slow tool"])
async def test_three_equal_failing_calls_end_the_turn_whatever_makes_them_fail(talk: Talk, pool: Pool, text: str) -> None:
    """Each error went back to the model before; nothing that was refused was run."""
    done = await talk.ask(text)
    assert (done["state"], done["error"]["code"], done["model_calls"]) == ("failed", "repeated_failure", 3)
    last = (await talk.requests(text))[-1]
    told = [message["content"] for message in last["messages"] if message["role"] == "tool"]
    assert len(told) == 2
    assert all("Not run: " in each or '"error"' in each for each in told)
    runs = await pool.fetchval("SELECT count(*) FROM tool_runs WHERE turn_id = $1", done["id"])
    assert runs == (3 if text.endswith(" tool") and text != "unknown tool" else 0)
