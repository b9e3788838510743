"""`askbus records prepare` makes the ledger and says what to grant."""

import asyncio

import pytest
from click.testing import CliRunner, Result

from askbus.cli import main
from askbus.testing.records import team_database
from askbus.testing.servers import Server


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, main, ["records", "prepare", *arguments])


@pytest.mark.requirement("R16")
async def test_the_ledger_is_made_once_and_the_rights_are_printed(postgres_server: Server) -> None:
    """The second run finds it; the role's and the schema's names are quoted as SQL needs them."""
    async with team_database(postgres_server.url, ledger=False) as team:
        await team.run('CREATE ROLE "the applier"; CREATE SCHEMA "Sales Dept"')
        results = [await run(team.url, "--role", "the applier", "--schema", "Sales Dept") for _ in range(2)]
        assert [result.exit_code for result in results] == [0, 0]
        assert 'GRANT SELECT, INSERT ON askbus_ledger.outcomes TO "the applier";' in results[0].output
        assert 'GRANT SELECT ON ALL TABLES IN SCHEMA "Sales Dept" TO "the applier";' in results[0].output
        assert await team.value("SELECT count(*) FROM askbus_ledger.outcomes") == 0
        await team.run('DROP ROLE "the applier"')


async def test_names_that_are_not_there_are_refused(postgres_server: Server) -> None:
    """Rights for a misspelt role or schema help nobody; nothing is made, and the nearest names are told."""
    async with team_database(postgres_server.url, ledger=False) as team:
        refused = await run(team.url, "--role", "postgers", "--schema", "publik", "--schema", "public")
        assert refused.exit_code == 1
        assert "There is no role postgers. There are postgres" in refused.output
        assert "There is no schema publik. There are public" in refused.output
        assert await team.value("SELECT to_regnamespace('askbus_ledger') IS NULL")


async def test_a_database_that_is_not_there_is_one_line(postgres_server: Server) -> None:
    """Without a traceback."""
    result = await run(f"{postgres_server.url}_that_is_not_there")
    assert result.exit_code == 1
    assert result.output.startswith("Error: The ledger could not be made: ")
