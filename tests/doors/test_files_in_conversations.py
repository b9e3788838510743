"""Files that go with messages: to the model, to the tools, and back to the people."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.files import csv_text, pdf, picture, uploaded
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, found_company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus.testing.streams import events
from askbus.testing.waiting import until
from askbus_action_applier.app import make_app as make_action_applier
from askbus_agent_loop.app import make_app as make_agent_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_tool_runner.app import make_app as make_tool_runner

SERVICES = [
    (Service.GATEWAY, make_gateway),
    (Service.AGENT_LOOP, make_agent_loop),
    (Service.TOOL_RUNNER, make_tool_runner),
    (Service.ACTION_APPLIER, make_action_applier),
]
ROWS = 500
AT_ONCE = 100
"""Operations of one action; names are looked up by twice as many."""


def reads(file: str, **more: JsonValue) -> JsonValue:
    return {"tool_calls": [{"name": "read_attachment", "arguments": {"file": file, **more}}]}


def looks_up(first: int) -> JsonValue:
    names: list[JsonValue] = [f"{{{{results[0].rows[{row}][0]}}}}" for row in range(first, min(first + 2 * AT_ONCE, ROWS))]
    return {"name": "resolve_names", "arguments": {"collection": "customers", "texts": names}}


def proposes(first: int) -> JsonValue:
    """The CSV's country for each of a hundred customers; which lookup has a row's record is known by its place."""
    operations: list[JsonValue] = [
        {
            "id": f"row-{row}",
            "kind": "update",
            "collection": "customers",
            "record": f"{{{{results[{1 + row // (2 * AT_ONCE)}].matched[{row % (2 * AT_ONCE)}].key.id}}}}",
            "values": {"country": f"{{{{results[0].rows[{row}][1]}}}}"},
        }
        for row in range(first, first + AT_ONCE)
    ]
    return {"tool_calls": [{"name": "propose_changes", "arguments": {"operations": operations}}]}


SCRIPT: list[JsonValue] = [
    {
        "when": "match the list",
        "steps": [
            reads("customers.csv"),
            {"tool_calls": [looks_up(first) for first in range(0, ROWS, 2 * AT_ONCE)]},
            *(proposes(first) for first in range(0, ROWS, AT_ONCE)),
            {"text": "Proposed for {{results[0].total}} rows."},
        ],
    },
    {"when": "read the notes", "steps": [reads("notes.txt", limit=4), {"text": "{{results[0].text}} of {{results[0].total}}"}]},
    {
        "when": "read the pages",
        "steps": [
            reads("report.pdf", page=2),
            {"text": "{{results[0].pages[0].text}} of {{results[0].total}}, {{results[0].next}}"},
        ],
    },
    {"when": "read what is not here", "steps": [reads("customers.csv"), {"text": "{{results[0].error.message}}"}]},
    {"when": "read the picture", "steps": [reads("red.png"), {"text": "{{results[0].error.message}}"}]},
    {
        "matching": "paint (\\w+)",
        "steps": [
            {"tool_calls": [{"name": "generate_image", "arguments": {"prompt": "{{match[1]}}", "name": "a dot"}}]},
            {"text": "Done: {{results[0]}}"},
        ],
    },
    {"steps": [{"text": "I see."}]},
]


@dataclass(frozen=True)
class Chat:
    """Mia's conversations with everything that may take files."""

    running: Composed
    client: httpx2.AsyncClient
    model: ScriptedModel
    company: Company
    pool: Pool
    shop: TeamDatabase

    async def thread(self) -> str:
        made = await self.client.post("/v1/threads", json={"project_id": str(self.company.north)})
        return str(made.json()["id"])

    async def upload(self, content: bytes, name: str) -> str:
        return await uploaded(self.client, self.company, content, name)

    async def send(self, thread_id: str, text: str, *files: str) -> httpx2.Response:
        return await self.client.post(f"/v1/threads/{thread_id}/turns", json={"text": text, "attachments": files})

    async def say(self, thread_id: str, text: str, *files: str) -> dict[str, Any]:
        """What the turn came to."""
        sent = await self.send(thread_id, text, *files)
        assert sent.status_code == 201, sent.text
        done: dict[str, Any] = {}
        async with self.client.stream("GET", f"/v1/turns/{sent.json()['id']}/events") as response:
            async for event in events(response):
                done = event.data if event.name == "done" else done
        return done

    async def asked(self, words: str) -> list[Any]:
        """The bodies of the model's chat requests that hold these words."""
        bodies = [request.body for request in await self.model.requests() if not request.path]
        return [body for body in bodies if words in str(body)]


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[ScriptedModel]:
    """The scripted model, in its own process."""
    async with ScriptedModel(SCRIPT) as model:
        yield model


@asynccontextmanager
async def conversing(
    postgres: Server, template: str, folder: Path, model: ScriptedModel, **abilities: object
) -> AsyncIterator[Chat]:
    """All of it, with a model of these abilities, which is sent two files at most."""
    config = {"base_url": model.base_url, "model": "scripted", **abilities}
    async with (
        fresh_database(postgres.url, template) as database,
        run_nats(folder) as nats,
        team_database(postgres.url) as shop,
        open_pool(database.url, size=4, name="tests") as pool,
    ):
        await shop.run(SHOP)
        company = await found_company(pool)
        await provision(nats.url, ack_wait=1)
        settings = {"models": {"default": config}, "records_url": shop.url, "prompt_files": 2}
        async with compose(database, nats.url, SERVICES, **settings) as running, running.client(company["mia"]) as client:
            yield Chat(running, client, model, company, pool, shop)


@pytest.fixture(scope="module")
async def chat(
    postgres_server: Server, migrated_template: str, tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel
) -> AsyncIterator[Chat]:
    """A model that takes everything and makes pictures; each test has threads of its own."""
    folder = tmp_path_factory.mktemp("nats")
    async with conversing(postgres_server, migrated_template, folder, model, image_model="gpt-image-1") as chat:
        yield chat


def parts_of(body: Any) -> list[list[str]]:
    """The kinds of content parts of each user message."""
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return [[] if isinstance(content, str) else [part["type"] for part in content] for content in users]


@pytest.mark.requirement("C14")
async def test_pictures_and_pdf_files_go_to_the_model_beside_the_tools(chat: Chat) -> None:
    """As parts of the user's message, announced by name; a text is announced by its first lines; people see all of them again."""
    thread_id = await chat.thread()
    files = [
        await chat.upload(picture(), "red.png"),
        await chat.upload(pdf("page one"), "report.pdf"),
        await chat.upload(b"hello there\n", "notes.txt"),
    ]
    assert (await chat.say(thread_id, "look at these", *files))["state"] == "completed"
    [body] = await chat.asked("look at these")
    [kinds] = parts_of(body)
    assert sorted(kinds) == ["file", "image_url", "text"]
    assert "hello there" in str(body)
    assert "read it with read_attachment" in str(body)
    assert {"read_attachment", "resolve_names"} <= {tool["function"]["name"] for tool in body["tools"]}
    [said, answer] = (await chat.client.get(f"/v1/threads/{thread_id}")).json()["messages"]
    assert [(file["id"], file["name"]) for file in said["attachments"]] == list(
        zip(files, ["red.png", "report.pdf", "notes.txt"], strict=True)
    )
    assert answer["attachments"] == []


@pytest.mark.requirement("C14")
async def test_only_the_latest_files_are_sent_again(chat: Chat) -> None:
    """Two at most here; older ones are named, so that the model knows that they were there."""
    thread_id = await chat.thread()
    for colour in ("red", "blue", "green"):
        await chat.say(thread_id, f"look at {colour}", await chat.upload(picture(colour=colour), f"{colour}.png"))
    body = (await chat.asked("look at green"))[-1]
    assert ["image_url" in kinds for kinds in parts_of(body)] == [False, True, True]
    assert "red.png" in str(body)
    assert "not sent again" in str(body)


@pytest.mark.requirement("C14", "C21", "C29")
async def test_a_model_that_takes_no_pictures_is_not_asked(
    postgres_server: Server, migrated_template: str, tmp_path: Path, model: ScriptedModel
) -> None:
    """The turn fails with its own code before any call; the message stays, the next one is answered, and a PDF with text can be read.
    Where nothing makes pictures the model is not told that something did, and a made-up call is refused."""
    async with conversing(postgres_server, migrated_template, tmp_path, model, images=False, documents=False) as chat:
        thread_id = await chat.thread()
        failed = await chat.say(thread_id, "blind look", await chat.upload(picture(), "red.png"))
        assert (failed["state"], failed["error"]["code"], failed["error"]["who"]) == ("failed", "files_not_accepted", "reader")
        scanned = await chat.say(thread_id, "blind look", await chat.upload(pdf(""), "scan.pdf"))
        assert scanned["error"]["code"] == "files_not_accepted"
        assert await chat.asked("blind look") == []
        answered = await chat.say(thread_id, "read the pages", await chat.upload(pdf("one", "two", "three"), "report.pdf"))
        assert answered["answer"] == "two of 3, null"
        [first, _] = await chat.asked("blind look")
        assert "this model cannot see it" in str(first)
        assert "generate_image" not in str([tool["function"]["name"] for tool in first["tools"]])
        assert "Not run" in (await chat.say(await chat.thread(), "paint dots"))["answer"]
        assert await chat.pool.fetchval("SELECT count(*) FROM usage WHERE outcome = 'failed'") == 0


@pytest.mark.requirement("C14")
async def test_a_file_goes_with_one_conversation_of_its_owner(chat: Chat) -> None:
    """Somebody else's looks like none; one that has gone elsewhere is said to have; in its own thread it may be sent again."""
    async with chat.running.client(chat.company["max"]) as max_:
        his = await uploaded(max_, chat.company, picture(), "his.png")
    first, second = await chat.thread(), await chat.thread()
    mine = await chat.upload(b"x", "mine.txt")
    for unknown in (his, str(uuid4())):
        refused = await chat.send(first, "look", mine, unknown)
        assert (refused.status_code, refused.json()["message"]) == (404, "There is no such attachment.")
    assert (await chat.client.get(f"/v1/threads/{first}")).json()["messages"] == []
    await chat.say(first, "look", mine)
    assert (await chat.say(first, "and again", mine))["state"] == "completed"
    elsewhere = await chat.send(second, "look", mine)
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "conflict")
    kept = await chat.client.delete(f"/v1/attachments/{mine}", headers={"x-askbus": "1"})
    assert (kept.status_code, kept.json()["code"]) == (409, "conflict")
    late = await chat.upload(b"x", "late.txt")
    await chat.pool.execute("UPDATE attachments SET expires_at = now() WHERE id = $1", late)
    assert (await chat.send(second, "look", late)).status_code == 404
    await chat.pool.execute("UPDATE attachments SET expires_at = now() WHERE id = $1", mine)
    assert (await chat.client.get(f"/v1/attachments/{mine}")).json()["thread_id"] == first


@pytest.mark.requirement("C14", "C9")
async def test_a_thread_takes_its_files_with_it(chat: Chat) -> None:
    """Uploads, contents and pictures that were made; what waits elsewhere stays."""
    thread_id = await chat.thread()
    sent = await chat.upload(picture(), "red.png")
    await chat.say(thread_id, "paint dots", sent)
    waiting = await chat.upload(b"x", "waiting.txt")
    messages = (await chat.client.get(f"/v1/threads/{thread_id}")).json()["messages"]
    [uploaded_, made] = [file["id"] for message in messages for file in message["attachments"]]
    assert uploaded_ == sent
    deleted = await chat.client.delete(f"/v1/threads/{thread_id}", headers={"x-askbus": "1"})
    assert deleted.status_code in {200, 204}, deleted.text
    for gone in (sent, made):
        assert (await chat.client.get(f"/v1/attachments/{gone}")).status_code == 404
    assert (await chat.client.get(f"/v1/attachments/{waiting}")).status_code == 200
    left = await chat.pool.fetch("SELECT attachment_id FROM attachment_contents UNION ALL SELECT id FROM pictures")
    assert not {sent, made} & {str(row[0]) for row in left}


@pytest.mark.requirement("C14")
async def test_a_file_that_is_deleted_while_it_is_sent_is_sent_or_gone(chat: Chat) -> None:
    """Whichever comes first, the other is refused: no message points at nothing."""
    thread_id = await chat.thread()
    for _ in range(5):
        file_id = await chat.upload(b"x", "x.txt")
        sent, deleted = await asyncio.gather(
            chat.send(thread_id, "look", file_id), chat.client.delete(f"/v1/attachments/{file_id}", headers={"x-askbus": "1"})
        )
        assert (sent.status_code, deleted.status_code) in {(201, 409), (404, 204)}
    dangling = (
        "SELECT count(*) FROM messages m, unnest(m.attachments) f WHERE NOT EXISTS (SELECT FROM attachments a WHERE a.id = f)"
    )
    assert await chat.pool.fetchval(dangling) == 0


@pytest.mark.requirement("C31")
async def test_files_are_read_piece_by_piece(chat: Chat) -> None:
    """A window of text, a page, and a clear word for what has no text or is not in this conversation."""
    thread_id = await chat.thread()
    files = [
        await chat.upload("größer".encode("cp1252"), "notes.txt"),
        await chat.upload(pdf("one", "two", "three"), "report.pdf"),
        await chat.upload(picture(), "red.png"),
    ]
    assert (await chat.say(thread_id, "read the notes", *files))["answer"] == "größ of 6"
    assert (await chat.say(thread_id, "read the pages"))["answer"] == "two of 3, null"
    assert "has no text to read" in (await chat.say(thread_id, "read the picture"))["answer"]
    await chat.say(await chat.thread(), "look", await chat.upload(b"a,b\n1,2\n", "customers.csv"))
    missing = (await chat.say(thread_id, "read what is not here"))["answer"]
    assert "no such file" in missing
    assert "notes.txt" in missing


@pytest.mark.requirement("C31", "C4")
async def test_five_hundred_rows_are_read_matched_and_proposed_within_the_budgets(chat: Chat) -> None:
    """Read once, looked up by two hundred names, proposed by a hundred changes; nothing is cut, and every row is right."""
    await chat.shop.run(
        f"INSERT INTO customers (name, country) SELECT 'Müller & Söhne ' || n, 'XX' FROM generate_series(1, {ROWS}) n"
    )
    rows = [(f"mueller & soehne {n}".replace("ue", "u").replace("oe", "o"), f"C{n % 50}", f"{n},50") for n in range(1, ROWS + 1)]
    file_id = await chat.upload(csv_text(("name", "country", "amount"), rows, ";"), "customers.csv")
    done = await chat.say(await chat.thread(), "match the list", file_id)
    assert (done["state"], done["answer"]) == ("completed", f"Proposed for {ROWS} rows."), done
    assert done["model_calls"] <= 24
    runs = "SELECT c.name, r.result FROM tool_runs r JOIN tool_calls c USING (id) WHERE r.turn_id = $1"
    results = await chat.pool.fetch(runs, done["id"])
    assert {row["name"]: row["result"]["ok"] and not row["result"]["cut"] for row in results} == dict.fromkeys(
        ("read_attachment", "resolve_names", "propose_changes"), True
    )
    read = next(row["result"]["content"] for row in results if row["name"] == "read_attachment")
    assert (read["total"], len(read["rows"]), read["next"]) == (ROWS, ROWS, None)
    assert [column["kind"] for column in read["columns"]] == ["text", "text", "decimal"]
    assert read["rows"][6][2] == "7.50"
    await until(lambda: _actions(chat))
    operations = [one for row in await chat.pool.fetch("SELECT operations FROM actions") for one in row["operations"]]
    assert len(operations) == ROWS
    assert {(one["label"], one["changes"][0]["after"]) for one in operations} == {
        (f"Müller & Söhne {n}", f"C{n % 50}") for n in range(1, ROWS + 1)
    }


async def _actions(chat: Chat) -> bool:
    return bool(await chat.pool.fetchval("SELECT count(*) = $1 FROM actions", ROWS // AT_ONCE))


@pytest.mark.requirement("C29")
async def test_a_picture_is_made_kept_and_shown(chat: Chat) -> None:
    """At the endpoint's own version, once for the call; people see it in the thread, and what it cost is recorded."""
    thread_id = await chat.thread()
    done = await chat.say(thread_id, "paint stripes")
    assert "a dot.png" in done["answer"]
    [made] = [request for request in await chat.model.requests() if request.path and "stripes" in str(request.body)]
    assert (made.path, made.body) == ("/v1/images/generations", {"model": "gpt-image-1", "prompt": "stripes", "n": 1})
    messages = (await chat.client.get(f"/v1/threads/{thread_id}")).json()["messages"]
    [shown] = [file for message in messages for file in message["attachments"]]
    assert (shown["name"], shown["media_type"]) == ("a dot.png", "image/png")
    content = await chat.client.get(f"/v1/attachments/{shown['id']}/content")
    assert (content.status_code, content.content[:4]) == (200, b"\x89PNG")
    async with chat.running.client(chat.company["max"]) as max_:
        assert (await max_.get(f"/v1/attachments/{shown['id']}/content")).status_code == 404
    spent = await chat.pool.fetchrow(
        "SELECT outcome, input_tokens, output_tokens FROM usage WHERE kind = 'image' AND thread_id = $1", thread_id
    )
    assert spent is not None
    assert dict(spent) == {"outcome": "done", "input_tokens": 11, "output_tokens": 272}


@pytest.mark.requirement("C29")
async def test_a_picture_that_is_not_made_is_said_in_our_own_words(chat: Chat) -> None:
    """Refused, garbled or only linked to: the model can go on, and reads nothing of what the provider wrote."""
    thread_id = await chat.thread()
    for prompt, code in (("refuse", "invalid_input"), ("garble", "unavailable"), ("link", "unavailable")):
        answer = (await chat.say(thread_id, f"paint {prompt}"))["answer"]
        assert code in answer
        assert "sk-secret" not in answer
        assert "elsewhere.example" not in answer
    assert await chat.pool.fetchval("SELECT count(*) FROM pictures WHERE thread_id = $1", thread_id) == 0
    outcomes = await chat.pool.fetch("SELECT outcome FROM usage WHERE kind = 'image' AND thread_id = $1 ORDER BY at", thread_id)
    assert [row["outcome"] for row in outcomes] == ["failed", "done", "failed"]
