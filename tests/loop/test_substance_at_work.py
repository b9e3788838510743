"""An answer that says nothing goes back to the model once."""

import pytest
from tests.loop.talk import Talk, spoken

from askbus.db.pool import Pool
from askbus.models.quoting import NOTE

pytestmark = pytest.mark.requirement("C34")


async def test_a_model_that_only_announces_is_asked_once_more_and_goes_on(talk: Talk, pool: Pool) -> None:
    """Its announcement stays in the record, with the note that followed; people see no note."""
    done = await talk.ask("announce once")
    assert (done["state"], done["answer"], done["model_calls"]) == ("completed", "I looked.", 3)
    second = spoken((await talk.requests("announce once"))[1])
    assert second[:2] == [("user", "announce once"), ("assistant", "Let me look.")]
    assert second[2][1].startswith(NOTE)
    rows = await pool.fetch(
        "SELECT text, nudged FROM messages WHERE turn_id = $1 AND role = 'assistant' ORDER BY step", done["id"]
    )
    assert [tuple(row) for row in rows] == [("Let me look.", True), ("", False), ("I looked.", False)]
    assert not any(NOTE in message["text"] for message in await talk.messages())
    assert await pool.fetchval("SELECT count(*) FROM usage WHERE turn_id = $1", done["id"]) == 3


@pytest.mark.parametrize("text", ["say nothing", "announce twice"])
async def test_the_second_time_the_turn_fails_by_its_own_code(talk: Talk, text: str) -> None:
    """Also where there were calls in between: one turn, one note."""
    done = await talk.ask(text)
    assert (done["state"], done["error"]["code"]) == ("failed", "no_answer")
    assert done["model_calls"] == len(await talk.requests(text)) == (2 if text == "say nothing" else 3)
