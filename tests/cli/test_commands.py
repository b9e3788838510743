"""The command `askbus`, as an operator runs it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from click.testing import CliRunner, Result

from askbus.bus.envelope import Service
from askbus.cli import COMMANDS, main
from askbus.runtime.secrets import service_database_url
from askbus.testing.servers import SECRET, Server, administer, on_database

BLANK = {"ASKBUS_DATABASE_URL": None, "ASKBUS_NATS_URL": None, "ASKBUS_SECRET": None}


def askbus(*arguments: str, **environment: str) -> Result:
    """Run the command with these ASKBUS_ variables and no others."""
    return CliRunner(env={**BLANK, **environment}).invoke(main, arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command: str) -> None:
    """`--help` works for all, so that every line of COMMANDS leads somewhere."""
    result = askbus(command, "--help")
    assert result.exit_code == 0
    assert "Usage: main " + command in result.output


def test_help_imports_nothing_heavy() -> None:
    """It answers at once: drivers, frameworks and provider SDKs are imported inside the commands that need them."""
    heavy = "{'asyncpg', 'nats', 'faststream', 'openai', 'anthropic', 'sqlalchemy', 'starlette', 'rich', 'cryptography'}"
    program = (
        f"import sys, askbus.cli\ntry: askbus.cli.main(['--help'])\nfinally: print('heavy:', sorted({heavy} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "heavy: []" in done.stdout


@pytest.mark.parametrize(
    ("command", "missing"),
    [("migrate", "ASKBUS_DATABASE_URL"), ("provision", "ASKBUS_NATS_URL"), ("deploy nats-conf", "ASKBUS_SECRET")],
)
def test_a_missing_setting_is_named_with_its_meaning(command: str, missing: str) -> None:
    """The operator learns which variable to set, and to what."""
    result = askbus(*command.split())
    assert result.exit_code == 2
    assert f"Set {missing}: " in result.output


async def test_migrate_brings_a_database_up_and_finds_nothing_to_do_twice(postgres_server: Server) -> None:
    """Afterwards a service can connect with its own role."""
    await administer(postgres_server.url, "DROP DATABASE IF EXISTS cli_migrate WITH (FORCE)")
    await administer(postgres_server.url, "CREATE DATABASE cli_migrate")
    url = on_database(postgres_server.url, "cli_migrate")
    environment = {"ASKBUS_DATABASE_URL": url, "ASKBUS_SECRET": SECRET}
    first = await asyncio.to_thread(askbus, "migrate", **environment)
    second = await asyncio.to_thread(askbus, "migrate", **environment)
    assert first.exit_code == second.exit_code == 0
    assert "applied 0001_ground.sql" in first.output
    assert second.output == "The database is at this release already.\n"
    connection = await asyncpg.connect(service_database_url(url, Service.GATEWAY, SECRET))
    assert await connection.fetchval("SELECT count(*) FROM askbus.workspaces") == 0
    await connection.close()


def test_config_masks_secrets_and_says_what_was_set() -> None:
    """Passwords in addresses too: the output may be pasted into a ticket."""
    result = askbus(
        "config",
        ASKBUS_DATABASE_URL="postgresql://askbus_gateway:planted@db/askbus",
        ASKBUS_NATS_URL="nats://gateway:planted@one:4222,nats://gateway:planted@two:4222",
        ASKBUS_SECRET="planted planted planted planted planted",
        ASKBUS_MODEL_API_KEY="planted",
        ASKBUS_MODELS='{"claude": {"provider": "anthropic", "api_key": "planted", "model": "m"}}',
        ASKBUS_TOOLS="harbour_tools,pier_tools",
        ASKBUS_SLOTS="3",
    )
    assert result.exit_code == 0
    assert "planted" not in result.output
    assert "ASKBUS_DATABASE_URL=postgresql://askbus_gateway:••••••••@db/askbus" in result.output
    assert "ASKBUS_NATS_URL=nats://gateway:••••••••@one:4222,nats://gateway:••••••••@two:4222" in result.output
    assert 'ASKBUS_MODELS={"claude": {"provider": "anthropic", "api_key": "••••••••", "model": "m"}}\n    set.' in result.output
    assert "ASKBUS_TOOLS=harbour_tools,pier_tools\n    set." in result.output
    assert "ASKBUS_SLOTS=3\n    set." in result.output
    assert "ASKBUS_DRAIN=10.0\n    default." in result.output or "ASKBUS_DRAIN=10\n    default." in result.output


def test_config_says_what_is_missing(tmp_path: Path) -> None:
    """One line for each variable, before anything starts."""
    result = askbus("config", "--data", str(tmp_path), ASKBUS_SECRET="short")
    assert result.exit_code == 1
    assert "ASKBUS_DATABASE_URL: Field required" in str(result.exception)
    assert "ASKBUS_SECRET: " in str(result.exception)


def test_config_knows_what_up_keeps(tmp_path: Path) -> None:
    """Where `askbus up` ran nothing need be set; what is set counts more."""
    (tmp_path / "ports.json").write_text('{"postgres": 20001, "nats": 20002, "http": 20003}')
    (tmp_path / "postgres.password").write_text("planted")
    (tmp_path / "secret").write_text("planted planted planted planted planted")
    result = askbus("config", "--data", str(tmp_path), ASKBUS_NATS_URL="nats://elsewhere")
    assert result.exit_code == 0
    assert "planted" not in result.output
    assert f"ASKBUS_DATABASE_URL=postgresql://postgres:••••••••@127.0.0.1:20001/askbus\n    kept in {tmp_path}." in result.output
    assert "ASKBUS_NATS_URL=nats://elsewhere\n    set." in result.output
    assert f"ASKBUS_PUBLIC_URL=http://127.0.0.1:20003\n    kept in {tmp_path}." in result.output


NOWHERE = "postgresql://somebody:planted@127.0.0.1:1/askbus"


@pytest.mark.parametrize(
    ("command", "environment", "told"),
    [
        ("up --data {folder}/file/below", {}, "The data directory cannot be used: "),
        ("up --data {folder}", {"ASKBUS_SECRET": "short"}, "ASKBUS_SECRET: "),
        ("up --data {folder}", {"ASKBUS_DRAIN": "soon", "ASKBUS_SLOTS": "0"}, "ASKBUS_DRAIN: "),
        ("up --data {folder}", {"ASKBUS_DATABASE_URL": NOWHERE, "ASKBUS_NATS_URL": "nats://h"}, "Check ASKBUS_DATABASE_URL"),
        ("migrate", {"ASKBUS_DATABASE_URL": NOWHERE, "ASKBUS_SECRET": SECRET}, "Check ASKBUS_DATABASE_URL"),
        ("migrate", {"ASKBUS_DATABASE_URL": "localhost", "ASKBUS_SECRET": SECRET}, "Check ASKBUS_DATABASE_URL"),
        ("migrate", {"ASKBUS_DATABASE_URL": NOWHERE, "ASKBUS_SECRET": "short"}, "make one with `openssl rand -hex 32`"),
        ("deploy nats-conf", {"ASKBUS_SECRET": "short"}, "make one with `openssl rand -hex 32`"),
        ("provision", {"ASKBUS_NATS_URL": "nats://", "ASKBUS_SECRET": SECRET}, "Check ASKBUS_NATS_URL"),
        ("admin list", {"ASKBUS_DATABASE_URL": "localhost"}, "Check ASKBUS_DATABASE_URL"),
        ("records prepare localhost", {}, "The ledger could not be made: "),
    ],
)
def test_what_is_wrong_is_said_in_words(tmp_path: Path, command: str, environment: dict[str, str], told: str) -> None:
    """The operator reads what to change, not a traceback, and no password."""
    (tmp_path / "file").touch()
    arguments = command.format(folder=tmp_path).split()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ASKBUS_")}
    done = subprocess.run(
        [sys.executable, "-c", "import askbus.cli; askbus.cli.main()", *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert "planted" not in done.stdout + done.stderr
