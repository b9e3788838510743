"""What is fuzzed: all six services over real Postgres and NATS, and a company in which there is one of everything to find."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from tests.loop.conftest import ALL_SIX
from tests.webhooks.conftest import KEY

from askbus.access.model import TOKEN_SCOPES
from askbus.bus.provision import provision
from askbus.db.migrate import migrate
from askbus.db.pool import open_pool
from askbus.testing.actions import update
from askbus.testing.composed import Composed, compose
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Agent, Company, Person, found_company, give_token
from askbus.testing.records import SHOP, team_database
from askbus.testing.servers import SECRET, TEMPLATE, administer, fresh_database, on_database, run_nats, run_postgres

SCRIPT: list[Any] = [{"matching": "(?s).*", "steps": [{"text": "Hello to you."}]}]
QUICK_STREAMS = {"stream_age": 0.3, "heartbeat": 0.1}
"""A stream ends before whoever reads all of an answer loses patience."""
SETTINGS: dict[str, object] = {
    "standing_approval_days": 30,
    "sealing_keys": KEY,
    "limit_chat": 0,
    "limit_ask": 0,
    "limit_tools": 0,
    "command_timeout": 60,  # a slow machine is no defect
    **QUICK_STREAMS,
}


@dataclass(frozen=True)
class Scene:
    """The running services, who calls, and the ids of what there is by the name of its collection in paths."""

    services: Composed
    callers: Mapping[str, Person | Agent]
    known: Mapping[str, list[str]]


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """Starts it all in a temporary folder, and leaves nothing running."""
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="askbus-fuzz-")))
        postgres = await opened.enter_async_context(run_postgres(folder))
        await administer(postgres.url, f'CREATE DATABASE "{TEMPLATE}"')
        await migrate(on_database(postgres.url, TEMPLATE), SECRET)
        async with scene_on(postgres.url, folder) as made:
            yield made


@asynccontextmanager
async def scene_on(postgres_url: str, folder: Path) -> AsyncIterator[Scene]:
    """The same over a Postgres whose template is migrated already."""
    async with (
        fresh_database(postgres_url, TEMPLATE) as database,
        run_nats(folder) as nats,
        ScriptedModel(SCRIPT) as model,
        team_database(postgres_url) as shop,
        open_pool(database.url, size=2, name="fuzz") as pool,
    ):
        await shop.run(SHOP)
        company = await found_company(pool)
        owner = company["owner"]
        agent = await give_token(pool, owner, tuple(TOKEN_SCOPES))
        await provision(nats.url, ack_wait=1)
        settings = {"model_base_url": model.base_url, "records_url": shop.url, **SETTINGS}
        async with compose(database, nats.url, ALL_SIX, **settings) as services:
            async with services.client(owner) as browser:
                known = await furnished(browser, company)
            known["tokens"] = [str((await give_token(pool, owner)).id)]
            # The owner comes last: it finds the others' ids, and may send them away.
            yield Scene(services, {"viewer": company["viewer"], "token": agent, "owner": owner}, known)


async def furnished(browser: httpx2.AsyncClient, company: Company) -> dict[str, list[str]]:
    """One of everything, made as people make it."""
    north = str(company.north)

    async def made(path: str, body: Mapping[str, Any]) -> str:
        response = await browser.post(path, json=body)
        return str(response.raise_for_status().json()["id"])

    thread = await made("/v1/threads", {"project_id": north, "title": "Orders"})
    picture = await browser.post(
        "/v1/attachments",
        params={"project_id": north, "name": "note.txt"},
        content=b"a note",
        headers={"content-type": "text/plain", "x-askbus": "1"},
    )
    webhook = await browser.post("/v1/webhooks", json={"url": "https://example.com/hook", "events": ["question.asked"]})
    return {
        "projects": [north, str(company.south)],
        "users": [str(company[name].id) for name in ("mia", "max", "demo", "stranger")],
        "questions": [await made("/v1/questions", {"project_id": north, "text": f"Deploy {n}?"}) for n in range(6)],
        "threads": [thread],
        "turns": [await made(f"/v1/threads/{thread}/turns", {"text": "hello"})],
        "actions": [
            await made("/v1/actions", {"project_id": north, "operations": [update({"email": f"ada{n}@new.example"})]})
            for n in range(4)
        ],
        "attachments": [str(picture.raise_for_status().json()["id"])],
        "webhooks": [str(webhook.raise_for_status().json()["webhook"]["id"])],
    }
