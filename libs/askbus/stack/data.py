"""The data directory of a stack: its lock, its secret, its ports and its logs."""

import fcntl
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from askbus.stack.ports import Ports
from askbus.stack.process import StackError

SPANS = "spans.jsonl"
"""The services' spans, for `askbus trace`."""


class DataDirectory:
    """Held by one stack at a time: opening it a second time raises StackError. The kernel lets go of it when its holder dies."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = self._take_lock()
        except OSError as error:
            raise StackError(
                f"The data directory {self.path} cannot be used: {error.strerror}. Choose another with --data."
            ) from error
        self.ports = Ports(self.path / "ports.json")

    def _take_lock(self) -> TextIO:
        lock = (self.path / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise StackError(
                f"Another askbus runs on {self.path} (process {holder}). Stop it, or choose another directory with --data."
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        return lock

    def close(self) -> None:
        self._lock.close()

    def secret(self, given: str | None) -> str:
        """The deployment's secret: the one given, else the one kept here, made at the first start."""
        if given:
            return given
        file = self.path / "secret"
        if not file.exists():
            building = self.path / "secret.new"
            building.touch(mode=0o600)
            building.write_text(secrets.token_hex(32))
            building.rename(file)
        return file.read_text().strip()

    def log(self, name: str) -> Path:
        return self.path / "logs" / f"{name}.log"


@dataclass(frozen=True)
class Embedded:
    """What a data directory says about the stack that was started on it; None is what it does not know."""

    database_url: str | None = None
    nats_url: str | None = None
    secret: str | None = None
    public_url: str | None = None


def read_embedded(path: Path) -> Embedded:
    """The addresses and the secret of the stack on this data directory, without taking its lock."""
    ports = Ports(path / "ports.json")
    postgres, nats, http = (ports.last(name) for name in ("postgres", "nats", "http"))
    password = path / "postgres.password"
    secret = path / "secret"
    return Embedded(
        database_url=f"postgresql://postgres:{password.read_text()}@127.0.0.1:{postgres}/askbus"
        if postgres and password.exists()
        else None,
        nats_url=f"nats://127.0.0.1:{nats}" if nats else None,
        secret=secret.read_text().strip() if secret.exists() else None,
        public_url=f"http://127.0.0.1:{http}" if http else None,
    )
