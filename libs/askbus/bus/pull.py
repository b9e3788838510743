"""One slot's pull requests to a JetStream consumer, one message each, which can be withdrawn without losing what was on its way.

nats-py's own `fetch` takes the late status of an old request for the answer to the new one, and leaves a late message unseen
until it is delivered a second time. Here a status counts only for its own request, and a message that nobody waits
for is handed back.
"""

import asyncio
import json

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
    """One slot: at most one request is waited for at a time."""

    def __init__(self, nc: Connection, stream: str, consumer: str) -> None:
        self._nc = nc
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = ""
        self._number = 0
        self._answer: asyncio.Future[Msg | None] | None = None
        self._subscription: Subscription | None = None

    async def open(self) -> None:
        self._inbox = self._nc.new_inbox()
        self._subscription = await self._nc.subscribe(f"{self._inbox}.*", cb=self._on_message)
        self._nc.reconnected.add(self._give_up)

    async def one(self, expires: float) -> Msg | None:
        """The next message, or None when there was none for `expires` seconds, or the connection was lost meanwhile.

        Raises ConsumerGone, and nats.errors.Error where nothing can be sent.
        """
        self._number += 1
        self._answer = asyncio.get_running_loop().create_future()
        try:
            body = json.dumps({"batch": 1, "expires": int(expires * 1e9)}).encode()
            await self._nc.publish(self._next, body, reply=f"{self._inbox}.{self._number}")
            async with asyncio.timeout(expires + GRACE):
                message = await self._answer
        except TimeoutError:
            raise ConsumerGone("the server does not answer") from None
        finally:
            self._answer = None
        status = _status(message)
        if message is None or status in EMPTY:
            return None
        if status is not None:
            raise ConsumerGone("not found" if status == NO_RESPONDERS else (message.headers or {}).get("Description", status))
        return message

    async def close(self) -> None:
        """Withdraws the request: `one` returns None, and what the server had sent by then is handed back."""
        self._nc.reconnected.discard(self._give_up)
        self._give_up()
        subscription, self._subscription = self._subscription, None
        if subscription is not None and self._nc.is_connected:
            try:
                async with asyncio.timeout(GRACE):
                    await subscription.drain()  # type: ignore[no-untyped-call]
            except (TimeoutError, nats.errors.Error):
                pass  # Not handed back: it is delivered again after ack_wait.

    async def _on_message(self, message: Msg) -> None:
        status = _status(message)
        if status is not None and message.subject != f"{self._inbox}.{self._number}":
            return
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(message)
        elif status is None:
            await message.nak()

    def _give_up(self) -> None:
        """A new connection knows nothing of the request that was open."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)


def _status(message: Msg | None) -> str | None:
    return message.headers.get("Status") if message is not None and message.headers else None
