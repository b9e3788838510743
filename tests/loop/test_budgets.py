"""What a turn may use: each budget ends it as itself, and the last step is an answer."""

import asyncio
from typing import Any

import pytest
from tests.loop.conftest import BUDGETS
from tests.loop.talk import Talk, results_of, system_of

from askbus.db.pool import Pool
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("C4")


async def test_the_last_step_of_the_budget_is_an_answer_that_tells_to_narrow(talk: Talk) -> None:
    """The model is told so at the end of what it is sent, and may call nothing."""
    done = await talk.ask("many steps")
    assert (done["state"], done["model_calls"], done["answer"]) == ("completed", 6, "I know this much. Ask for less.")
    bodies = await talk.requests("many steps")
    assert [body.get("tool_choice") for body in bodies] == [None] * 5 + ["none"]
    assert "ask for less" in bodies[-1]["messages"][-1]["content"]
    assert len({system_of(body) for body in bodies}) == 1


async def test_a_model_that_calls_on_in_its_last_step_fails_by_the_budget_and_runs_nothing(talk: Talk, pool: Pool) -> None:
    """The reader is told to ask for less."""
    done = await talk.ask("steps without end")
    assert (done["state"], done["error"]["code"], done["error"]["who"]) == ("failed", "too_many_steps", "reader")
    assert "less" in done["error"]["message"]
    assert done["model_calls"] == 6
    states = await pool.fetch("SELECT state FROM tool_calls WHERE turn_id = $1 ORDER BY step", done["id"])
    assert [row["state"] for row in states] == ["requested"] * 5 + ["refused"]
    assert await pool.fetchval("SELECT count(*) FROM tool_runs WHERE turn_id = $1", done["id"]) == 5


async def test_older_results_of_a_turn_are_shortened_before_the_prompt_is_too_long(talk: Talk, pool: Pool) -> None:
    """With a mark for the model; the record keeps them as they were, and the latest is whole."""
    done = await talk.ask("many papers")
    assert (done["state"], done["answer"]) == ("completed", "100 papers.")
    last = results_of((await talk.requests("many papers"))[-1])
    shortened = ["[shortened: " in text for text in last]
    assert shortened == sorted(shortened, reverse=True)
    assert (shortened[0], shortened[-1]) == (True, False)
    sizes = [len(str(body)) for body in await talk.requests("many papers")]
    assert max(sizes) < 1.3 * int(str(BUDGETS["prompt_bytes"]))
    kept = await pool.fetch("SELECT result FROM tool_runs WHERE turn_id = $1", done["id"])
    assert min(len(str(row["result"])) for row in kept) > 4_000
    assert [row["result"]["content"]["truncated"] for row in kept] == [True] * 5
    assert "go on with offset" in last[-1]


async def test_a_message_that_does_not_fit_is_told_as_that_and_asks_no_model(talk: Talk) -> None:
    """Its own code; the conversation goes on, and the message that does not fit is left out of it."""
    text = "too large " + "x" * 70_000
    done = await talk.ask(text)
    assert (done["state"], done["error"]["code"], done["error"]["who"]) == ("failed", "prompt_too_long", "reader")
    assert await talk.requests(text) == []
    assert (await talk.ask("plain, after the large one"))["state"] == "completed"
    [body] = await talk.requests("plain, after the large one")
    assert "Earlier parts of this conversation are not shown here." in system_of(body)


@pytest.mark.requirement("C13")
async def test_as_many_exchanges_are_sent_as_the_setting_says(talk: Talk) -> None:
    """Whole, the latest; and the model is told that there is more."""
    for number in range(5):
        await talk.ask(f"plain number {number}")
    [body] = await talk.requests("plain number 4")
    said = [message["content"] for message in body["messages"] if message["role"] == "user"]
    assert said == [f"plain number {number}" for number in range(1, 5)]
    assert "Earlier parts of this conversation are not shown here." in system_of(body)
    [before] = await talk.requests("plain number 3")
    assert "Earlier parts" not in system_of(before)


async def test_the_clock_ends_a_tool_at_work_in_another_service(talk: Talk, pool: Pool) -> None:
    """The turn fails by its time, naming the setting to who can raise it; the tool is told to end, and what it came to is recorded."""
    turn_id = await talk.say("a nap")
    await until(lambda: pool.fetchval("SELECT EXISTS (SELECT FROM tool_runs WHERE turn_id = $1)", turn_id))
    await pool.execute("UPDATE turns SET active_ms = 299900 WHERE id = $1", turn_id)
    done = await talk.over(turn_id)
    assert (done["state"], done["error"]["code"], done["error"]["who"]) == ("failed", "out_of_time", "admin")
    assert "ASKBUS_TURN_SECONDS" in done["error"]["message"]
    await until(lambda: pool.fetchval("SELECT state <> 'started' FROM tool_runs WHERE turn_id = $1", turn_id))
    result: Any = await pool.fetchval("SELECT result FROM tool_runs WHERE turn_id = $1", turn_id)
    assert result["error"]["code"] == "stopped"
    assert (await talk.turn(turn_id))["state"] == "failed"
    assert len(await talk.requests("a nap")) == 1


async def test_the_clock_ends_a_model_call_and_waiting_for_a_person_is_not_counted(talk: Talk, pool: Pool) -> None:
    """The partial text is kept, marked as cut."""
    turn_id = await talk.say("ask, then hang")
    [question_id] = (await talk.follow(turn_id, "waiting"))[-1].data["questions"]
    await pool.execute("UPDATE turns SET active_ms = 299400, moved_at = now() - interval '1 hour' WHERE id = $1", turn_id)
    answered = await talk.client.post(f"/v1/questions/{question_id}/answer", json={"answer": "yes"})
    assert answered.status_code == 200
    async with asyncio.timeout(10):
        done = await talk.over(turn_id)
    assert (done["state"], done["error"]["code"], done["cut"]) == ("failed", "out_of_time", "failed")
    assert "going on and on".startswith(done["answer"])
