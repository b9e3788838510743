"""Whole conversations: all six services in one loop, a scripted model, and a team's own database."""

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import Event, events
from askbus.testing.waiting import until
from askbus_action_applier.app import make_app as make_action_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

ALL_SIX = [
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_action_applier),
    (Service.QUESTION_BROKER, make_broker),
    (Service.EXPIRY, make_expiry),
]

TOP_TWO: dict[str, JsonValue] = {
    "collection": "orders",
    "aggregates": [{"op": "sum", "field": "amount", "as": "together"}],
    "over": {"order_by": [{"field": "amount", "direction": "desc"}], "limit": 2},
}
SCRIPT: list[JsonValue] = [
    {
        "when": "two largest orders",
        "steps": [
            {"tool_calls": [{"name": "query_records", "arguments": TOP_TWO}]},
            {"text": "Together they come to {{results[0].display[0][0]}}."},
        ],
    },
    {
        "when": "ask me",
        "steps": [
            {
                "tool_calls": [
                    {"name": "ask_user", "arguments": {"text": "Red or blue?", "options": ["red", "blue"], "free_text": False}},
                    {"name": "query_records", "arguments": {"collection": "customers", "limit": 1}},
                ]
            },
            {"text": "You said: {{results[0]}}"},
        ],
    },
    {
        "when": "change the note",
        "steps": [
            {
                "tool_calls": [
                    {
                        "name": "propose_changes",
                        "arguments": {
                            "operations": [
                                {"id": "a", "kind": "update", "collection": "orders", "record": 1, "values": {"note": "rush"}},
                            ]
                        },
                    }
                ]
            },
            {"text": "I have proposed it."},
        ],
    },
    {
        "when": "wrong tools",
        "steps": [
            {
                "tool_calls": [
                    {"name": "delete_everything", "arguments": {}},
                    {"name": "query_records", "arguments": '{"collection": "or'},
                    {"name": "query_records", "arguments": {"collection": "ordrs"}},
                ]
            },
            {"text": "None of that worked: {{results[2].error.message}}"},
        ],
    },
    {
        "when": "stubborn",
        "steps": [{"tool_calls": [{"name": "query_records", "arguments": {"collection": "nowhere"}}]}],
    },
    {"when": "what became of it", "steps": [{"text": "I looked at the record."}]},
    {"when": "never mind", "steps": [{"text": "All right."}]},
]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def shop(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The team's own records, in another database."""
    async with team_database(postgres_server.url, ledger=True) as shop:
        await shop.run(SHOP)
        yield shop


@pytest.fixture
async def whole(
    database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel, shop: TeamDatabase
) -> AsyncIterator[Composed]:
    """Everything."""
    await provision(nats_server.url, ack_wait=1)
    async with compose(database, nats_server.url, ALL_SIX, model_base_url=model.base_url, records_url=shop.url) as running:
        yield running


@pytest.fixture
async def mia(whole: Composed, company: Company) -> AsyncIterator[httpx2.AsyncClient]:
    """A member's browser."""
    async with whole.client(company["mia"]) as client:
        yield client


async def thread(client: httpx2.AsyncClient, company: Company) -> str:
    made = await client.post("/v1/threads", json={"project_id": str(company.north)})
    return str(made.json()["id"])


async def say(client: httpx2.AsyncClient, thread_id: str, text: str) -> str:
    sent = await client.post(f"/v1/threads/{thread_id}/turns", json={"text": text})
    assert sent.status_code == 201, sent.text
    return str(sent.json()["id"])


async def follow(client: httpx2.AsyncClient, turn_id: str, until: str = "done") -> list[Event]:
    """The turn's stream up to its end, or up to where it comes to the state `until`."""
    seen: list[Event] = []
    async with client.stream("GET", f"/v1/turns/{turn_id}/events") as response:
        async for event in events(response):
            seen.append(event)
            if event.name == "turn" and event.data["state"] == until:
                break
    return seen


async def answer_of(client: httpx2.AsyncClient, turn_id: str) -> str:
    done = (await follow(client, turn_id))[-1].data
    assert done["state"] == "completed", done
    return str(done["answer"])


@pytest.mark.requirement("R2", "R4")
async def test_a_combined_value_comes_back_exact_from_one_tool_call(
    mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """The figure is the database's, to the cent, and the model only quotes it."""
    turn_id = await say(mia, await thread(mia, company), "What are the two largest orders worth together?")
    assert "600.60" in await answer_of(mia, turn_id)
    assert await pool.fetchval("SELECT count(*) FROM tool_calls") == 1


@pytest.mark.requirement("C3", "Q7")
async def test_a_turn_that_asks_its_user_waits_as_a_row_and_resumes_with_the_answer(
    whole: Composed, mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """The tool beside the question runs once, before the answer; only the user sees the question."""
    turn_id = await say(mia, await thread(mia, company), "ask me something")
    waiting = (await follow(mia, turn_id, "waiting"))[-1].data
    [question_id] = waiting["questions"]
    row = await pool.fetchrow("SELECT holder, lease_until FROM turns WHERE id = $1", turn_id)
    assert row is not None
    assert (row["holder"], row["lease_until"]) == (None, None)
    async with whole.client(company["max"]) as max_:
        assert (await max_.get(f"/v1/questions/{question_id}")).status_code == 404
        assert (await max_.get("/v1/questions")).json()["questions"] == []
    answered = await mia.post(f"/v1/questions/{question_id}/answer", json={"answer": "blue"})
    assert answered.status_code == 200, answered.text
    answer = await answer_of(mia, turn_id)
    assert '"answered"' in answer
    assert "blue" in answer
    runs = await pool.fetch("SELECT state, attempt FROM tool_runs ORDER BY state")
    assert {(run["state"], run["attempt"]) for run in runs} == {("asked", 1), ("succeeded", 1)}


@pytest.mark.requirement("C6", "Q5")
async def test_a_message_instead_of_an_answer_supersedes_the_question(
    mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """The waiting turn ends as cancelled, its question as superseded, a late answer loses, and the new message runs."""
    thread_id = await thread(mia, company)
    first = await say(mia, thread_id, "ask me something")
    [question_id] = (await follow(mia, first, "waiting"))[-1].data["questions"]
    second = await say(mia, thread_id, "never mind")
    assert await answer_of(mia, second) == "All right."
    ended = (await mia.get(f"/v1/turns/{first}")).json()
    assert (ended["state"], ended["cancel_reason"], ended["superseded_by"]) == ("cancelled", "superseded", second)
    settled = (await mia.get(f"/v1/questions/{question_id}?wait=5")).json()
    assert settled["state"] == "superseded"
    late = await mia.post(f"/v1/questions/{question_id}/answer", json={"answer": "red"})
    assert late.status_code == 409


@pytest.mark.requirement("C6", "Q4")
async def test_an_answer_after_the_turn_was_superseded_loses_before_the_broker_has_settled_it(
    mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """The turn's row decides at once: what it asked reads as superseded and takes no answer, whoever settles it when."""
    turn_id = await say(mia, await thread(mia, company), "ask me something")
    [question_id] = (await follow(mia, turn_id, "waiting"))[-1].data["questions"]
    async with pool.acquire() as db, db.transaction():
        # Holding the question's row keeps the broker from settling it; the answer waits for the row as well.
        await db.execute("SELECT FROM questions WHERE id = $1 FOR UPDATE", question_id)
        await pool.execute(
            "UPDATE turns SET state = 'cancelled', cancel_reason = 'superseded', settled_at = now() WHERE id = $1", turn_id
        )
        assert (await mia.get(f"/v1/questions/{question_id}")).json()["state"] == "superseded"
        late = asyncio.create_task(mia.post(f"/v1/questions/{question_id}/answer", json={"answer": "red"}))
        await until(lambda: somebody_waits_for_a_lock(pool))
    refused = await late
    assert (refused.status_code, refused.json()["details"]["question"]["state"]) == (409, "superseded")
    assert await pool.fetchval("SELECT answer FROM questions WHERE id = $1", question_id) is None


async def somebody_waits_for_a_lock(pool: Pool) -> bool:
    return bool(await pool.fetchval("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))


@pytest.mark.requirement("R9", "R18", "R19")
async def test_a_proposal_is_pending_then_applied_and_the_next_turn_is_told(
    mia: httpx2.AsyncClient, company: Company, shop: TeamDatabase, model: ScriptedModel
) -> None:
    """The chat goes on while it is pending; the model is told what the record says, not what anybody claims."""
    thread_id = await thread(mia, company)
    turn_id = await say(mia, thread_id, "change the note")
    done = (await follow(mia, turn_id))[-1].data
    [action_id] = done["actions"]
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "first"
    action = (await mia.get(f"/v1/actions/{action_id}")).json()
    confirmed = await mia.post(f"/v1/actions/{action_id}/confirm", json={"digest": action["digest"]})
    assert confirmed.status_code == 200, confirmed.text
    applied = (await mia.get(f"/v1/actions/{action_id}?wait=10")).json()
    assert applied["state"] == "applied"
    assert await shop.value("SELECT note FROM orders WHERE id = 1") == "rush"
    await answer_of(mia, await say(mia, thread_id, "what became of it?"))
    told = (await model.requests())[-1]
    assert '"state":"applied"' in str(told)


@pytest.mark.requirement("C20")
async def test_bad_calls_go_back_to_the_model_and_do_not_end_the_turn(
    mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """An unknown tool, broken arguments and a failing read in one batch: three errors, one answer."""
    turn_id = await say(mia, await thread(mia, company), "wrong tools")
    assert "orders" in await answer_of(mia, turn_id)
    assert await pool.fetchval("SELECT count(*) FROM tool_calls WHERE state = 'refused'") == 2


@pytest.mark.requirement("C20")
async def test_the_same_failing_call_three_times_in_a_row_fails_the_turn(mia: httpx2.AsyncClient, company: Company) -> None:
    """The reader is told to ask in another way."""
    done = (await follow(mia, await say(mia, await thread(mia, company), "stubborn")))[-1].data
    assert (done["state"], done["error"]["code"], done["model_calls"]) == ("failed", "repeated_failure", 3)
