"""What is measured: a durable stack of all six services, the scripted model, and the floors beside them."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
from tests.bench.events import FLOOR_TABLE
from tests.bench.meter import Meter
from tests.bench.program import Program, program
from tests.bench.script import SCRIPT
from tests.bench.wire import request_of

from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.supervisor import Stack
from askbus.testing.model_process import ScriptedModel
from askbus.testing.patient import Patient
from askbus.testing.people import Company, Person, found_company

SERVICES = tuple(service.value for service in Service)
STORES = ("postgres", "nats")
COUNTED = SERVICES + STORES
"""What a turn costs is what these spend; the client and the model are shown beside it."""

TOOL_RUNNER = ServiceSpec(Service.TOOL_RUNNER, argv=(*ServiceSpec(Service.TOOL_RUNNER).command[:2], "tests.bench.tool_runner"))
SPECS = tuple(TOOL_RUNNER if service is Service.TOOL_RUNNER else ServiceSpec(service) for service in Service)


@dataclass(frozen=True)
class Stage:
    """Everything, running."""

    stack: Stack
    company: Company
    db: Pool
    floor_db: Pool
    sdk_loop: Program
    durable_peer: Program
    notify_floor: Program
    watchers: Program
    meter: Meter

    @property
    def port(self) -> int:
        return urlsplit(self.stack.http_url).port or 80

    @property
    def session(self) -> str:
        """The name of the session's cookie."""
        return f"askbus_session_{self.port}"

    def headers(self, person: Person) -> dict[str, str]:
        return {"cookie": f"{self.session}={person.cookie}"}

    async def turns(self, text: str, count: int) -> list[bytes]:
        """Requests that say `text`, each in a thread of its own that is there already, and that accept the turn's stream."""
        mia = self.company["mia"]
        streamed = {**self.headers(mia), "accept": "text/event-stream"}
        async with Patient(self.stack.http_url, cookies={self.session: mia.cookie}) as browser:
            threads = [await browser.post("/v1/threads", {"project_id": str(self.company.north)}) for _ in range(count)]
        return [request_of("POST", f"/v1/threads/{thread['id']}/turns", streamed, {"text": text}) for thread in threads]

    def watching(self, person: Person) -> str:
        """The request of one event stream."""
        return request_of("GET", "/v1/events", self.headers(person)).decode()


@asynccontextmanager
async def stage(trace_ratio: float) -> AsyncIterator[Stage]:
    """Starts it all in a temporary folder, and leaves nothing running."""
    async with AsyncExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="askbus-bench-")))
        model = await opened.enter_async_context(ScriptedModel(SCRIPT))
        env = {"ASKBUS_MODEL_BASE_URL": model.base_url, "ASKBUS_TRACE_RATIO": str(trace_ratio)}
        env |= dict.fromkeys(("ASKBUS_LIMIT_CHAT", "ASKBUS_LIMIT_ASK", "ASKBUS_LIMIT_TOOLS"), "0")
        stack = await opened.enter_async_context(Stack(Options(data=folder, services=SPECS, env=env)))
        db = await opened.enter_async_context(open_pool(stack.database_url, size=4, name="bench"))
        await _make_floor(stack.postgres.url)
        floor_db = await opened.enter_async_context(open_pool(stack.postgres.url, size=2, name="bench floor"))
        sdk_loop = await opened.enter_async_context(program("tests.bench.sdk_loop", model.base_url))
        peer_url = await stack.postgres.ensure_database("peer")
        durable_peer = await opened.enter_async_context(program("tests.bench.durable_peer", model.base_url, peer_url))
        notify_floor = await opened.enter_async_context(program("tests.bench.notify_floor", stack.postgres.url))
        watchers = await opened.enter_async_context(program("tests.bench.watchers"))
        pids = {name: service.pid for name, service in stack.services.items()}
        pids |= {"postgres": stack.postgres.pid, "nats": stack.nats.pid, "model": model.pid}
        pids |= {"sdk-loop": sdk_loop.pid, "durable-peer": durable_peer.pid, "notify-floor": notify_floor.pid}
        company = await found_company(db)
        yield Stage(stack, company, db, floor_db, sdk_loop, durable_peer, notify_floor, watchers, Meter(pids))


async def _make_floor(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(FLOOR_TABLE)
    finally:
        await connection.close()
