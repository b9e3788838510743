"""The HTTP door of a process."""

import socket
from typing import Any

import httpx2

from askbus.runtime.health import Door, Receive, Scope, Send


async def test_an_answer_is_never_held_back_for_the_clients_acknowledgement() -> None:
    """A door's connections send at once, on any event loop: head and body are two writes, and the second would wait 40 ms."""
    at_once: list[int] = []

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        transport: Any = scope["askbus.abort"].__self__
        at_once.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    door = Door("127.0.0.1", 0, drain=1)
    door.serve(app)
    async with door.open(), httpx2.AsyncClient(base_url=f"http://127.0.0.1:{door.port}") as client:
        assert (await client.get("/anything")).status_code == 204
    assert at_once == [1]
