"""A stream as an HTTP response: its headers, sending it until its end or its age, and noticing that the client went away."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

from askbus.runtime.health import Receive, Send
from askbus_gateway.sse.outlet import Outlet

HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
RETRY = b"retry: 2000\n\n"
"""A client that lost its stream comes back after so many milliseconds."""


async def send_all(stream: Outlet, send: Send, *, heartbeat: float, age: float) -> None:
    """Sends what is written to the stream, a comment where nothing is for `heartbeat` seconds, and ends it after about `age` seconds.

    The age is jittered, so that clients do not all come back at once.
    """
    clock = asyncio.get_running_loop().time
    closes_at = clock() + age * random.uniform(0.9, 1.1)  # noqa: S311  # jitter, no secret
    while (data := await stream.next(min(heartbeat, max(closes_at - clock(), 0.01)))) is not None:
        await send({"type": "http.response.body", "body": data, "more_body": True})
        if clock() >= closes_at:
            stream.end()
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def end_when_gone(receive: Receive, stream: Outlet) -> None:
    """Ends the stream when its client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()


def abort_of(scope: dict[str, Any]) -> Callable[[], None]:
    """What cuts the connection off: a client that does not read would never see its end."""
    abort: Callable[[], None] = scope.get("askbus.abort", _nothing)
    return abort


def _nothing() -> None:
    """Without the gateway's own protocol (in tests of an endpoint alone) there is no connection to cut."""
