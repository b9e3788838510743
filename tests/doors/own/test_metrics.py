"""Metrics: one function, the same figure for a model and over HTTP, and a typed result where there is none."""

from typing import Any

import httpx2
import pytest
from tests.doors.own.talk import answer

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token

pytestmark = pytest.mark.requirement("R7")

JANUARY = {"since": "2026-01-01", "until": "2026-01-31"}


async def compute(client: httpx2.AsyncClient, project: object, name: str, /, **arguments: object) -> httpx2.Response:
    return await client.post(f"/v1/metrics/{name}", json={"project_id": str(project), "arguments": arguments})


async def test_a_model_a_program_and_a_tool_call_get_the_same_figure(
    running: Composed, company: Company, agent: httpx2.AsyncClient, pool: Pool
) -> None:
    """The documentation's example: exact value, display, a check of arguments; and an answer that quotes it has its source."""
    found = (await compute(agent, company.north, "unpaid_share", **JANUARY)).json()
    assert found["display"] == "33.3%"
    assert found["value"].startswith("0.33333333333333333333")
    assert (found["metric"], found["missing"], found["currency"]) == ("unpaid_share", None, None)
    called = await agent.post("/v1/tools/unpaid_share", json={"project_id": str(company.north), "arguments": JANUARY})
    assert called.json()["content"] == found
    said, refused = await answer(running, company, "What is unpaid?")
    assert said == found["display"]
    assert "until: Field required" in refused
    assert await pool.fetchval("SELECT count(*) FROM messages WHERE text LIKE '33.3%' AND ungrounded IS NOT NULL") == 0
    assert await pool.fetchval("SELECT count(*) FROM messages WHERE text LIKE '33.3%'") == 1


async def test_where_there_is_no_figure_the_result_says_why(agent: httpx2.AsyncClient, company: Company) -> None:
    """Nothing to read, zero below the line, zero over zero: each with what to do, and no error."""
    none: Any = (await compute(agent, company.north, "unpaid_share", since="2020-01-01", until="2020-01-31")).json()
    assert (none["value"], none["display"], none["missing"]) == (None, "—", "no_data")
    assert none["note"].startswith("There are no records to compute it from.")
    march: Any = (await compute(agent, company.north, "unpaid_share", since="2026-03-01", until="2026-03-31")).json()
    assert (march["value"], march["missing"]) == (None, "division_by_zero")
    empty: Any = (await compute(agent, company.north, "mean", collection="papers_of_nobody", field="x")).json()
    assert (empty["code"], "no" in empty["message"]) == ("not_found", True)


async def test_a_metric_reads_what_its_caller_may_and_all_of_it_or_nothing(
    running: Composed, agent: httpx2.AsyncClient, company: Company, pool: Pool
) -> None:
    """Denied columns, other projects and other scopes as in every read; and no figure over a part of the rows."""
    exact: Any = (await compute(agent, company.north, "mean", collection="orders", field="amount")).json()
    assert (exact["value"], exact["display"], exact["currency"]) == ("175.1875", "€175.19", "EUR")
    denied = await compute(agent, company.north, "mean", collection="logins", field="password_hash")
    assert (denied.status_code, denied.json()["code"]) == (403, "permission_denied")
    part = await compute(agent, company.north, "mean", collection="orders", field="amount", limit=2)
    assert (part.status_code, part.json()["code"]) == (413, "too_large")
    assert "Ask for less" in part.json()["message"]
    assert (await compute(agent, company.elsewhere, "unpaid_share", **JANUARY)).status_code == 404
    assert (await compute(agent, company.north, "berth_depth", name="A1")).json()["details"]["metrics"] == [
        "unpaid_share",
        "mean",
    ]
    invalid = await compute(agent, company.north, "unpaid_share", since="soon")
    assert (invalid.status_code, invalid.json()["code"]) == (400, "invalid_input")
    broken = await compute(agent, company.north, "mean", collection="customers", field="name")
    assert (broken.status_code, broken.json()["code"]) == (500, "internal")

    listed: Any = (await agent.get("/v1/metrics")).json()["metrics"]
    assert [each["name"] for each in listed] == ["unpaid_share", "mean"]
    assert listed[0]["description"].startswith("Says which share of what was invoiced")
    assert set(listed[0]["arguments"]["properties"]) == {"since", "until"}
    assert listed[1]["measure"]["currency"] == "EUR"
    asker = await give_token(pool, company["mia"], (Scope.QUESTIONS_ASK,))
    async with running.client(asker) as client:
        assert (await client.get("/v1/metrics")).json() == {"metrics": []}
        assert (await compute(client, company.north, "unpaid_share", **JANUARY)).status_code == 403
        assert (await compute(client, company.north, "berth_depth", name="A1")).json()["details"] == {"metrics": []}
