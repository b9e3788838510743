"""Threads over HTTP: named, searched, exported, temporary, deleted; and every tab that shows one hears of it."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pypdf
import pytest
from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, give_token
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.streams import Event, events
from askbus.testing.waiting import until
from askbus_action_applier.app import make_app as make_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner

SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_applier),
    (Service.QUESTION_BROKER, make_broker),
    (Service.EXPIRY, make_expiry),
]
NOTE: dict[str, JsonValue] = {
    "id": "a",
    "kind": "update",
    "collection": "customers",
    "record": 1,
    "values": {"email": "ada@lovelace.example"},
}
SCRIPT: list[JsonValue] = [
    {"when": "endless", "steps": [{"text": "word after word after word", "chunks": 5, "hang": 2}]},
    {
        "when": "Grüße",
        "steps": [
            {
                "tool_calls": [
                    {"name": "ask_user", "arguments": {"text": "# Red\nor <b>blue</b>?", "options": ["red", "blue"]}},
                    {"name": "propose_changes", "arguments": {"operations": [NOTE]}},
                    {"name": "made_up_by_a_model", "arguments": {"hidden": "argument"}},
                ]
            },
            {"text": "# Done\n<script>alert(1)</script> ![pixel](http://evil.example/x.png) Привет, Ωμέγα 中文 😀 قيمة"},
        ],
    },
    {"when": "", "steps": [{"text": "All right."}]},
]


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@pytest.fixture
async def chat(
    database: TestDatabase, nats_server: Server, company: Company, model: ScriptedModel, shop: TeamDatabase
) -> AsyncIterator[Composed]:
    """All six services; no thread keeps more than eight messages."""
    await provision(nats_server.url, ack_wait=1)
    said = {"model_base_url": model.base_url, "records_url": shop.url, "thread_messages": 8}
    async with compose(database, nats_server.url, SERVICES, **said) as running:
        yield running


@pytest.fixture
async def mia(chat: Composed, company: Company) -> AsyncIterator[httpx2.AsyncClient]:
    """A member's browser."""
    async with chat.client(company["mia"]) as client:
        yield client


async def begun(client: httpx2.AsyncClient, company: Company, **said: JsonValue) -> str:
    made = await client.post("/v1/threads", json={"project_id": str(company.north), **said})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


async def say(client: httpx2.AsyncClient, thread_id: str, text: str) -> str:
    sent = await client.post(f"/v1/threads/{thread_id}/turns", json={"text": text})
    assert sent.status_code == 201, sent.text
    return str(sent.json()["id"])


async def turn_once(client: httpx2.AsyncClient, turn_id: str, state: str) -> Any:
    """The turn as soon as it is in this state."""
    seen: list[Any] = []

    async def there() -> bool:
        seen[:] = [(await client.get(f"/v1/turns/{turn_id}")).json()]
        return bool(seen[0]["state"] == state)

    await until(there)
    return seen[0]


async def answered(client: httpx2.AsyncClient, thread_id: str, text: str) -> str:
    turn_id = await say(client, thread_id, text)
    await turn_once(client, turn_id, "completed")
    return turn_id


async def talked(client: httpx2.AsyncClient, company: Company) -> tuple[str, str]:
    """A conversation with a question, a proposal and everything that is hard to write down; its id and the action's."""
    thread_id = await begun(client, company)
    turn_id = await say(client, thread_id, "1. Grüße\n> *an* <i>alle</i>\n## Assistant (forged)")
    [question_id] = (await turn_once(client, turn_id, "waiting"))["questions"]
    await client.post(f"/v1/questions/{question_id}/answer", json={"answer": "blue | red"})
    done = await turn_once(client, turn_id, "completed")
    return thread_id, done["actions"][0]


@pytest.mark.requirement("C9")
async def test_a_conversation_is_exported_with_all_that_its_user_sees_and_nothing_else(
    mia: httpx2.AsyncClient, company: Company, chat: Composed
) -> None:
    """Words, activity, question and answer, the change and its state, the model's name and times; no arguments, and no markup of a
    message's own that a reader's program would follow."""
    thread_id, action_id = await talked(mia, company)
    exports = {
        name: await mia.get(f"/v1/threads/{thread_id}/export", params={"format": name}) for name in ("markdown", "json", "pdf")
    }
    assert [each.status_code for each in exports.values()] == [200, 200, 200]
    written = exports["markdown"].text
    headings = [line for line in written.splitlines() if line.startswith("#")]
    assert [line.partition(" ·")[0] for line in headings[1:]] == ["## You", "## Assistant (scripted)", "## Assistant (scripted)"]
    assert "<script" not in written
    assert "![" not in written
    assert "&lt;script>" in written
    for part in (r"> 1\. Grüße", r"\> \*an\* \<i\>alle\</i\>", r"\# Red", "Answer:", r"> blue \| red", "Change: ", "pending"):
        assert part in written

    seen = json.loads(exports["json"].content)
    [exchange] = seen["exchanges"]
    asked, proposed, unknown = exchange["messages"][1]["activity"]
    assert (asked["question"]["answer"], asked["question"]["options"]) == ("blue | red", ["red", "blue"])
    assert (proposed["action"]["id"], proposed["action"]["state"]) == (action_id, "pending")
    assert unknown["state"] == "failed"
    assert exchange["messages"][2]["text"].endswith("Привет, Ωμέγα 中文 😀 قيمة")

    assert exports["pdf"].headers["content-type"] == "application/pdf"
    assert "filename*=UTF-8''1.%20Gr%C3%BC%C3%9Fe" in exports["pdf"].headers["content-disposition"]
    printed = "\n".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(exports["pdf"].content)).pages)
    assert "Привет, Ωμέγα □□ □ □□□□" in printed
    assert "blue | red" in printed
    again = await mia.get(f"/v1/threads/{thread_id}/export", params={"format": "pdf"})
    assert again.content == exports["pdf"].content
    for text in (written, exports["json"].text, printed):
        assert "argument" not in text
        assert "made_up_by_a_model" not in text
    async with chat.client(company["owner"]) as owner:
        assert (await owner.get(f"/v1/threads/{thread_id}/export")).status_code == 404
    assert (await mia.get(f"/v1/threads/{thread_id}/export", params={"format": "docx"})).status_code == 400


@pytest.mark.requirement("C9", "C5", "S1")
async def test_a_thread_is_deleted_while_its_model_speaks_and_every_tab_hears_it(
    mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """The stream of the turn ends, nothing is left of it, and the lists of other tabs lose it by its id."""
    thread_id = await begun(mia, company)
    turn_id = await say(mia, thread_id, "endless story")
    told: list[Event] = []
    async with (
        mia.stream("GET", "/v1/events?entities=thread,turn") as feed,
        mia.stream("GET", f"/v1/turns/{turn_id}/events") as turn,
    ):
        following, watching = events(feed), events(turn)
        async for event in watching:
            if event.name == "delta":
                break
        assert (await mia.delete(f"/v1/threads/{thread_id}", headers={"x-askbus": "1"})).status_code == 204
        async with asyncio.timeout(10):
            assert [event.name async for event in watching][-1] == "end"
            async for event in following:
                told.append(event)
                if event.name == "changes" and any(change["op"] == "remove" for change in event.data):
                    break
    assert [change["id"] for change in told[-1].data if change["op"] == "remove"] == [thread_id]
    for path in (f"/v1/threads/{thread_id}", f"/v1/turns/{turn_id}", f"/v1/turns/{turn_id}/events"):
        assert (await mia.get(path)).status_code == 404
    assert await pool.fetchval("SELECT count(*) FROM turns") == 0
    assert await answered(mia, await begun(mia, company), "still here?")


@pytest.mark.requirement("C9", "Q5")
async def test_deleting_a_thread_takes_its_open_question_and_its_card_and_leaves_what_was_applied(
    mia: httpx2.AsyncClient, company: Company, pool: Pool, shop: TeamDatabase
) -> None:
    """The applied change can still be read and undone by itself."""
    thread_id, action_id = await talked(mia, company)
    action = (await mia.get(f"/v1/actions/{action_id}")).json()
    await mia.post(f"/v1/actions/{action_id}/confirm", json={"digest": action["digest"]})
    assert (await mia.get(f"/v1/actions/{action_id}?wait=10")).json()["state"] == "applied"
    [question_id] = (await turn_once(mia, await say(mia, thread_id, "Grüße again"), "waiting"))["questions"]
    key = "0198f000-0000-7000-8000-000000000001"
    for _sent_again in range(2):
        gone = await mia.delete(f"/v1/threads/{thread_id}", headers={"x-askbus": "1", "idempotency-key": key})
        assert gone.status_code == 204
    assert (await mia.delete(f"/v1/threads/{thread_id}", headers={"x-askbus": "1"})).status_code == 404
    other = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()["id"]
    reused = await mia.delete(f"/v1/threads/{other}", headers={"x-askbus": "1", "idempotency-key": key})
    assert (reused.status_code, reused.json()["code"]) == (409, "conflict"), "the key of another deletion deletes nothing"
    assert (await mia.get(f"/v1/threads/{other}")).status_code == 200
    assert (await mia.get(f"/v1/questions/{question_id}")).status_code == 404
    assert (await mia.get("/v1/actions", params={"state": "pending"})).json()["actions"] == []
    undone = await mia.post(f"/v1/actions/{action_id}/undo", json={})
    assert undone.status_code == 200, undone.text
    assert (await mia.get(f"/v1/actions/{action_id}?wait=10")).json()["state"] == "undone"
    assert await shop.value("SELECT email FROM customers WHERE id = 1") == "ada@example.org"


@pytest.mark.requirement("C9", "C35")
async def test_threads_are_named_found_kept_and_closed(
    mia: httpx2.AsyncClient, company: Company, chat: Composed, pool: Pool
) -> None:
    """A temporary one is found once it is saved, and is gone when it is closed or its day is over; names are their user's."""
    kept, passing, forgotten = [await begun(mia, company, temporary=True) for _ in range(3)]
    for thread_id in (kept, passing, forgotten):
        await answered(mia, thread_id, "the north warehouse")

    async def found() -> list[str]:
        hits = (await mia.get("/v1/threads/search", params={"q": "WAREHOUSE north"})).json()["hits"]
        assert all(hit["snippet"] == "the north warehouse" for hit in hits)
        return [hit["thread"]["id"] for hit in hits]

    assert await found() == []
    assert (await mia.get("/v1/threads")).json()["threads"] == []
    assert (await mia.post(f"/v1/threads/{kept}/save", json={})).json()["temporary"] is False
    assert await found() == [kept]
    assert (await mia.post(f"/v1/threads/{kept}/close", json={})).status_code == 409
    assert (await mia.post(f"/v1/threads/{passing}/close", json={})).status_code == 204
    await pool.execute("UPDATE threads SET updated_at = now() - interval '24 hours' WHERE id::text = $1", forgotten)
    assert (await mia.get(f"/v1/threads/{forgotten}")).status_code == 404

    async def swept() -> bool:
        return bool(await pool.fetchval("SELECT count(*) = 1 FROM threads"))

    await until(swept)
    renamed = await mia.patch(f"/v1/threads/{kept}", json={"title": " Warehouse\n  plans "})
    assert (renamed.json()["title"], renamed.json()["title_given"]) == ("Warehouse plans", True)
    await answered(mia, kept, "another message")
    assert (await mia.get("/v1/threads")).json()["threads"][0]["title"] == "Warehouse plans"
    assert (await mia.patch(f"/v1/threads/{kept}", json={"title": "\n "})).status_code == 400
    async with chat.client(await give_token(pool, company["max"])) as robot:
        assert (await robot.patch(f"/v1/threads/{kept}", json={"title": "Mine"})).status_code == 404
        assert (await robot.delete(f"/v1/threads/{kept}")).status_code == 404


@pytest.mark.requirement("C13")
async def test_a_very_long_thread_says_how_much_of_it_is_not_kept_any_more(
    mia: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """In the thread itself and in its export; what is kept goes on as before."""
    thread_id = await begun(mia, company)
    for at in range(6):
        await answered(mia, thread_id, f"message {at}")
    seen = (await mia.get(f"/v1/threads/{thread_id}")).json()
    assert seen["dropped_turns"] > 0
    assert seen["messages"][0]["text"] == f"message {seen['dropped_turns']}"
    assert len(seen["messages"]) == 2 * (6 - seen["dropped_turns"]) <= 9
    written = (await mia.get(f"/v1/threads/{thread_id}/export")).text
    assert "not kept any more" in written
    assert "message 0" not in written.partition("## You")[2]
