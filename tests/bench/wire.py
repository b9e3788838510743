"""A client that costs little: raw HTTP/1.1 on one connection, noting when certain bytes of a response arrive."""

import asyncio
import json
from time import monotonic
from typing import cast

END = b"\r\n0\r\n\r\n"
"""The end of a chunked response (RFC 9112, section 7.1)."""

DELTA = b"event: delta"


def request_of(method: str, path: str, headers: dict[str, str], body: object = None) -> bytes:
    """A whole request; `body` is sent as JSON."""
    data = b"" if body is None else json.dumps(body).encode()
    fields = {"host": "127.0.0.1", "content-length": str(len(data)), "content-type": "application/json", **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + data


class Wire(asyncio.Protocol):
    """One connection, one request at a time. `received` is what came of the current response."""

    def __init__(self) -> None:
        self.received = bytearray()
        self._awaited: dict[bytes, asyncio.Future[float]] = {}
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)  # uvloop's are not asyncio's by class

    def data_received(self, data: bytes) -> None:
        now = monotonic()
        self.received += data
        for mark in [mark for mark in self._awaited if mark in self.received]:
            self._awaited.pop(mark).set_result(now)

    def connection_lost(self, exc: Exception | None) -> None:
        for future in self._awaited.values():
            future.set_exception(ConnectionError(f"the connection ended after: {bytes(self.received[-500:])!r}"))
            future.exception()  # seen: whoever waits is told, and where nobody does it is not worth a warning
        self._awaited.clear()

    def send(self, request: bytes) -> float:
        """Sends a request; what came before is forgotten. The moment of sending."""
        assert self._transport is not None
        self.received.clear()
        self._transport.write(request)
        return monotonic()

    def when(self, mark: bytes) -> asyncio.Future[float]:
        """The moment at which the mark arrives in the current response; ask right after sending. Raises ConnectionError."""
        return self._awaited.setdefault(mark, asyncio.get_running_loop().create_future())

    def close(self) -> None:
        assert self._transport is not None
        self._transport.close()


async def connect(port: int) -> Wire:
    """A connection to a server on this machine."""
    _transport, wire = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", port)
    return wire
