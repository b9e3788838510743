"""Services that start in milliseconds: forked from a process that has imported all six already.

Starting Python and importing a service costs a second of CPU, which tests that kill services pay for every death. Here

    with ForkServer() as forks:
        async with Stack(Options(..., start=forks.start)) as stack:

gives processes like those of production: each with its own pid, session, environment, log and settings, running what
`python -m askbus_expiry` runs, to be killed, frozen and started again by the supervisor. Only their parent differs: it is the fork
server, which tells how they ended, and whose death ends them. A session's fixture is enough (tests/faults/conftest.py).
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from askbus.bus.envelope import Service
from askbus.runtime import crash
from askbus.stack.process import Child, wrapper

WARM = (*(f"{service.role}.app" for service in Service), "openai", "anthropic")
"""What is imported before anything is forked; the providers' SDKs are what services import at their first model call."""


class ForkServer:
    """The process that others are forked from; it ends with the context, and everything that it forked.

    `warm` names the modules that it imports first; what it forks may run others too.
    """

    def __init__(self, warm: Sequence[str] = WARM) -> None:
        self._warm = warm

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        self._address = str(Path(self._folder.name) / "fork_server")
        self._process = subprocess.Popen(  # noqa: S603  # our own module
            [*wrapper(signal.SIGKILL), sys.executable, "-m", __name__, self._address, *self._warm],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError("the fork server did not start; its error output says why")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._folder.cleanup()

    def start(self, argv: Sequence[str], *, log: Path, death_signal: signal.Signals, env: Mapping[str, str]) -> Child:
        """As `askbus.stack.process.start_child`, for `argv` of the form `python -m module`. It ends by SIGKILL with the fork server."""
        _python, flag, module = argv
        assert (flag, death_signal) == ("-m", signal.SIGKILL)
        log.parent.mkdir(parents=True, exist_ok=True)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self._address)
        stream = connection.makefile("rw")
        connection.close()  # the stream holds it
        json.dump({"module": module, "log": str(log.absolute()), "env": dict(env)}, stream)
        stream.write("\n")
        stream.flush()
        return Child(Forked(int(stream.readline()), stream))


class Forked:
    """A process that the fork server started; `stream` tells how it ended."""

    def __init__(self, pid: int, stream: Any) -> None:
        self.pid = pid
        self._stream = stream

    def wait(self) -> int:
        """The exit code; that of SIGKILL where the fork server itself is gone."""
        with self._stream:
            return int(self._stream.readline() or -signal.SIGKILL)

    def send_signal(self, sig: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, sig)


def serve(address: str, warm: Sequence[str]) -> None:
    """Fork for whoever connects, until killed: one connection for each process, with one line in and two out, its pid and its end."""
    for module in warm:
        importlib.import_module(module)
    assert threading.active_count() == 1, "a fork takes only one thread along"
    gc.freeze()  # what all have in common stays shared
    wakes, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    children: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind(address)
        listener.listen(64)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(wakes, selectors.EVENT_READ)
        print("ready", flush=True)  # noqa: T201  # to the process that holds us
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if wakes in ready:
                os.read(wakes, 1024)
                _tell_ends(children)
            if listener in ready:
                connection, _ = listener.accept()
                with connection.makefile() as stream:
                    request = json.loads(stream.readline())
                server = os.getpid()
                pid = os.fork()
                if pid == 0:
                    _become(request, server)
                children[pid] = connection
                connection.sendall(f"{pid}\n".encode())


def _tell_ends(children: dict[int, socket.socket]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with children.pop(pid) as connection, contextlib.suppress(BrokenPipeError):
            connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _become(request: Mapping[str, Any], server: int) -> None:
    """What the child does: forget the fork server, be what `python -m module` is, and never return."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _die_with(server)
        output = os.open(request["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(request["env"])
        importlib.reload(crash)  # it reads its variables when imported
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = _exit_code(end)
    except BaseException:  # noqa: BLE001  # as the interpreter does: told, and exit code 1
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _die_with(server: int) -> None:
    """prctl(2), PR_SET_PDEATHSIG: SIGKILL when the fork server ends, also where it has ended before we could ask for that."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(1, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != server:
        os.kill(os.getpid(), signal.SIGKILL)


def _exit_code(end: SystemExit) -> int:
    """As the interpreter understands it: none is 0, a number itself, anything else a message and 1."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
