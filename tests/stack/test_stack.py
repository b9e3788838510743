"""The whole stack, with stand-ins for the services: what the supervisor starts, watches and ends."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypedDict

import asyncpg
import psutil
import pytest
from nats.errors import Error as NatsError

from askbus.bus.connection import connect
from askbus.bus.envelope import Service
from askbus.bus.streams import STREAMS
from askbus.runtime.secrets import service_nats_url
from askbus.stack.data import read_embedded
from askbus.stack.nats import Nats
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.process import StackError
from askbus.stack.supervisor import Stack
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("O1", "O2")

STAND_IN = Path(__file__).with_name("stand_in.py")


class Entry(TypedDict):
    """A line of a stand-in's diary."""

    event: str
    pid: int
    settings: dict[str, str]


def stand_in(folder: Path, service: Service, *, instance: int = 1, **first_env: str) -> ServiceSpec:
    """A service that keeps its diary in `folder`."""
    diary = folder / f"{service}-{instance}.diary"
    return ServiceSpec(service, instance, argv=(sys.executable, str(STAND_IN), str(diary)), first_env=first_env)


def diary(folder: Path, service: Service, instance: int = 1) -> list[Entry]:
    return [json.loads(line) for line in (folder / f"{service}-{instance}.diary").read_text().splitlines()]


def options(folder: Path, *services: ServiceSpec) -> Options:
    chosen = services or tuple(stand_in(folder, service) for service in Service)
    return Options(data=folder / "data", services=chosen, durable=False, secret="a secret that only these tests have")


@pytest.fixture
async def stack(tmp_path: Path) -> AsyncIterator[Stack]:
    """All six services as stand-ins, ready."""
    async with Stack(options(tmp_path)) as running:
        yield running


async def test_a_dead_service_is_started_again(stack: Stack, tmp_path: Path) -> None:
    """kill -9 of one: a new process takes its place on the same port, and the others are left alone."""
    expiry, gateway = stack.services["expiry"], stack.services["gateway"]
    first, untouched = expiry.pid, gateway.pid
    await expiry.kill()
    await expiry.wait_ready()
    assert expiry.pid != first
    assert expiry.restarts == 1
    assert [entry["event"] for entry in diary(tmp_path, Service.EXPIRY)] == ["start", "start"]
    assert gateway.pid == untouched


async def test_each_service_knows_its_own_credentials_only(stack: Stack, tmp_path: Path) -> None:
    """Not the deployment's secret, not the administrator's passwords, not another service's."""
    known = {service: diary(tmp_path, service)[0]["settings"] for service in Service}
    for service, settings in known.items():
        assert "ASKBUS_SECRET" not in settings
        assert settings["ASKBUS_DATABASE_URL"].startswith(f"postgresql://{service.role}:")
        assert settings["ASKBUS_NATS_URL"].startswith(f"nats://{service.value}:")
        assert ("ASKBUS_CALLOUT_SEED" in settings) == (service is Service.GATEWAY)
        assert ("ASKBUS_SEALING_KEYS" in settings) == (service is Service.QUESTION_BROKER)
        assert ("ASKBUS_RECORDS_URL" in settings) == (service in {Service.TOOL_RUNNER, Service.ACTION_APPLIER})
    assert len({settings["ASKBUS_DATABASE_URL"] for settings in known.values()}) == len(Service)
    connection = await asyncpg.connect(known[Service.EXPIRY]["ASKBUS_DATABASE_URL"])
    assert await connection.fetchval("SELECT current_user") == Service.EXPIRY.role
    await connection.close()


async def test_the_sample_business_is_there_to_ask_about(stack: Stack) -> None:
    """Without records of their own people can try everything at once; the role owns the sample and nothing else."""
    assert stack.records_url is not None
    connection = await asyncpg.connect(stack.records_url)
    names = [row["name"] for row in await connection.fetch("SELECT name FROM customers WHERE name LIKE 'René M%'")]
    assert names == ["René Maréchal", "René Marchal"]
    assert not await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    await connection.close()


async def test_stopping_drains_the_services_and_ends_the_servers(tmp_path: Path) -> None:
    """Leaving the stack asks each service to drain; afterwards nothing of it runs."""
    async with Stack(options(tmp_path)) as stack:
        pids = [service.pid for service in stack.services.values()] + [server.pid for server in stack.servers.values()]
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert all(diary(tmp_path, service)[-1]["event"] == "drained" for service in Service)


async def test_the_next_start_finds_all_data_on_the_same_ports(tmp_path: Path) -> None:
    """Rows, the secret and every address stay from one start to the next; commands read them in the data directory meanwhile."""
    only = stand_in(tmp_path, Service.GATEWAY)
    kept = Options(data=tmp_path / "data", services=(only,), durable=False)
    async with Stack(kept) as stack:
        before = stack.secret, stack.database_url, stack.nats_url, stack.http_url
        connection = await asyncpg.connect(stack.database_url)
        await connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        await connection.close()
    found = read_embedded(kept.data)
    assert (found.secret, found.database_url, found.nats_url, found.public_url) == before
    async with Stack(kept) as stack:
        assert (stack.secret, stack.database_url, stack.nats_url, stack.http_url) == before
        connection = await asyncpg.connect(stack.database_url)
        assert await connection.fetchval("SELECT answer FROM kept") == 42
        await connection.close()


async def test_two_stacks_run_side_by_side(stack: Stack, tmp_path: Path) -> None:
    """Each has its own data directory and ports."""
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    async with Stack(options(other_folder, stand_in(other_folder, Service.GATEWAY))) as other:
        assert other.http_url != stack.http_url
        assert other.database_url != stack.database_url
        assert other.nats_url != stack.nats_url


async def test_a_second_stack_on_the_same_data_is_refused(stack: Stack, tmp_path: Path) -> None:
    """Two servers on one directory would destroy it; the message names the process that holds it."""
    with pytest.raises(StackError, match=rf"Another askbus runs on .*process {os.getpid()}"):
        await Stack(options(tmp_path)).start()


async def test_a_nats_that_lost_its_disk_gets_its_streams_again(stack: Stack) -> None:
    """It dies with its directory, and somebody sits on its port at first: the guard goes on, and the services find their streams."""
    nats = stack.servers["nats"]
    assert isinstance(nats, Nats)
    stack.guard_servers()
    killed = nats.pid
    await nats.kill()
    async with await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", nats.port):
        shutil.rmtree(stack.data.path / "nats")
        await until(lambda: _in_vain(nats, killed))
    await until(lambda: _provisioned(stack, nats), within=30)


async def _in_vain(nats: Nats, killed: int) -> bool:
    return nats.pid != killed and not nats.running


async def _provisioned(stack: Stack, nats: Nats) -> bool:
    try:
        client = await connect(service_nats_url(nats.url, "admin", stack.secret), "test")
    except (OSError, NatsError):
        return False
    try:
        return {one.config.name for one in await client.jsm().streams_info()} == {stream.name for stream in STREAMS}
    except NatsError:
        return False
    finally:
        await client.close()


async def test_a_frozen_service_is_not_ready_until_it_thaws(stack: Stack) -> None:
    """SIGSTOP: as on a machine that hangs."""
    broker = stack.services["question-broker"]
    broker.freeze()
    assert not await broker.refresh()
    broker.thaw()
    await broker.wait_ready()
    assert broker.restarts == 0


async def test_a_crash_point_is_for_one_start_only(tmp_path: Path) -> None:
    """The process that replaces the crashed one must live, or nothing could complete."""
    crashing = stand_in(tmp_path, Service.AGENT_LOOP, ASKBUS_CRASH_AT="somewhere")
    async with Stack(options(tmp_path, crashing)) as stack:
        assert stack.services["agent-loop"].restarts == 1
        await stack.services["agent-loop"].restart({"ASKBUS_CRASH_AT": "elsewhere"})
        await stack.services["agent-loop"].wait_ready()
        told = [
            entry["settings"].get("ASKBUS_CRASH_AT") for entry in diary(tmp_path, Service.AGENT_LOOP) if entry["event"] == "start"
        ]
        assert told == ["somewhere", None, "elsewhere", None]


async def test_two_instances_of_a_service_run_at_once(tmp_path: Path) -> None:
    """Each is a process of its own under its own name, with the same credentials."""
    pair = [stand_in(tmp_path, Service.AGENT_LOOP, instance=instance) for instance in (1, 2)]
    async with Stack(options(tmp_path, *pair)) as stack:
        assert list(stack.services) == ["agent-loop", "agent-loop-2"]
        first, second = (diary(tmp_path, Service.AGENT_LOOP, instance)[0] for instance in (1, 2))
        assert first["pid"] != second["pid"]
        assert first["settings"]["ASKBUS_NATS_URL"] == second["settings"]["ASKBUS_NATS_URL"]


async def test_a_service_that_never_comes_up_is_reported_with_its_log(tmp_path: Path) -> None:
    """And what was started before it is ended again."""
    broken = ServiceSpec(Service.EXPIRY, argv=(sys.executable, "-c", "raise SystemExit('no such setting')"))
    stack = Stack(options(tmp_path, broken))
    with pytest.raises(StackError, match=r"expiry ended 4 times(.|\n)*no such setting"):
        await stack.__aenter__()
    assert not any(server.running for server in stack.servers.values())


async def test_postgres_and_nats_come_back_on_the_same_address(stack: Stack) -> None:
    """Fault tests kill and restart them under the running services."""
    for server in stack.servers.values():
        address = server.url
        await server.kill()
        assert not server.running
        await server.restart()
        assert server.url == address
    connection = await asyncpg.connect(stack.database_url)
    assert await connection.fetchval("SELECT count(*) FROM askbus.workspaces") == 0
    await connection.close()
