"""One child process that never outlives its parent: the ground of the embedded servers and of the supervised services."""

import asyncio
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import ClassVar, Protocol

SUPERUSER = os.name == "posix" and os.geteuid() == 0


class StackError(RuntimeError):
    """The embedded stack cannot start or go on; the message says what to do."""


class Process(Protocol):
    """What is below a Child; subprocess.Popen is one."""

    @property
    def pid(self) -> int: ...

    def wait(self) -> int:
        """Blocks; the exit code, negative for a signal."""
        ...

    def send_signal(self, sig: int) -> None:
        """Nothing happens when it has ended."""


class Child:
    """A process that runs, to wait for from any event loop and to signal. `start_child` makes one."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._ended: Future[int] = Future()
        self._ended.set_running_or_notify_cancel()
        Thread(target=self._reap, name=f"wait-{self.pid}", daemon=True).start()

    def _reap(self) -> None:
        self._ended.set_result(self._process.wait())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return not self._ended.done()

    async def wait(self) -> int:
        """The exit code, negative for a signal, once it has ended."""
        return await asyncio.shield(asyncio.wrap_future(self._ended))

    def send(self, sig: signal.Signals) -> None:
        """Send a signal; nothing happens when it has ended already."""
        if self.running:
            self._process.send_signal(sig)

    async def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        self.send(signal.SIGKILL)
        await self.wait()

    async def stop(self, sig: signal.Signals, patience: float) -> None:
        """Ask it to end with `sig`, and kill it after `patience` seconds."""
        self.send(sig)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait(), patience)
        await self.kill()


def start_child(
    argv: Sequence[str],
    *,
    log: Path,
    death_signal: signal.Signals,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: Path | None = None,
    unprivileged: bool = False,
) -> Child:
    """A process started now, in a session of its own so that the terminal's Ctrl-C reaches only its parent.

    On Linux the kernel sends it `death_signal` when the thread that started it ends, kill -9 included (prctl(2),
    PR_SET_PDEATHSIG): start children from the main thread.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output, (stdin or Path(os.devnull)).open("rb") as source:
        return Child(
            subprocess.Popen(  # noqa: S603  # the arguments are the stack's own
                [*wrapper(death_signal, unprivileged), *argv],
                stdin=source,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,
            )
        )


class Server(ABC):
    """An embedded server on 127.0.0.1: started, killed and started again on the same port with the same data in `directory`."""

    name: ClassVar[str]

    def __init__(self, directory: Path, *, port: int, log: Path) -> None:
        self.directory = directory.absolute()
        self.port = port
        self.log = log
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        if self._child is None:
            raise StackError(f"{self.name} was not started.")
        return self._child

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.running

    @abstractmethod
    async def start(self) -> None:
        """Returns once it serves. Raises StackError when it does not come up."""

    @abstractmethod
    async def stop(self) -> None:
        """An orderly end; nothing happens where it was not started."""

    async def kill(self) -> None:
        """SIGKILL, as a crash would."""
        await self.child.kill()

    async def restart(self) -> None:
        """Start again on the same port and data, after a `kill` or in place of a running server."""
        await self.stop()
        await self.start()


def nobody() -> tuple[int, int]:
    """The user and group id that Postgres runs as when we are root, which it refuses to be."""
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def wrapper(death_signal: signal.Signals, unprivileged: bool = False) -> list[str]:
    """What a command line is prefixed with, so that the kernel sends the signal when the parent dies."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:  # not Linux: children are stopped in order, but outlive a kill -9 of their parent
        if unprivileged and SUPERUSER:
            raise StackError(
                "Postgres refuses to run as root and `setpriv` (util-linux) is missing: install it or be another user."
            )
        return []
    command = [setpriv, "--pdeathsig", death_signal.name.removeprefix("SIG")]
    if unprivileged and SUPERUSER:
        uid, gid = nobody()
        command += ["--reuid", str(uid), "--regid", str(gid), "--clear-groups"]
    return [*command, "--"]


def tail(log: Path, lines: int = 5) -> str:
    """The last lines of a log file, for a message about a process that ended too early."""
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
