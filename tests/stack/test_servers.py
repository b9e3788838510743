"""The embedded servers, one by one."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import nats as nats_client
import psutil
import pytest

from askbus.stack.nats import Nats
from askbus.stack.ports import Ports, free_port, is_free
from askbus.stack.postgres import Postgres
from askbus.stack.process import StackError


@pytest.fixture
async def postgres(tmp_path: Path) -> AsyncIterator[Postgres]:
    """A cluster of the test's own, killed and restarted at will."""
    server = Postgres(tmp_path / "postgres", port=free_port(), log=tmp_path / "postgres.log", durable=False)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def nats(tmp_path: Path) -> AsyncIterator[Nats]:
    """A NATS server of the test's own."""
    server = Nats(tmp_path / "nats", port=free_port(), log=tmp_path / "nats.log")
    await server.start()
    yield server
    await server.stop()


async def test_committed_rows_survive_a_kill_of_postgres(postgres: Postgres) -> None:
    """The same port and the same data after kill -9 and a restart."""
    url = await postgres.ensure_database("kept")
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    await postgres.kill()
    connection.terminate()
    await postgres.restart()
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT answer FROM kept") == 42
    await connection.close()


async def test_postgres_is_not_run_as_root_and_asks_for_a_password(postgres: Postgres) -> None:
    """Whoever is on this machine can reach the port."""
    assert psutil.Process(postgres.pid).uids().real != 0
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(f"postgresql://postgres:wrong@127.0.0.1:{postgres.port}/postgres")


async def test_values_of_a_failed_statement_do_not_reach_the_log(postgres: Postgres) -> None:
    """Neither the statement nor the row at fault: ids and states may be logged, content may not."""
    connection = await asyncpg.connect(postgres.url)
    await connection.execute("CREATE TABLE people (email text PRIMARY KEY)")
    await connection.execute("INSERT INTO people VALUES ('planted@example.org')")
    with pytest.raises(asyncpg.UniqueViolationError):
        await connection.execute("INSERT INTO people VALUES ('planted@example.org')")
    await connection.close()
    log = postgres.log.read_text()
    assert "duplicate key value" in log
    assert "planted" not in log


async def test_a_half_made_cluster_is_made_anew(tmp_path: Path) -> None:
    """initdb may be killed at any moment; what it leaves is no cluster."""
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18\n")
    server = Postgres(tmp_path / "postgres", port=free_port(), log=tmp_path / "postgres.log", durable=False)
    await server.start()
    connection = await asyncpg.connect(server.url)
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    await server.stop()


async def test_acknowledged_messages_survive_a_kill_of_nats(nats: Nats) -> None:
    """The same port and the same file store after kill -9 and a restart."""
    client = await nats_client.connect(nats.url)
    await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
    await client.jetstream().publish("kept", b"42")
    await client.close()
    await nats.kill()
    await nats.restart()
    client = await nats_client.connect(nats.url)
    message = await client.jetstream().get_last_msg("KEPT", "kept")
    assert message.data == b"42"
    await client.close()


async def test_a_server_that_cannot_start_says_what_its_log_says(nats: Nats, tmp_path: Path) -> None:
    """The port is taken: the message names it."""
    second = Nats(tmp_path / "second", port=nats.port, log=tmp_path / "second.log")
    with pytest.raises(StackError, match=f"port {nats.port}"):
        await second.start()


async def test_a_chosen_port_is_remembered_and_a_taken_one_replaced(tmp_path: Path, nats: Nats) -> None:
    """The next start uses the same port; when another program took it meanwhile, any free one."""
    chosen = Ports(tmp_path / "ports.json").choose("nats", None)
    assert is_free(chosen)
    assert Ports(tmp_path / "ports.json").choose("nats", None) == chosen
    (tmp_path / "ports.json").write_text(f'{{"nats": {nats.port}}}')
    assert Ports(tmp_path / "ports.json").choose("nats", None) != nats.port


async def test_a_taken_port_that_was_asked_for_is_refused(tmp_path: Path, nats: Nats) -> None:
    """Who asks for a port has a reason; another one would surprise."""
    with pytest.raises(StackError, match=f"Port {nats.port} for http is taken"):
        Ports(tmp_path / "ports.json").choose("http", nats.port)
