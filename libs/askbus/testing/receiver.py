"""A webhook's receiver on the real wire: it keeps every request, and answers as it is told."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks.webhooks import Webhook as Checker

from askbus.testing.waiting import until

ENDLESS = -1
"""An answer without end: 200, and bytes for as long as somebody reads."""
SILENCE = 0
"""No answer at all."""


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: str

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def checked(self, secret: str) -> Any:
        """The body as a receiver's library reads it. Raises WebhookVerificationError where the secret did not sign it."""
        return Checker(secret).verify(self.body, dict(self.headers))


@dataclass
class Receiver:
    """`answer` is the status for each request: one for all, or what a function says of it. `url` is where it listens."""

    port: int = 0
    answer: int | Callable[[Received], int] = 200
    extra: Mapping[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hooks"

    async def count(self, number: int) -> list[Received]:
        """All that arrived, once it is so many."""

        async def there() -> bool:
            return len(self.received) >= number

        await until(there)
        return self.received

    async def on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                await self._serve(reader, writer)
            finally:
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = (await reader.readexactly(int(headers["content-length"]))).decode()
        request = Received(head[0].split(" ")[1], headers, body)
        self.received.append(request)
        status = self.answer(request) if callable(self.answer) else self.answer
        if status == SILENCE:
            await reader.read()
        elif status == ENDLESS:
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            while True:
                writer.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")
                await writer.drain()
        else:
            extra = "".join(f"{name}: {value}\r\n" for name, value in self.extra.items())
            writer.write(f"HTTP/1.1 {status} So\r\n{extra}content-length: 0\r\n\r\n".encode())
            await writer.drain()


@asynccontextmanager
async def receiving(
    answer: int | Callable[[Received], int] = 200, *, tls: ssl.SSLContext | None = None, extra: Mapping[str, str] | None = None
) -> AsyncIterator[Receiver]:
    """Listens on loopback until the context ends; `extra` are headers of its answers."""
    receiver = Receiver(answer=answer, extra=extra or {}, scheme="http" if tls is None else "https")
    server = await asyncio.start_server(receiver.on_connection, "127.0.0.1", 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
