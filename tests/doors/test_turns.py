"""Turns over HTTP, with a scripted model behind the real SDK."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import Event, events
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

SCRIPT: list[JsonValue] = [
    {"when": "hello", "steps": [{"text": "Hello to you. How are things?", "chunks": 6}]},
    {"when": "slowly", "steps": [{"text": "one two three four", "chunks": 4, "hold": "{{said}}", "hold_after": 2}]},
    {"when": "broken", "steps": [{"error_status": 400, "error_message": "secret provider words"}]},
    {"when": "endless", "steps": [{"text": "word after word after word", "chunks": 5, "hang": 2}]},
    {"when": "cut off", "steps": [{"text": "half of it", "chunks": 3, "cut": 2}]},
]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel) -> AsyncIterator[Composed]:
    """Gateway, agent-loop and question-broker."""
    await provision(nats_server.url, ack_wait=1)
    services = [
        (Service.GATEWAY, make_gateway),
        (Service.AGENT_LOOP, make_agent_loop),
        (Service.QUESTION_BROKER, make_broker),
    ]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url) as running:
        yield running


async def thread(client: httpx2.AsyncClient, company: Company) -> str:
    made = await client.post("/v1/threads", json={"project_id": str(company.north)})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def text_of(seen: list[Event]) -> str:
    """What the deltas of the last attempt said."""
    return "".join(event.data["text"] for event in seen if event.name == "delta")


async def send(client: httpx2.AsyncClient, thread_id: str, text: str, **more: str) -> str:
    """Sends a message and returns its turn."""
    sent = await client.post(f"/v1/threads/{thread_id}/turns", json={"text": text, **more})
    assert sent.status_code == 201, sent.text
    return str(sent.json()["id"])


async def finished(client: httpx2.AsyncClient, turn_id: str) -> Any:
    """The turn once it is over, as its stream tells it."""
    async with client.stream("GET", f"/v1/turns/{turn_id}/events") as response:
        return [event async for event in events(response)][-1].data


@pytest.mark.requirement("C1", "C25")
async def test_a_message_is_answered_over_the_stream_that_sent_it(chat: Composed, company: Company) -> None:
    """Deltas as they come, then the stored answer, which is what the deltas said."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        async with mia.stream(
            "POST", f"/v1/threads/{thread_id}/turns", json={"text": "hello"}, headers={"accept": "text/event-stream"}
        ) as response:
            assert response.status_code == 200
            seen = [event async for event in events(response)]
        said = text_of(seen)
        assert said == "Hello to you. How are things?"
        assert (seen[-1].name, seen[-1].data["state"], seen[-1].data["answer"]) == ("done", "completed", said)
        stored = (await mia.get(f"/v1/threads/{thread_id}")).json()
        assert [(m["role"], m["text"]) for m in stored["messages"]] == [("user", "hello"), ("assistant", said)]
        assert stored["title"] == "hello"


@pytest.mark.requirement("C25")
async def test_a_dropped_stream_resumes_at_the_next_event(chat: Composed, company: Company, model: ScriptedModel) -> None:
    """The client comes back to another gateway's worth of memory with its last id, and gets each delta once."""
    async with chat.client(company["mia"]) as mia:
        turn_id = await send(mia, await thread(mia, company), "slowly, watched twice")
        first: list[Event] = []
        async with mia.stream("GET", f"/v1/turns/{turn_id}/events") as response:
            async for event in events(response):
                first.append(event)
                if text_of(first):
                    break
        await model.release("slowly, watched twice")
        async with mia.stream("GET", f"/v1/turns/{turn_id}/events", headers={"last-event-id": str(first[-1].id)}) as response:
            rest = [event async for event in events(response)]
        assert text_of(first) + text_of(rest) == "one two three four"
        assert rest[-1].data["answer"] == "one two three four"
        ids = [event.id for event in first + rest if event.id]
        assert len(ids) == len(set(ids))


@pytest.mark.requirement("C5")
async def test_stop_ends_the_model_stream_and_keeps_what_was_said(
    chat: Composed, company: Company, model: ScriptedModel, pool: Pool
) -> None:
    """The provider's connection is closed, the turn is cancelled, and the partial text is stored and marked."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        turn_id = await send(mia, thread_id, "endless")
        seen: list[Event] = []
        stopped: httpx2.Response | None = None
        async with mia.stream("GET", f"/v1/turns/{turn_id}/events") as response:
            async for event in events(response):
                seen.append(event)
                if len(text_of(seen)) > 3 and not stopped:
                    stopped = await mia.post(f"/v1/turns/{turn_id}/cancel", json={})
                    assert stopped.json()["state"] == "cancelled"
        done = seen[-1].data
        assert (done["state"], done["cancel_reason"], done["cut"]) == ("cancelled", "stopped", "stopped")
        assert done["answer"] == text_of(seen)
        await model.until("disconnected", timeout=2)
        again = await mia.post(f"/v1/turns/{turn_id}/cancel", json={})
        assert (again.status_code, again.json()["details"]) == (409, {"state": "cancelled"})


@pytest.mark.requirement("C6")
async def test_a_second_message_waits_for_the_first_by_default(chat: Composed, company: Company, model: ScriptedModel) -> None:
    """Turns of one thread never run at the same time, and keep their order."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        first = await send(mia, thread_id, "slowly, before another")
        second = await send(mia, thread_id, "hello")
        assert (await mia.get(f"/v1/turns/{second}")).json()["state"] == "queued"
        await model.release("slowly, before another")
        assert (await finished(mia, second))["answer"].startswith("Hello")
        assert (await mia.get(f"/v1/turns/{first}")).json()["state"] == "completed"
        stored = (await mia.get(f"/v1/threads/{thread_id}")).json()
        assert [message["text"][:5] for message in stored["messages"]] == ["slowl", "one t", "hello", "Hello"]


@pytest.mark.requirement("C6")
async def test_a_message_may_ask_to_be_rejected_or_to_interrupt(chat: Composed, company: Company, model: ScriptedModel) -> None:
    """`reject` stores nothing while a turn is at work; `interrupt` cancels it first."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        first = await send(mia, thread_id, "endless")
        async with mia.stream("GET", f"/v1/turns/{first}/events") as response:
            async for event in events(response):
                if event.name == "delta":
                    break
        refused = await mia.post(f"/v1/threads/{thread_id}/turns", json={"text": "hello", "overlap": "reject"})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        second = await send(mia, thread_id, "hello", overlap="interrupt")
        assert (await finished(mia, second))["state"] == "completed"
        ended = (await mia.get(f"/v1/turns/{first}")).json()
        assert (ended["state"], ended["cancel_reason"], ended["superseded_by"]) == ("cancelled", "interrupted", second)
        texts = [message["text"] for message in (await mia.get(f"/v1/threads/{thread_id}")).json()["messages"]]
        assert texts.count("hello") == 1


@pytest.mark.requirement("C7", "C8")
async def test_overlapping_sends_all_survive_and_the_same_send_counts_once(chat: Composed, company: Company, pool: Pool) -> None:
    """Ten messages at once, each sent twice: ten turns, ten messages with numbers of their own."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        sends = [send(mia, thread_id, "hello", client_message_id=f"m{n % 10}") for n in range(20)]
        turns = await asyncio.gather(*sends)
        assert len(set(turns)) == 10
        rows = await pool.fetch("SELECT seq FROM messages WHERE role = 'user' ORDER BY seq")
        assert len(rows) == len({row["seq"] for row in rows}) == 10
        await asyncio.gather(*(finished(mia, turn_id) for turn_id in set(turns)))
        states = await pool.fetch("SELECT DISTINCT state FROM turns")
        assert [row["state"] for row in states] == ["completed"]


@pytest.mark.requirement("C1")
async def test_a_failed_turn_keeps_the_message_and_tells_no_provider_words(chat: Composed, company: Company) -> None:
    """The reader gets a fixed sentence and who can act; the message stays in the history."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        done = await finished(mia, await send(mia, thread_id, "broken"))
        assert (done["state"], done["error"]["code"], done["error"]["who"]) == ("failed", "model_refused", "admin")
        everything = (await mia.get(f"/v1/threads/{thread_id}")).text
        assert "broken" in everything
        assert "secret provider words" not in everything + json.dumps(done)


@pytest.mark.requirement("C1")
async def test_a_stream_that_breaks_off_keeps_the_partial_text_as_partial(chat: Composed, company: Company) -> None:
    """Nothing is shown as an answer that was not finished."""
    async with chat.client(company["mia"]) as mia:
        done = await finished(mia, await send(mia, await thread(mia, company), "cut off"))
        assert (done["state"], done["error"]["code"], done["cut"]) == ("failed", "model_unavailable", "failed")
        assert done["answer"]
        assert "half of it".startswith(done["answer"])


async def test_nobody_else_sees_a_thread_or_its_turns(chat: Composed, company: Company) -> None:
    """Conversations are personal: another member, an admin and a stranger get 404 alike."""
    async with chat.client(company["mia"]) as mia:
        thread_id = await thread(mia, company)
        turn_id = await send(mia, thread_id, "hello")
        await finished(mia, turn_id)
    for who in ("max", "admin", "stranger"):
        async with chat.client(company[who]) as other:
            for path in (f"/v1/threads/{thread_id}", f"/v1/turns/{turn_id}", f"/v1/turns/{turn_id}/events"):
                assert (await other.get(path)).status_code == 404
            assert (await other.post(f"/v1/turns/{turn_id}/cancel", json={})).status_code == 404
            assert (await other.post(f"/v1/threads/{thread_id}/turns", json={"text": "hello"})).status_code == 404
            assert (await other.get("/v1/threads")).json()["threads"] == []
