"""Conversations with files on a stage: what the model says about them, and who talks."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.files import uploaded
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, found_company
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import Server, fresh_database, run_nats
from askbus.testing.streams import events
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
