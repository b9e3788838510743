"""`askbus admin webhook`, as an operator runs it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from askbus.cli import main
from askbus.db.pool import Pool, open_pool
from askbus.testing.people import found_company
from askbus.testing.servers import SECRET, TestDatabase


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to look at rows."""
    async with open_pool(database.url, size=2, name="tests") as pool:
        yield pool


@pytest.mark.requirement("Q12")
async def test_an_operator_makes_and_minds_a_webhook(database: TestDatabase, pool: Pool, tmp_path: Path) -> None:
    """Made with its secret shown once, rotated, switched off and on, replayed, deleted; the audit log says by whose hand."""
    await found_company(pool)
    runner = CliRunner(env={"ASKBUS_DATABASE_URL": database.url, "ASKBUS_SECRET": SECRET, "ASKBUS_DATA": str(tmp_path)})

    async def webhook(*words: str, fails: bool = False) -> str:
        result = await asyncio.to_thread(runner.invoke, main, ["admin", "webhook", *words, "--workspace", "Nordlicht"])
        assert (result.exit_code != 0) == fails, result.output
        return result.output.strip()

    key, secret = (await webhook("create", "https://hooks.example/in", "--project", "north", "--event", "question.asked")).split()
    assert secret.startswith("whsec_")
    assert await webhook("list") == f"{key}  active  https://hooks.example/in  question.asked"
    assert (await webhook("rotate", key)).startswith("whsec_")
    await webhook("switch", key, "off")
    assert "disabled (switched_off)" in await webhook("list")
    assert "Switch it on" in await webhook("replay", key, fails=True)
    await webhook("switch", key, "on")
    assert await webhook("replay", key) == "0"
    assert "https://" in await webhook("create", "http://hooks.example/in", fails=True)
    assert "question.asked" in await webhook("create", "https://hooks.example/in", "--event", "no.such", fails=True)
    await webhook("delete", key)
    assert await webhook("list") == ""
    trail = await pool.fetch("SELECT event, via FROM audit_log WHERE entity = 'webhook' ORDER BY at")
    assert [row["event"].partition(".")[2] for row in trail] == ["created", "rotated", "changed", "changed", "deleted"]
    assert {row["via"] for row in trail} == {"command-line"}
