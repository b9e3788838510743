"""`askbus doctor` looks at everything a deployment depends on, and says what to do."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from askbus.bus.accounts import accounts_block
from askbus.bus.provision import provision
from askbus.cli import main
from askbus.doctor.model import Level, Report
from askbus.doctor.team import often_used
from askbus.runtime.secrets import service_nats_url
from askbus.testing.issuer import issuing
from askbus.testing.records import SHOP, TeamDatabase, team_database
from askbus.testing.servers import SECRET, Server, TestDatabase, run_nats

pytestmark = pytest.mark.requirement("O11", "R23")


@pytest.fixture
async def shop(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The team's own database, with the ledger in it."""
    async with team_database(postgres_server.url) as made:
        await made.run(SHOP)
        yield made


@pytest.fixture
async def whole(database: TestDatabase, shop: TeamDatabase, tmp_path: Path) -> AsyncIterator[dict[str, str]]:
    """The settings of a deployment in which nothing is wrong."""
    async with run_nats(tmp_path, accounts_block(SECRET)) as nats:
        await provision(service_nats_url(nats.url, "admin", SECRET))
        yield {
            "ASKBUS_DATABASE_URL": database.url,
            "ASKBUS_NATS_URL": nats.url,
            "ASKBUS_SECRET": SECRET,
            "ASKBUS_RECORDS_URL": shop.url,
            "ASKBUS_MODEL_API_KEY": "planted-key",
        }


async def examine(settings: dict[str, str], *arguments: str, **changed: str) -> Report:
    """The report, which the exit code agrees with."""
    runner = CliRunner(env={**settings, **changed})
    result = await asyncio.to_thread(runner.invoke, main, ["doctor", "--json", *arguments])
    assert result.output, result.exception
    report = Report.model_validate_json(result.output)
    assert result.exit_code == (0 if report.healthy else 1)
    assert "planted" not in result.output
    return report


def faults(report: Report) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.area, one.says, one.do) for one in report.findings if one.level is Level.WRONG]


async def test_a_whole_deployment_is_healthy(whole: dict[str, str]) -> None:
    """Every area is looked at, and nothing is wrong; people read a line for each."""
    report = await examine(whole)
    assert faults(report) == []
    assert {one.area for one in report.findings} == {"settings", "postgres", "clock", "nats", "records", "indexes", "model"}
    assert any("5 collections" in one.says or "4 collections" in one.says for one in report.findings)
    shown = await asyncio.to_thread(CliRunner(env=whole).invoke, main, ["doctor"])
    assert shown.exit_code == 0
    assert "ok     nats: NATS serves every service" in shown.output


async def test_what_is_wrong_is_said_with_what_to_do(
    whole: dict[str, str], shop: TeamDatabase, database: TestDatabase, tmp_path: Path, postgres_server: Server
) -> None:
    """Each at its place: a missing migration, another secret, drifted streams, a missing ledger, wrong names, no model's key."""
    catalogue = tmp_path / "records.toml"
    catalogue.write_text('[collections.customers]\nname = "nmae"\n')
    await shop.run("DROP SCHEMA askbus_ledger CASCADE")
    await TeamDatabase(database.url).run("DELETE FROM askbus.migrations WHERE name LIKE '0012%'")
    report = await examine(
        whole,
        ASKBUS_RECORDS_CATALOGUE=str(catalogue),
        ASKBUS_RECORDS_POLICY=json.dumps({"denied_columns": ["orders.amuont"], "never_written": ["orders"]}),
        ASKBUS_ACK_WAIT="7",
        ASKBUS_MODEL_API_KEY="",
        ASKBUS_MODELS='{"other": {"provider": "openai", "model": "another"}}',
    )
    found = faults(report)
    assert ("records", "The ledger is missing: nothing can be changed.", ("askbus records prepare",)) in found
    assert any("1 of" in says and do == ("askbus migrate",) for _, says, do in found)
    assert any("ack_wait is 5" in says and do == ("askbus provision --update",) for _, says, do in found)
    assert any("nmae" in says and "there are name" in says for _, says, _ in found)
    assert any("orders.amuont" in says and "orders.amount" in says for _, says, _ in found)
    assert any(area == "model" and "no key" in says for area, says, _ in found)
    other = await examine(whole, ASKBUS_SECRET="another secret of at least 32 characters", ASKBUS_MODEL_API_KEY="")
    assert any(one.level is Level.ADVICE and one.says.startswith("No model") for one in other.findings)
    assert any(area == "postgres" and "does not let in gateway" in says for area, says, _ in faults(other))
    assert any(area == "nats" for area, _, _ in faults(other))


async def test_issuers_are_named_with_their_audience_and_asked(whole: dict[str, str]) -> None:
    """Whose tokens count and for whom, exactly; one that calls itself something else, or that the policy forbids, is told as wrong. The
    settings show the same, without the client's secret."""
    async with issuing() as issuer:
        taken = {"issuer": issuer.url, "audience": "https://askbus.example:8443"}
        client = {"label": "Acme", "issuer": f"{issuer.url}/", "client_id": "askbus", "client_secret": "planted-secret"}
        told = {"ASKBUS_JWT_ISSUERS": json.dumps({"acme": taken}), "ASKBUS_SIGN_IN": json.dumps({"slash": client})}
        report = await examine(whole, **told, ASKBUS_OUTBOUND_HOSTS="127.0.0.1")
        [good, bad] = [one for one in report.findings if one.area == "issuers"]
        assert (good.level, "for the audience https://askbus.example:8443 are taken" in good.says) == (Level.OK, True)
        assert issuer.url in good.says
        assert (bad.level, "names_another_issuer" in bad.says) == (Level.WRONG, True)
        forbidden = [one for one in (await examine(whole, **told)).findings if one.area == "issuers"]
        assert ["address_refused" in one.says for one in forbidden] == [True, True]
        shown = await asyncio.to_thread(CliRunner(env={**whole, **told}).invoke, main, ["config"])
        assert "https://askbus.example:8443" in shown.output
        assert issuer.url in shown.output
        assert "planted-secret" not in shown.output


async def test_what_is_away_does_not_hide_the_rest(whole: dict[str, str], postgres_server: Server) -> None:
    """Postgres, NATS and the records are each asked for themselves; a setting that cannot be read is told alone."""
    away = "127.0.0.1:1"
    report = await examine(
        whole,
        ASKBUS_DATABASE_URL=f"postgresql://postgres:planted@{away}/askbus",
        ASKBUS_RECORDS_URL=f"{postgres_server.url}_that_is_not_there",
    )
    assert next(area for area, _, _ in faults(report)) == "postgres"
    assert "records" in {area for area, _, _ in faults(report)}
    assert any(one.area == "nats" and one.level is Level.OK for one in report.findings)
    unread = await examine(whole, ASKBUS_SLOTS="none")
    assert [(area, "ASKBUS_SLOTS" in says) for area, says, _ in faults(unread)] == [("settings", True)]


async def test_large_tables_get_the_statements_that_help(
    whole: dict[str, str], shop: TeamDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Advice is no fault; once the statements were run there is nothing left to advise."""
    monkeypatch.setattr("askbus.records.indexes.LARGE", 2)
    advised = [one for one in (await examine(whole)).findings if one.area == "indexes" and one.do]
    statements = [statement for one in advised for statement in one.do]
    assert 'CREATE INDEX CONCURRENTLY ON "public"."orders" ("customer_id");' in statements
    assert any("USING gin" in statement for statement in statements)
    await shop.run(*statements)
    assert [one.do for one in (await examine(whole)).findings if one.area == "indexes" and one.do] == []


def test_fields_that_reads_often_use_are_counted() -> None:
    """Filters inside others, orders and groups count; what a model wrote wrong does not."""
    plan = {
        "collection": "orders",
        "where": {"or": [{"field": "stage", "value": "won"}, {"not": {"field": "note", "value": "x"}}]},
        "group_by": ["placed"],
        "aggregates": {"op": "count"},
    }
    listed = {"collection": "orders", "order_by": {"field": "placed"}}
    texts = [json.dumps(plan), json.dumps(listed), "{", json.dumps({"collection": "orders", "wehre": 1})]
    assert often_used(texts, 2) == {"orders": ["placed"]}
    assert set(often_used(texts, 1)["orders"]) == {"placed", "stage", "note"}
