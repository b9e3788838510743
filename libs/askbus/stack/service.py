"""One supervised service process: started, watched, started again when it dies."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from askbus.stack.options import ServiceSpec, Start
from askbus.stack.process import Child, StackError, start_child, tail

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds before a dead process is started again; doubled each time, up to the longest."""

LOOK = 0.2
"""Seconds between two looks whether a new process is ready; one that was ready starts the pauses over when it dies."""

HOPELESS = 4
"""A service that ended this often without once being ready will not come up by waiting."""


class State(StrEnum):
    """What the status view shows."""

    STARTING = "starting"
    READY = "ready"
    NOT_READY = "not ready"
    DOWN = "down"
    STOPPED = "stopped"


class ServiceProcess:
    """A service's process and its successors. `port` is where its /readyz is."""

    def __init__(
        self, spec: ServiceSpec, *, env: Mapping[str, str], port: int, log: Path, patience: float, start: Start = start_child
    ) -> None:
        self.spec = spec
        self.port = port
        self.log = log
        self.state = State.STOPPED
        self.restarts = 0
        self.exit_code: int | None = None
        self._env = env
        self._next_env: Mapping[str, str] = spec.first_env
        self._patience = patience
        self._start = start
        self._child: Child | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._at_once = False
        self._was_ready = False

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def url(self) -> str:
        """Where its HTTP is: health, and for the gateway everything."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def child(self) -> Child:
        if self._child is None:
            raise StackError(f"{self.name} was not started.")
        return self._child

    @property
    def pid(self) -> int:
        """The current process, or the last one while it waits to be started again."""
        return self.child.pid

    def start(self) -> None:
        """Start the process and watch it."""
        self._spawn()
        self._watcher = asyncio.create_task(self._watch(), name=f"watch {self.name}")

    async def stop(self) -> None:
        """SIGTERM, so that it drains; SIGKILL after its patience. It is not started again."""
        if self._watcher is None:
            return
        self._watcher.cancel()
        self.thaw()
        await self.child.stop(signal.SIGTERM, self._patience)
        self.state = State.STOPPED

    async def kill(self) -> None:
        """SIGKILL, as a crash would; it is started again."""
        await self.child.kill()

    async def restart(self, once: Mapping[str, str] | None = None) -> None:
        """Drain it and start it again at once, with `once` added to the next process's environment only."""
        self._next_env = once or {}
        self._at_once = self.child.running
        self.thaw()
        await self.child.stop(signal.SIGTERM, self._patience)

    def freeze(self) -> None:
        """SIGSTOP: it lives and does nothing, as on a machine that hangs."""
        self.child.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self.child.send(signal.SIGCONT)

    async def wait_ready(self, timeout: float = 60) -> None:
        """Wait until /readyz says 200.

        Raises StackError with the end of its log after `timeout` seconds, or earlier when it keeps dying.
        """
        deadline = time.monotonic() + timeout
        while not await self.refresh():
            if self.restarts >= HOPELESS and not self._was_ready:
                raise StackError(
                    f"{self.name} ended {self.restarts} times while starting; {self.log} says:\n{tail(self.log, 12)}"
                )
            if time.monotonic() > deadline:
                raise StackError(f"{self.name} was not ready after {timeout:.0f} s; {self.log} says:\n{tail(self.log, 12)}")
            await asyncio.sleep(0.05)

    async def refresh(self) -> bool:
        """Ask /readyz, note the answer in `state`, and return whether it is ready."""
        if not self.child.running:
            return False
        ready = await says_ready(self.port)
        if ready:
            self._was_ready = True
            self.state = State.READY
        elif self.state is State.READY:
            self.state = State.NOT_READY
        return ready

    def _spawn(self) -> None:
        env = {**self._env, **self.spec.env, **self._next_env}
        self._next_env = {}
        self.state = State.STARTING
        self._child = self._start(self.spec.command, env=env, log=self.log, death_signal=signal.SIGKILL)

    async def _watch(self) -> None:
        pause = FIRST_PAUSE
        while True:
            became_ready = asyncio.create_task(self._until_ready())
            self.exit_code = await self.child.wait()
            came_up = became_ready.done()
            became_ready.cancel()
            self.state = State.DOWN
            if self._at_once:
                self._at_once = False
            else:
                self.restarts += 1
                pause = FIRST_PAUSE if came_up else pause
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            self._spawn()

    async def _until_ready(self) -> None:
        while not await self.refresh():  # noqa: ASYNC110  # another process's readiness has no event here
            await asyncio.sleep(LOOK)


async def says_ready(port: int) -> bool:
    """Whether http://127.0.0.1:<port>/readyz answers 200 within two seconds."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                return b" 200 " in await reader.readline()
            finally:
                writer.close()
    return False
