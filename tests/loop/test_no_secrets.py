"""Secrets that people, front ends and records put into a conversation: the model is not shown them, and what is kept of a tool's work has
none. The records and people's own words stay exact."""

import json
from typing import Any

import httpx2
import pytest
from tests.loop.talk import Talk

from askbus.db.pool import Pool
from askbus.redaction import REDACTED
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase

pytestmark = pytest.mark.requirement("I11")

KEY = "sk-proj-aB3dE5fG7hI9jK1lM3nO5pQ7rS9t"
PASSWORD = "hunter2hunter2"
NOTE = f"it is at postgresql://me:{PASSWORD}@db.example/shop"


@pytest.fixture
async def bodies(talk: Talk) -> Any:
    """What the model was sent from now on, as text."""
    known = len(await talk.model.requests())

    async def sent() -> list[str]:
        return [json.dumps(request.body) for request in (await talk.model.requests())[known:]]

    return sent


async def test_neither_the_model_nor_what_is_kept_of_a_tool_has_a_secret(
    talk: Talk, bodies: Any, shop: TeamDatabase, pool: Pool, mia: httpx2.AsyncClient, company: Company
) -> None:
    """One in the user's words, one in the page beside, one in a record that a tool read. The user's message stays as it was written, and
    whoever calls the tool directly gets the record as it is."""
    await shop.run(f"INSERT INTO papers VALUES (4711, '{NOTE}')")
    page = [{"label": "Settings", "text": f"api_key: {KEY}"}]
    turn = await talk.ask(f"read the secret paper, my key is {KEY}", context=page)
    assert turn["state"] == "completed", turn
    sent = await bodies()
    assert len(sent) == 2
    for body in sent:
        assert KEY not in body
        assert PASSWORD not in body
        assert f"my key is {REDACTED}" in body
    assert f"postgresql://me:{REDACTED}@db.example/shop" in sent[-1]
    assert (await talk.messages())[0]["text"].endswith(KEY)
    kept = await pool.fetchval("SELECT result::text FROM tool_runs WHERE turn_id = $1", turn["id"])
    assert (PASSWORD in kept, REDACTED in kept) == (False, True)
    plan = {"collection": "papers", "where": [{"field": "id", "op": "eq", "value": 4711}]}
    exact = await mia.post("/v1/tools/query_records", json={"project_id": str(company.north), "arguments": plan})
    assert NOTE in exact.text


async def test_what_stands_in_a_secrets_place_is_never_written(talk: Talk, pool: Pool) -> None:
    """A model that hands back what it was shown would overwrite the secret: it is told so, and nothing is proposed."""
    turn = await talk.ask("write the secret back")
    assert turn["state"] == "completed", turn
    assert await pool.fetchval("SELECT count(*) FROM actions WHERE turn_id = $1", turn["id"]) == 0
    kept = json.loads(await pool.fetchval("SELECT result::text FROM tool_runs WHERE turn_id = $1", turn["id"]))
    assert kept["error"]["code"] == "invalid_input"
    assert "not shown" in kept["error"]["message"]
