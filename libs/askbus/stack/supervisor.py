"""Everything of askbus on one machine: Postgres, NATS, migrations, streams and the services, each a process, none outliving it.

`askbus up`, the demo, the bench and the tests all run this one.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import nats.errors
import structlog

from askbus.bus.accounts import accounts_block
from askbus.bus.envelope import Service
from askbus.bus.provision import Drift, provision
from askbus.db.migrate import migrate
from askbus.runtime.secrets import callout_seed, sealing_key_text, service_database_url, service_nats_url
from askbus.runtime.settings import Settings
from askbus.stack import records
from askbus.stack.data import SPANS, DataDirectory
from askbus.stack.nats import Nats
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.ports import free_port
from askbus.stack.postgres import Postgres
from askbus.stack.process import StackError
from askbus.stack.service import ServiceProcess

HELD_BACK = frozenset(
    f"ASKBUS_{name}"
    for name in (
        "SECRET", "SEALING_KEYS", "DATABASE_URL", "NATS_URL", "RECORDS_URL", "CALLOUT_SEED", "MODEL_API_KEY", "MODELS",
        "HTTP_PORT", "HEALTH_HOST", "HEALTH_PORT",
    )
)  # fmt: skip
"""Settings that no service inherits: credentials go to those that need them, ports are each process's own."""

log = structlog.get_logger()

NATS_PATIENCE = 30
"""Seconds in which NATS has to be ready for its streams: the embedded one is up by then, another's may just be starting."""

ASKS_MODELS = (Service.AGENT_LOOP, Service.TOOL_RUNNER)
"""The tool-runner makes pictures."""
READS_RECORDS = (Service.TOOL_RUNNER, Service.ACTION_APPLIER)


class Stack:
    """`async with Stack(options) as stack:` everything is ready inside, and nothing runs afterwards.

    Enter it in the main thread: its processes die with the thread that started them. Raises StackError when something does
    not come up. `phase` says in a word what it is doing.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.phase = "not started"
        self.services: dict[str, ServiceProcess] = {}
        self.records_url = options.records_url
        self._data: DataDirectory | None = None
        self._postgres: Postgres | None = None
        self._nats: Nats | None = None
        self._guards: list[asyncio.Task[None]] = []

    @property
    def data(self) -> DataDirectory:
        if self._data is None:
            raise StackError("The stack was not started.")
        return self._data

    @property
    def postgres(self) -> Postgres:
        """The embedded Postgres. Raises StackError where `database_url` named another."""
        if self._postgres is None:
            raise StackError("Postgres is not embedded here.")
        return self._postgres

    @property
    def nats(self) -> Nats:
        """The embedded NATS. Raises StackError where `nats_url` named another."""
        if self._nats is None:
            raise StackError("NATS is not embedded here.")
        return self._nats

    @property
    def servers(self) -> dict[str, Postgres | Nats]:
        """The embedded servers by name, in the order in which they are stopped."""
        return {name: server for name, server in (("nats", self._nats), ("postgres", self._postgres)) if server is not None}

    @property
    def secret(self) -> str:
        return self.data.secret(self.options.secret)

    @property
    def database_url(self) -> str:
        """The administrator's DSN of askbus's own database."""
        return self.options.database_url or self.postgres.database_url("askbus")

    @property
    def nats_url(self) -> str:
        """The address of NATS, without credentials of ours; `askbus.runtime.secrets.service_nats_url` adds a user's."""
        return self.options.nats_url or self.nats.url

    @property
    def http_url(self) -> str:
        """Where people and clients go: the gateway."""
        gateway = self.services.get(Service.GATEWAY.value)
        if gateway is None:
            raise StackError("This stack runs no gateway.")
        return self._base_environment().get("ASKBUS_PUBLIC_URL", gateway.url)

    @property
    def trace_file(self) -> Path:
        """Where the services keep their spans; `askbus trace` reads it."""
        return self.data.path / SPANS

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start everything and wait until each service is ready; whoever calls this also calls `stop`."""
        self._data = DataDirectory(self.options.data)
        self.phase = "starting Postgres and NATS"
        await self._start_servers()
        if self.options.records_url is not None:
            await records.prepare(self.options.records_url)
        self.phase = "migrating"
        await migrate(self.database_url, self.secret)
        self.phase = "provisioning streams"
        await self._provision()
        self.phase = "starting services"
        for spec in self.options.services:
            self.services[spec.name] = self._prepare(spec)
        for service in self.services.values():
            service.start()
        await self.wait_ready()
        self.phase = "ready"

    async def wait_ready(self, timeout: float = 60) -> None:
        """Wait until every service is ready. Raises StackError."""
        await asyncio.gather(*(service.wait_ready(timeout) for service in self.services.values()))

    async def stop(self) -> None:
        """End everything in order: the gateway closes its doors, the others drain, then NATS and Postgres."""
        self.phase = "stopping"
        for guard in self._guards:
            guard.cancel()
        doors = [service for service in self.services.values() if service.spec.service is Service.GATEWAY]
        others = [service for service in self.services.values() if service not in doors]
        for group in (doors, others):
            await asyncio.gather(*(service.stop() for service in group))
        for server in self.servers.values():
            await server.stop()
        if self._data is not None:
            self._data.close()
        self.phase = "stopped"

    def guard_servers(self) -> None:
        """From now on start Postgres and NATS again when they end by themselves. Not for tests, which do it when they mean it."""
        self._guards = [asyncio.create_task(self._guard(name), name=f"guard {name}") for name in self.servers]

    async def _guard(self, name: str) -> None:
        """For as long as it takes, whatever is in the way. A NATS that lost its disk gets its streams again: what no message tells any
        more, the owners' sweeps find."""
        server = self.servers[name]
        while True:
            await server.child.wait()
            await asyncio.sleep(1)
            try:
                await server.start()
                if server is self._nats:
                    await self._provision()
            except (StackError, OSError) as error:
                log.error("server.not_started", server=name, reason=str(error))  # noqa: TRY400  # the reason is the whole of it

    async def _start_servers(self) -> None:
        data, options = self.data, self.options
        starts = []
        if options.database_url is None:
            port = data.ports.choose("postgres", options.postgres_port)
            self._postgres = Postgres(data.path / "postgres", port=port, log=data.log("postgres"), durable=options.durable)
            starts.append(self._start_postgres(self._postgres))
        if options.nats_url is None:
            port = data.ports.choose("nats", options.nats_port)
            accounts = accounts_block(self.secret)
            self._nats = Nats(data.path / "nats", port=port, log=data.log("nats"), accounts=accounts)
            starts.append(self._nats.start())
        results = await asyncio.gather(*starts, return_exceptions=True)
        for result in results:
            if result is not None:
                raise result

    async def _start_postgres(self, postgres: Postgres) -> None:
        await postgres.start()
        await postgres.ensure_database("askbus")
        if self.records_url is None:
            self.records_url = await records.ensure(postgres, self.secret)

    async def _provision(self) -> None:
        """On our own NATS a new release may change what the last one made; on another's that is the operator's decision."""
        url = service_nats_url(self.nats_url, "admin", self.secret)
        try:
            async with asyncio.timeout(NATS_PATIENCE):
                await provision(url, ack_wait=self._seconds("ack_wait"), update=self.options.nats_url is None)
        except Drift as drift:
            raise StackError(str(drift)) from drift
        except (TimeoutError, ValueError, nats.errors.Error) as error:
            reason = str(error) or f"no answer in {NATS_PATIENCE} s"
            raise StackError(
                f"NATS cannot be used: {reason}. Check ASKBUS_NATS_URL (nats://host:4222), and that the server runs with JetStream"
                f" and the accounts of `askbus deploy nats-conf`; {self.data.log('supervisor')} says more."
            ) from error

    def _prepare(self, spec: ServiceSpec) -> ServiceProcess:
        if spec.service is Service.GATEWAY and spec.instance == 1:
            port = self.data.ports.choose("http", self.options.http_port, self.options.preferred_http_port)
        else:
            port = free_port({service.port for service in self.services.values()})
        env = self._environment(spec, port)
        patience = self._seconds("drain") + 2
        return ServiceProcess(spec, env=env, port=port, log=self.data.log(spec.name), patience=patience, start=self.options.start)

    def _base_environment(self) -> dict[str, str]:
        return {**os.environ, **self.options.env}

    def _seconds(self, setting: str) -> float:
        """A duration as the services are told it, or its default."""
        told = self._base_environment().get(f"ASKBUS_{setting.upper()}")
        return float(told or Settings.model_fields[setting].default)

    def _environment(self, spec: ServiceSpec, port: int) -> Mapping[str, str]:
        """What this one process may know: its own credentials, and the settings that are no secret."""
        base = self._base_environment()
        service, secret = spec.service, self.secret
        env = {name: value for name, value in base.items() if name not in HELD_BACK}
        env.setdefault("ASKBUS_TRACE_FILE", str(self.trace_file))
        env["ASKBUS_DATABASE_URL"] = service_database_url(self.database_url, service, secret)
        env["ASKBUS_NATS_URL"] = service_nats_url(self.nats_url, service.value, secret)
        if service is Service.GATEWAY:
            env["ASKBUS_HTTP_PORT"] = str(port)
            env.setdefault("ASKBUS_PUBLIC_URL", f"http://127.0.0.1:{port}")
            env["ASKBUS_CALLOUT_SEED"] = callout_seed(secret)
        else:
            env["ASKBUS_HEALTH_PORT"] = str(port)
        if service is Service.QUESTION_BROKER:
            env["ASKBUS_SEALING_KEYS"] = base.get("ASKBUS_SEALING_KEYS") or sealing_key_text(secret)
        if service is Service.AGENT_LOOP and "ASKBUS_MODEL_API_KEY" in base:
            env["ASKBUS_MODEL_API_KEY"] = base["ASKBUS_MODEL_API_KEY"]
        if service in ASKS_MODELS and "ASKBUS_MODELS" in base:
            env["ASKBUS_MODELS"] = base["ASKBUS_MODELS"]
        if service in READS_RECORDS and self.records_url is not None:
            env["ASKBUS_RECORDS_URL"] = self.records_url
        return env
