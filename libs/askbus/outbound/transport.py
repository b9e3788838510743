"""The policy for libraries that bring a client of their own."""

import httpx2

from askbus.errors import InvalidInput
from askbus.outbound.client import Outbound


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Sends an httpx2 client's requests through `outbound`; an answer past `most` bytes, or none in `seconds`, is a ConnectError."""

    def __init__(self, outbound: Outbound, *, seconds: float, most: int) -> None:
        self._outbound = outbound
        self._seconds = seconds
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name not in {"host", "content-length", "connection"}}
        url, body = str(request.url), await request.aread()
        try:
            answer = await self._outbound.fetch(
                request.method, url, seconds=self._seconds, most=self._most, body=body, headers=headers
            )
        except InvalidInput:
            raise httpx2.ConnectError("address_refused", request=request) from None
        if answer.status is None:
            raise httpx2.ConnectError(answer.error or "connection", request=request)
        return httpx2.Response(answer.status, headers={"content-type": answer.content_type}, content=answer.body, request=request)
