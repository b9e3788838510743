"""What a user is shown of a model's work and its cost, and of what went wrong: over HTTP and the stream, as it happens and afterwards."""

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
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import Event, events
from askbus.testing.waiting import until
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway

SCRIPT: list[JsonValue] = [
    {
        "when": "made up",
        "steps": [
            {"tool_calls": [{"name": "leak_margins", "arguments": {"of": "Ada"}}, {"name": "query_records", "arguments": "{"}]},
            {"text": "That did not work."},
        ],
    },
    {"when": "first fails", "steps": [{"text": "At last.", "error_status": 500, "times": 1}]},
    {"when": "breaks off", "steps": [{"text": "one two three four", "cut": 2}]},
    {"when": "stop me", "steps": [{"text": "one two three four", "hold": "never", "hold_after": 2}]},
    {"steps": [{"text": "Hello to you."}]},
]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """A model that says what the script says."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def chat(database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel) -> AsyncIterator[Composed]:
    """Gateway and agent-loop."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    async with compose(database, nats_server.url, services, model_base_url=model.base_url, model_name="scripted") as running:
        yield running


async def begin(mia: httpx2.AsyncClient, company: Company) -> str:
    response = await mia.post("/v1/threads", json={"project_id": str(company.north)})
    return str(response.json()["id"])


async def watch(mia: httpx2.AsyncClient, thread: str, text: str) -> list[Event]:
    """Says something and follows the turn to its end."""
    seen = []
    path, headers = f"/v1/threads/{thread}/turns", {"accept": "text/event-stream"}
    async with mia.stream("POST", path, json={"text": text}, headers=headers) as response:
        async for event in events(response):
            seen.append(event)
            if event.name == "done":
                break
    return seen


@pytest.mark.requirement("C27")
async def test_the_work_of_a_turn_is_told_in_the_tools_words_alone(chat: Composed, company: Company) -> None:
    """While it happens, in the turn and in the thread: fixed labels, how it went, and neither names that a model made up nor arguments."""
    async with chat.client(company["mia"]) as mia:
        thread = await begin(mia, company)
        seen = await watch(mia, thread, "something made up")
        calls = [event.data["calls"] for event in seen if event.name == "calls"]
        assert [[(call["name"], call["label"]) for call in step] for step in calls] == [
            [("unknown", "Looking for a tool that is not there"), ("query_records", "Reading records")]
        ]
        turn = (await mia.get(f"/v1/turns/{seen[-1].data['id']}")).json()
        assert [(call["name"], call["label"], call["state"], call["retry"]) for call in turn["work"]] == [
            ("unknown", "Looked for a tool that is not there", "failed", True),
            ("query_records", "Read records", "failed", True),
        ]
        assert seen[-1].data["work"] == turn["work"]
        shown = await mia.get(f"/v1/threads/{thread}")
        assert [call for message in shown.json()["messages"] for call in message["calls"]] == turn["work"]
        assert "leak" not in shown.text + str(seen)
        assert "Ada" not in shown.text + str(seen)
        await watch(mia, thread, "hello")
        later = (await mia.get(f"/v1/turns/{turn['id']}")).json()
        assert [call["retry"] for call in later["work"]] == [False, False]


@pytest.mark.requirement("C28")
async def test_each_model_call_is_counted_whatever_became_of_it(chat: Composed, company: Company, pool: Pool) -> None:
    """Answered, answered at the second try, broken off, stopped: in the turn, the thread and the report, and what is not known is said."""
    async with chat.client(company["mia"]) as mia:
        thread = await begin(mia, company)
        done = [(await watch(mia, thread, text))[-1].data for text in ("hello", "the first fails", "it breaks off")]
        assert [turn["state"] for turn in done] == ["completed", "completed", "failed"]
        assert [(turn["usage"]["calls"], turn["usage"]["uncounted"]) for turn in done] == [(1, 0), (1, 0), (1, 1)]
        assert all(turn["usage"]["input_tokens"] > 0 for turn in done[:2])
        assert {turn["model"] for turn in done} == {"scripted"}
        started = (await mia.post(f"/v1/threads/{thread}/turns", json={"text": "stop me"})).json()

        async def calls_of(outcome: str) -> int:
            return int(await pool.fetchval("SELECT count(*) FROM usage WHERE outcome = $1", outcome))

        async def asked() -> bool:
            return bool((await mia.get(f"/v1/turns/{started['id']}")).json()["state"] == "running")

        await until(asked)
        await mia.post(f"/v1/turns/{started['id']}/cancel", json={})

        async def recorded() -> bool:
            return await calls_of("cut") == 1

        await until(recorded)
        assert [await calls_of(outcome) for outcome in ("done", "failed", "cut", "lost")] == [2, 1, 1, 0]
        usage = (await mia.get(f"/v1/threads/{thread}")).json()["usage"]
        assert (usage["calls"], usage["uncounted"]) == (4, 2)
        report = (await mia.get("/v1/usage", params={"by": "model"})).json()
        assert report["total"] == usage
        assert [share["key"] for share in report["shares"]] == ["scripted"]
        assert (await mia.get("/v1/usage", params={"of": "workspace"})).status_code == 403
        for span in (
            {"from": "2026-02-30"},
            {"to": "0.5"},
            {"to": "0001-01-01"},
            {"to": "9999-12-31T23:59:59-12:00"},
            {"from": "0001-01-01T00:00:00+14:00"},
        ):
            assert (await mia.get("/v1/usage", params=span)).status_code == 400
        assert (await mia.get("/v1/usage", params={"to": "9999-12-31"})).json()["shares"] == []
    async with chat.client(company["admin"]) as admin:
        report = (await admin.get("/v1/usage", params={"of": "workspace", "by": "user"})).json()
        assert [(share["key"], share["calls"]) for share in report["shares"]] == [(str(company["mia"].id), 4)]


@pytest.mark.requirement("C28", "C19")
async def test_a_message_names_the_model_that_wrote_it_and_so_does_its_cost(
    database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel
) -> None:
    """Also where that was not the one that was asked, and where its words were cut."""
    await provision(nats_server.url, ack_wait=1)
    services = [(Service.GATEWAY, make_gateway), (Service.AGENT_LOOP, make_agent_loop)]
    models = {
        "default": {"base_url": "http://127.0.0.1:9/v1", "model": "asked", "fallback": "other"},
        "other": {"base_url": model.base_url, "model": "scripted"},
    }
    async with (
        compose(database, nats_server.url, services, models=models, model_retries=0) as chat,
        chat.client(company["mia"]) as mia,
    ):
        thread = await begin(mia, company)
        whole, broken = [(await watch(mia, thread, text))[-1].data for text in ("hello", "it breaks off")]
        assert (whole["state"], whole["model"]) == ("completed", "scripted")
        assert (broken["state"], broken["model"], broken["cut"]) == ("failed", "scripted", "failed")
        report = (await mia.get("/v1/usage", params={"by": "model"})).json()
        assert [(share["key"], share["calls"]) for share in report["shares"]] == [("scripted", 2)]
