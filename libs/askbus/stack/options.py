"""What a stack is started with: where its data is, which servers are not its own, which services it runs."""

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from askbus.bus.envelope import Service
from askbus.stack.process import Child, start_child


class Start(Protocol):
    """How the process of a service comes to life."""

    def __call__(self, argv: Sequence[str], *, log: Path, death_signal: signal.Signals, env: Mapping[str, str]) -> Child:
        """One that runs `argv` with just this environment, writes to `log` and gets the signal when its parent dies."""
        ...


@dataclass(frozen=True)
class ServiceSpec:
    """One process of a service. `argv` is its command line, by default the service's package.

    `env` is for every start of this process, `first_env` for its first start only: a crash point (ASKBUS_CRASH_AT) belongs there,
    or each new process would crash again.
    """

    service: Service
    instance: int = 1
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    first_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`agent-loop`, and `agent-loop-2` for the second."""
        return self.service.value if self.instance == 1 else f"{self.service.value}-{self.instance}"

    @property
    def command(self) -> tuple[str, ...]:
        return self.argv or (sys.executable, "-m", self.service.role)


SERVICES = tuple(ServiceSpec(service) for service in Service)
"""One process of each service."""


@dataclass(frozen=True)
class Options:
    """Ports of None or 0 are chosen and remembered in the data directory; URLs of None mean the embedded servers.

    `preferred_http_port` is taken at the first start if it is free. `database_url` is the administrator's. `env` holds settings
    for all services (ASKBUS_…); credentials in it reach only the services that need them. `durable=False` leaves out Postgres's
    fsync, for tests. `start` begins each service's process; tests have a faster one (askbus.testing.fork_server).
    """

    data: Path = Path(".askbus")
    http_port: int | None = None
    preferred_http_port: int | None = None
    postgres_port: int | None = None
    nats_port: int | None = None
    database_url: str | None = None
    nats_url: str | None = None
    records_url: str | None = None
    secret: str | None = None
    services: tuple[ServiceSpec, ...] = SERVICES
    env: Mapping[str, str] = field(default_factory=dict)
    durable: bool = True
    start: Start = start_child
