"""A whole stack of real processes, with short clocks, for tests that kill, freeze and restart its parts."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from tests.faults.script import SCRIPT

from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.service import ServiceProcess
from askbus.stack.supervisor import Stack
from askbus.testing.fork_server import ForkServer
from askbus.testing.model_process import ScriptedModel
from askbus.testing.patient import Patient
from askbus.testing.people import Agent, Company, Person, found_company, give_token

CLOCKS = {
    "ASKBUS_LEASE": "1",
    "ASKBUS_ACK_WAIT": "1",
    "ASKBUS_SWEEP_EVERY": "0.3",
    "ASKBUS_STUCK_AFTER": "0.5",
    "ASKBUS_EXPIRY_EVERY": "0.2",
    "ASKBUS_COMMAND_TIMEOUT": "2",
    "ASKBUS_DRAIN": "2",
    "ASKBUS_TRACE_RATIO": "0",
    "ASKBUS_LIMIT_CHAT": "0",
    "ASKBUS_LIMIT_ASK": "0",
    "ASKBUS_LIMIT_TOOLS": "0",
    "ASKBUS_STANDING_APPROVAL_DAYS": "1",
    "ASKBUS_WEBHOOK_TIMEOUT": "1",
    "ASKBUS_OUTBOUND_HOSTS": "127.0.0.1",
}


@dataclass(frozen=True)
class World:
    """The running stack with people in it."""

    stack: Stack
    model: ScriptedModel
    db: Pool
    company: Company
    agent: Agent
    records_url: str

    def crash_file(self, name: str) -> Path:
        """Where a service looks for the point at which it is to die, once."""
        return self.stack.options.data / f"{name}.crash"

    def service(self, name: str) -> ServiceProcess:
        return self.stack.services[name]

    def browser(self, person: Person) -> Patient:
        port = urlsplit(self.stack.http_url).port
        return Patient(self.stack.http_url, cookies={f"askbus_session_{port}": person.cookie})

    def robot(self) -> Patient:
        return Patient(self.stack.http_url, token=self.agent.token)

    async def record(self, query: str, *args: object) -> object:
        """The first cell of a query on the team's records."""
        connection = await asyncpg.connect(self.records_url)
        try:
            return await connection.fetchval(query, *args)
        finally:
            await connection.close()


@pytest.fixture(scope="package")
def forks() -> Iterator[ForkServer]:
    """Where this folder's services come from: a process that has imported them, since they start hundreds of times."""
    with ForkServer() as forks:
        yield forks


@pytest.fixture(scope="package")
def options(forks: ForkServer) -> Callable[[Path, str], Options]:
    """How a stack for fault tests is started, given its folder and the model's address."""

    def make(folder: Path, model_url: str) -> Options:
        services = tuple(
            ServiceSpec(service, env={"ASKBUS_CRASH_FILE": str(folder / f"{service.value}.crash")}) for service in Service
        )
        painter = {"default": {"base_url": model_url, "model": "scripted", "image_model": "gpt-image-1"}}
        env = {**CLOCKS, "ASKBUS_MODEL_BASE_URL": model_url, "ASKBUS_MODELS": json.dumps(painter)}
        return Options(data=folder, durable=False, services=services, env=env, start=forks.start)

    return make


@pytest.fixture(scope="package")
async def world(tmp_path_factory: pytest.TempPathFactory, options: Callable[[Path, str], Options]) -> AsyncIterator[World]:
    """One stack for every test of this folder that leaves it whole."""
    folder = tmp_path_factory.mktemp("stack")
    async with (
        ScriptedModel(SCRIPT) as model,
        Stack(options(folder, model.base_url)) as stack,
        open_pool(stack.database_url, size=4, name="faults") as db,
    ):
        company = await found_company(db)
        agent = await give_token(db, company["admin"])
        yield World(stack, model, db, company, agent, stack.postgres.database_url("records"))


@pytest.fixture
async def two_loops(tmp_path: Path, options: Callable[[Path, str], Options]) -> AsyncIterator[World]:
    """A stack of its own with two agent-loops and two tool-runners."""
    async with two_of_each(tmp_path, options, {}) as world:
        yield world


@pytest.fixture
async def loaded(tmp_path: Path, options: Callable[[Path, str], Options]) -> AsyncIterator[World]:
    """The same with sweeps as they are in production: here work queues for longer than the short clocks take for lost."""
    async with two_of_each(tmp_path, options, {"ASKBUS_SWEEP_EVERY": "3", "ASKBUS_STUCK_AFTER": "5"}) as world:
        yield world


@asynccontextmanager
async def two_of_each(folder: Path, options: Callable[[Path, str], Options], clocks: dict[str, str]) -> AsyncIterator[World]:
    """Two agent-loops, tool-runners and gateways, each in a process of its own."""
    async with ScriptedModel(SCRIPT) as model:
        made = options(folder, model.base_url)
        second = (ServiceSpec(Service.AGENT_LOOP, 2), ServiceSpec(Service.TOOL_RUNNER, 2), ServiceSpec(Service.GATEWAY, 2))
        of_two = replace(made, services=(*made.services, *second), env={**made.env, **clocks})
        async with Stack(of_two) as stack, open_pool(stack.database_url, size=4, name="faults") as db:
            company = await found_company(db)
            agent = await give_token(db, company["admin"])
            yield World(stack, model, db, company, agent, stack.postgres.database_url("records"))
