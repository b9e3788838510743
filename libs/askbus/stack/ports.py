"""Ports of the embedded stack: the ones asked for, or free ones that stay the same from one start to the next."""

import json
import random
import socket
from collections.abc import Container
from pathlib import Path

from askbus.stack.process import StackError

LOWEST, HIGHEST = 20_000, 32_000
"""Below the range that Linux takes for outgoing connections, so that a restart finds its port still free."""


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of 127.0.0.1 now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(taken: Container[int] = ()) -> int:
    """A port that nobody listens on now and that is not in `taken`."""
    for _ in range(1000):
        port = random.randint(LOWEST, HIGHEST)  # noqa: S311  # no secret
        if port not in taken and is_free(port):
            return port
    raise StackError(f"No free port between {LOWEST} and {HIGHEST} on 127.0.0.1.")


class Ports:
    """The ports of one data directory, remembered in its file `ports.json`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ports: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}

    def last(self, name: str) -> int | None:
        """The port that this server had last, if it ever had one."""
        return self._ports.get(name)

    def choose(self, name: str, asked: int | None, preferred: int | None = None) -> int:
        """The port of the server `name`: the one asked for, else last time's, else `preferred`, else a free one.

        An `asked` of 0 or None leaves the choice to us. Raises StackError when the port asked for is taken.
        """
        if asked:
            if not is_free(asked):
                raise StackError(f"Port {asked} for {name} is taken by another program: choose another, or 0 for any free one.")
            port = asked
        else:
            others = {port for other, port in self._ports.items() if other != name}
            candidates = [candidate for candidate in (self._ports.get(name), preferred) if candidate and candidate not in others]
            port = next((candidate for candidate in candidates if is_free(candidate)), None) or free_port(others)
        self._ports[name] = port
        self._file.write_text(json.dumps(self._ports, indent=2) + "\n")
        return port
