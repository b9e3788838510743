"""Cases that broke other systems, from tests/cases/agent, on the whole stack. A01 is in tests/doors/test_actions_applied.py."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.loop.script import ORDERS
from tests.loop.talk import Talk, results_of
from tests.models.wire_rules import check_openai

from askbus.db.pool import Pool
from askbus.models.config import ModelConfig
from askbus.testing.waiting import until

CASES = Path(__file__).parents[1] / "cases" / "agent"


def expected(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text())["expected"]


@pytest.mark.requirement("C2", "C3")
async def test_a03_a_side_effect_beside_a_question_happens_once_and_a_second_question_is_shown(talk: Talk, pool: Pool) -> None:
    """The process that dies while the turn waits is in tests/faults (`agent.wait.after_commit`)."""
    turn_id = await talk.say("two questions")
    seen: set[str] = set()

    async def asks() -> bool:
        return bool(set((await talk.turn(turn_id))["questions"]) - seen)

    for _ in range(2):
        await until(asks)
        [question_id] = set((await talk.turn(turn_id))["questions"]) - seen
        seen.add(question_id)
        await talk.client.post(f"/v1/questions/{question_id}/answer", json={"answer": "yes"})
    done = await talk.over(turn_id)
    assert done["answer"] == "Both answered."
    made = await pool.fetchval("SELECT count(*) FROM actions WHERE turn_id = $1", turn_id)
    assert made == expected("A03")["side_effects"]["remember"]
    assert await pool.fetchval("SELECT max(attempt) FROM tool_runs WHERE turn_id = $1", turn_id) == 1


@pytest.mark.requirement("C6", "R19")
async def test_a05_a_message_instead_of_a_decision_leaves_the_proposal_open(talk: Talk) -> None:
    """The turn runs, the call has its result, nothing is approved by implication, and a later confirm works."""
    proposed = await talk.ask("propose it")
    [action_id] = proposed["actions"]
    done = await talk.ask("never mind, how many orders?")
    assert (done["state"] == "completed") is expected("A05")["turn_runs"]
    [body] = await talk.requests("never mind, how many orders?")
    check_openai(body, ModelConfig(model="scripted"))
    [result] = results_of(body)
    assert '"state":"pending"' in result
    action = (await talk.client.get(f"/v1/actions/{action_id}")).json()
    assert (action["state"] != "pending") is expected("A05")["auto_approved"]
    confirmed = await talk.client.post(f"/v1/actions/{action_id}/confirm", json={"digest": action["digest"]})
    assert confirmed.status_code == 200


@pytest.mark.requirement("C20")
async def test_a09_the_same_call_with_the_same_result_is_stopped_and_followed_by_an_answer(talk: Talk, pool: Pool) -> None:
    """The model is told why, and is asked for an answer without tools; one that calls on fails, and nothing more is run."""
    wanted = expected("A09")
    for text, state in (("same again", "completed"), ("same for ever", "failed")):
        done = await talk.ask(text)
        assert done["state"] == state
        runs = await pool.fetchval("SELECT count(*) FROM tool_runs WHERE turn_id = $1", done["id"])
        assert runs == 3 <= wanted["stops_after_repeats_at_most"]
        last = (await talk.requests(text))[-1]
        assert ("same result each time" in last["messages"][-1]["content"]) is wanted["model_told_why"]
        assert (last["tool_choice"] == "none") is wanted["then_final_answer_requested_without_tools"]
    assert done["error"]["code"] == "no_answer"
    assert json.loads(ORDERS[0]) == json.loads(ORDERS[1])


@pytest.mark.requirement("C10", "C19", "C28")
async def test_a13_a_stream_that_dies_in_half_a_call_doubles_nothing_when_it_is_repeated(talk: Talk, pool: Pool) -> None:
    """What was streamed is kept as partial, the half call is none; the repetition says it once, runs one call, and both are counted."""
    wanted = expected("A13")
    failed = await talk.ask("half a call")
    assert (failed["state"], failed["error"]["code"], failed["cut"]) == ("failed", "model_unavailable", "failed")
    again = (await talk.retry(failed["id"])).json()["id"]
    assert (await talk.over(again))["answer"] == "I have looked."
    current = [message for message in await talk.messages() if message["role"] == "assistant" and not message["replaced"]]
    assert [message["text"] for message in current] == [wanted["final_text"], "I have looked."]
    calls = await pool.fetch("SELECT turn_id FROM tool_calls WHERE turn_id = ANY ($1)", [failed["id"], again])
    assert [str(row["turn_id"]) for row in calls] == [again] * len(wanted["tool_calls_run"])
    attempts = await pool.fetchval("SELECT count(*) FROM usage WHERE turn_id = ANY ($1)", [failed["id"], again])
    assert (attempts == 3) is wanted["usage_counts_both_attempts"]


@pytest.mark.requirement("C5")
async def test_stop_ends_a_tool_at_work_and_what_it_came_to_changes_nothing(talk: Talk, pool: Pool) -> None:
    """Within a second; no model is asked again."""
    turn_id = await talk.say("a nap, stopped")
    await talk.follow(turn_id, "calls")
    stopped = await talk.stop(turn_id)
    assert stopped.json()["state"] == "cancelled"
    query = (
        "SELECT r.result -> 'error' ->> 'code' AS code, extract(epoch FROM r.finished_at - t.settled_at)::float8 AS late "
        "FROM turns t JOIN tool_runs r ON r.turn_id = t.id WHERE t.id = $1 AND r.state <> 'started'"
    )
    await until(lambda: pool.fetchval(f"SELECT count(*) > 0 FROM ({query}) ended", turn_id))
    row = await pool.fetchrow(query, turn_id)
    assert row is not None
    assert row["code"] == "stopped"
    assert row["late"] < 1
    assert (await talk.turn(turn_id))["state"] == "cancelled"
    assert len(await talk.requests("a nap, stopped")) == 1
