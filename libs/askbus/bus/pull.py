"""Pull requests to a JetStream consumer, one message each, that can be withdrawn without losing what was on its way.

nats-py's own `fetch` shares one inbox between requests: an answer that comes late is taken for the next one's, or lies unseen
until it is delivered a second time. Here each request has a reply subject of its own, and what nobody waits for is handed back.
"""

import asyncio
import json
from itertools import count

import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from askbus.bus.connection import Connection

GRACE = 1.0
"""Seconds that the server's own `expires` may be late before a request counts as lost."""

NO_RESPONDERS = "503"
EMPTY = frozenset({"404", "408"})


class ConsumerGone(Exception):
    """The consumer, its stream or JetStream is not there (now)."""


class Pull:
    """The open pull requests of one process to one consumer."""

    def __init__(self, nc: Connection, stream: str, consumer: str) -> None:
        self._nc = nc
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = ""
        self._numbers = count(1)
        self._waiting: dict[str, asyncio.Future[Msg | None]] = {}
        self._subscription: Subscription | None = None

    async def open(self) -> None:
        self._inbox = self._nc.new_inbox()
        self._subscription = await self._nc.subscribe(f"{self._inbox}.*", cb=self._on_message)
        self._nc.reconnected.add(self._ask_again)

    async def one(self, expires: float) -> Msg | None:
        """The next message, or None when there was none for `expires` seconds, or the connection was lost meanwhile.

        Raises ConsumerGone, and nats.errors.Error where nothing can be sent.
        """
        number = str(next(self._numbers))
        answer: asyncio.Future[Msg | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            body = json.dumps({"batch": 1, "expires": int(expires * 1e9)}).encode()
            await self._nc.publish(self._next, body, reply=f"{self._inbox}.{number}")
            async with asyncio.timeout(expires + GRACE):
                message = await answer
        except TimeoutError:
            raise ConsumerGone("the server does not answer") from None
        finally:
            del self._waiting[number]
        status = _status(message)
        if message is None or status in EMPTY:
            return None
        if status is not None:
            raise ConsumerGone("not found" if status == NO_RESPONDERS else (message.headers or {}).get("Description", status))
        return message

    async def close(self) -> None:
        """Withdraws every request: `one` returns None, and what the server had sent by then is handed back."""
        self._nc.reconnected.discard(self._ask_again)
        subscription, self._subscription = self._subscription, None
        if subscription is not None and self._nc.is_connected:
            try:
                async with asyncio.timeout(GRACE):
                    await subscription.drain()  # type: ignore[no-untyped-call]
            except (TimeoutError, nats.errors.Error):
                pass  # Not handed back: it is delivered again after ack_wait.
        self._ask_again()

    async def _on_message(self, message: Msg) -> None:
        answer = self._waiting.get(message.subject.rpartition(".")[2])
        if answer is not None and not answer.done():
            answer.set_result(message)
        elif _status(message) is None:
            await message.nak()

    def _ask_again(self) -> None:
        """A new connection knows nothing of the requests that were open."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(None)


def _status(message: Msg | None) -> str | None:
    return message.headers.get("Status") if message is not None and message.headers else None
