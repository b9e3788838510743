"""The five tools on the bus: requested by a turn's row, run on real records, their results in rows."""

from typing import Any

import pytest
from pydantic import JsonValue
from tests.doors.tools.stage import RELAY, RUNNER, Stage

from askbus.testing.turns import finished_run
from askbus.tools.model import RunState


@pytest.mark.requirement("C30")
async def test_records_are_described(working: Stage) -> None:
    """Names, types and references of what may be read, and no column of the deny list."""
    run = await working.call("describe_records")
    assert run.state is RunState.SUCCEEDED
    assert run.result is not None
    text = run.result.text()
    assert '"customers"' in text
    assert "amount: numeric(12,2)" in text
    assert "password_hash" not in text
    one: Any = (await working.call("describe_records", {"collections": ["lines"]})).content
    assert [described["name"] for described in one["collections"]] == ["lines"]


@pytest.mark.requirement("C30", "R2", "R4")
async def test_a_figure_comes_back_exact_and_ready_to_be_shown(working: Stage) -> None:
    """The combined value of the two largest orders: computed by the database, a decimal as text."""
    content: Any = (
        await working.call(
            "query_records",
            {
                "collection": "orders",
                "aggregates": {"op": "sum", "field": "amount"},
                "over": {"order_by": [{"field": "amount", "direction": "desc"}], "limit": 2},
            },
        )
    ).content
    assert content["rows"] == [["600.60"]]
    assert content["display"] == [["600.60"]]


@pytest.mark.requirement("R5")
async def test_a_name_is_resolved_to_its_record(working: Stage) -> None:
    """Without accents and in lower case it is still Émile."""
    content: Any = (await working.call("resolve", {"collection": "customers", "text": "emile zola"})).content
    assert (content["outcome"], content["match"]["key"]) == ("match", {"id": 2})


@pytest.mark.requirement("R9", "R19")
async def test_a_proposal_is_pending_and_says_so(working: Stage) -> None:
    """One action under the call's id; the record is as it was, and the model is told that nothing has changed."""
    run = await working.call(
        "propose_changes",
        {"operations": [{"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {"country": "IE"}}]},
    )
    content: Any = run.content
    assert content["state"] == "pending"
    assert "Pending, not applied" in content["note"]
    assert run.action_id == run.id
    action = await working.pool.fetchrow("SELECT state, call_id, turn_id, thread_id FROM actions WHERE id = $1", run.id)
    assert action is not None
    assert dict(action) == {
        "state": "pending",
        "call_id": run.id,
        "turn_id": working.turn.id,
        "thread_id": working.turn.thread_id,
    }
    assert await working.team.value("SELECT country FROM customers WHERE id = 1") == "UK"


@pytest.mark.requirement("R9", "R10", "C20")
async def test_a_proposal_that_cannot_stand_names_what_is_wrong(working: Stage) -> None:
    """Operation and field go back to the model, and nothing is stored."""
    operation: JsonValue = {"id": "fix", "kind": "update", "collection": "customers", "record": 1, "values": {"counrty": "IE"}}
    run = await working.call("propose_changes", {"operations": [operation]})
    assert (run.state, run.code) == (RunState.FAILED, "invalid_input")
    assert run.result is not None
    assert "fix" in run.result.text()
    assert "counrty" in run.result.text()
    assert "country" in run.result.text()
    assert await working.pool.fetchval("SELECT count(*) FROM actions") == 0
    gone: JsonValue = {"id": "gone", "kind": "delete", "collection": "customers", "record": 1}
    assert (await working.call("propose_changes", {"operations": [gone]})).code == "invalid_input"


@pytest.mark.requirement("C3")
async def test_a_question_ends_its_run_at_once(working: Stage) -> None:
    """The run is over and its question is open, under the call's id: waiting costs rows alone."""
    run = await working.call("ask_user", {"text": "Which of the two?", "options": ["Ada", "Zoë"], "free_text": False})
    assert (run.state, run.question_id, run.result) == (RunState.ASKED, run.id, None)
    question = await working.pool.fetchrow(
        "SELECT state, call_id, turn_id, user_id, text, free_text FROM questions WHERE id = $1", run.id
    )
    assert question is not None
    assert dict(question) == {
        "state": "open",
        "call_id": run.id,
        "turn_id": working.turn.id,
        "user_id": working.turn.person.id,
        "text": "Which of the two?",
        "free_text": False,
    }


REFUSED: list[tuple[str, dict[str, JsonValue] | str, str, str]] = [
    ("query_record", "{}", "invalid_input", "Did you mean query_records?"),
    ("query_records", '{"collection": "orders", "limit"', "invalid_input", "not valid JSON"),
    ("query_records", "[1]", "invalid_input", "not a JSON object"),
    ("query_records", {"collection": "orders", "limit": 5000}, "invalid_input", "limit"),
    ("query_records", {"collection": "order"}, "not_found", "orders"),
    ("query_records", {"collection": "logins", "fields": ["password_hash"]}, "permission_denied", "password_hash"),
    ("resolve", {"collection": "customers"}, "invalid_input", "text: Field required"),
    ("ask_user", {"text": "Well?", "multiple": True}, "invalid_input", "options"),
]
"""What the model asked for, the code of the error, and what its text says."""


@pytest.mark.requirement("C20", "R21")
async def test_what_cannot_be_run_comes_back_as_an_error(working: Stage) -> None:
    """Each names what is wrong in words that the model can act on; the turn is as it was."""
    calls = [await working.request(name, arguments) for name, arguments, _, _ in REFUSED]
    for call_id, (_, _, code, said) in zip(calls, REFUSED, strict=True):
        run = await finished_run(working.pool, call_id)
        assert (run.state, run.code) == (RunState.FAILED, code)
        assert run.result is not None
        assert said in run.result.text()
    assert await working.pool.fetchval("SELECT state::text FROM turns WHERE id = $1", working.turn.id) == "running"


@pytest.mark.requirement("C4")
async def test_rows_that_do_not_fit_are_counted_and_can_be_asked_for(stage: Stage) -> None:
    """What the budget cuts is said, for the model and in the record, and the next page begins where it was cut."""
    await stage.team.run("INSERT INTO lines (order_id, product, qty) SELECT 1, 'rope ' || n, n FROM generate_series(1, 95) n")
    async with stage.running(RELAY, RUNNER, tool_result_bytes=2048):
        run = await stage.call("query_records", {"collection": "lines", "limit": 100})
        content: Any = run.content
        here = len(content["rows"])
        assert 1 <= here < 100
        assert len(content["display"]) == here
        assert content["total"] == 100
        assert content["truncated"] is True
        assert f"{here} of 100 rows are here" in content["cut"][0]
        assert run.result is not None
        assert len(run.result.text().encode()) <= 2048
        rest: Any = (await stage.call("query_records", {"collection": "lines", "offset": content["next_offset"]})).content
        assert rest["rows"][0][0] == content["rows"][-1][0] + 1


async def test_without_records_the_model_is_told_so(stage: Stage) -> None:
    """Who can act is the one who runs askbus."""
    async with stage.running(RELAY, RUNNER, records_url=None):
        run = await stage.call("describe_records")
        assert run.code == "unavailable"
        assert run.result is not None
        assert "ASKBUS_RECORDS_URL" in run.result.text()


@pytest.mark.parametrize(
    "loss",
    [
        "DELETE FROM project_members WHERE user_id = $1",
        "DELETE FROM memberships WHERE user_id = $1",
        "UPDATE sessions SET state = 'revoked' WHERE user_id = $1",
    ],
)
async def test_rights_are_those_of_the_moment(working: Stage, loss: str) -> None:
    """Whoever lost the project, the membership or the session since the message was sent reads nothing more."""
    await working.pool.execute(loss, working.turn.person.id)
    run = await working.call("query_records", {"collection": "orders"})
    assert run.state is RunState.FAILED
    assert run.code == "permission_denied"


async def test_a_role_that_may_only_read_proposes_nothing(working: Stage) -> None:
    """Made a viewer after the message was sent: reading still works, proposing is refused."""
    await working.pool.execute("UPDATE memberships SET role = 'viewer' WHERE user_id = $1", working.turn.person.id)
    operation: JsonValue = {"id": "a", "kind": "update", "collection": "customers", "record": 1, "values": {"country": "IE"}}
    assert (await working.call("propose_changes", {"operations": [operation]})).code == "permission_denied"
    assert (await working.call("query_records", {"collection": "orders"})).state is RunState.SUCCEEDED
