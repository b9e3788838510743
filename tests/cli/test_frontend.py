"""`askbus frontend`, as an operator runs it."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from askbus.access import frontends
from askbus.cli import main
from askbus.db.pool import open_pool
from askbus.testing.people import found_company
from askbus.testing.servers import TestDatabase


@pytest.mark.requirement("C36")
async def test_a_front_ends_key_counts_until_another_is_made_or_it_is_removed(database: TestDatabase, tmp_path: Path) -> None:
    """Printed once, kept as its hash, and of no use in another workspace."""

    async def run(*arguments: str) -> Result:
        environment = {"ASKBUS_DATABASE_URL": database.url, "ASKBUS_DATA": str(tmp_path)}
        return await asyncio.to_thread(CliRunner(env=environment).invoke, main, ["frontend", *arguments])

    async with open_pool(database.url, size=2, name="tests") as pool:
        company = await found_company(pool)
        workspace = str(company.workspace_id)
        mia, stranger = company["mia"].principal, company["stranger"].principal
        first = (await run("register", "desk", "--workspace", workspace)).stdout.strip()
        assert await frontends.is_registered(pool, mia, first)
        assert not await frontends.is_registered(pool, stranger, first)
        assert first not in str(await pool.fetch("SELECT * FROM frontends"))

        second = (await run("register", "desk", "--workspace", workspace)).stdout.strip()
        assert not await frontends.is_registered(pool, mia, first)
        assert await frontends.is_registered(pool, mia, second)

        listed = (await run("list", "--workspace", workspace)).stdout
        assert listed.startswith("desk  ")
        assert second not in listed
        assert (await run("remove", "desk", "--workspace", workspace)).exit_code == 0
        assert (await run("list", "--workspace", workspace)).stdout == ""
        assert not await frontends.is_registered(pool, mia, second)
        assert (await run("remove", "desk", "--workspace", workspace)).exit_code != 0
        assert (await run("register", "", "--workspace", workspace)).exit_code != 0
