"""One person's browser: JSON requests with a session cookie, and streams that are followed and resumed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import urlsplit

import httpx2
from pydantic import BaseModel, JsonValue

from askbus.access.reads import Me
from askbus.demo.transcript import NotSo
from askbus.testing.streams import Event, events

M = TypeVar("M", bound=BaseModel)

WITHIN = 60.0
"""Seconds that anything in the demo may take."""


class Browser:
    """`name` is for the transcript. `trace_id` is the trace of what was last posted, as the gateway told it."""

    def __init__(self, url: str, name: str, *, token: str | None = None) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.name = name
        self.trace_id = ""
        self._http = httpx2.AsyncClient(base_url=url, headers=headers, timeout=WITHIN)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._http.aclose()

    async def sign_in(self, link: str) -> Me:
        """Opens a one-time link: the code stands in its fragment, and the console sends it on."""
        return await self.post("/v1/session", Me, code=code_of(link))

    async def get(self, path: str, into: type[M]) -> M:
        return await self._send("GET", path, into, None)

    async def post(self, path: str, into: type[M], **body: JsonValue) -> M:
        return await self._send("POST", path, into, body)

    async def status(self, method: str, path: str, **body: JsonValue) -> int:
        """Only the HTTP status of the answer, for what is to be refused."""
        return (await self._http.request(method, path, json=body or None)).status_code

    async def _send(self, method: str, path: str, into: type[M], body: dict[str, JsonValue] | None) -> M:
        response = await self._http.request(method, path, json=body)
        if not response.is_success:
            raise NotSo(f"{method} {path} was refused with {response.status_code}: {response.text}")
        if method == "POST":
            self.trace_id = response.headers.get("askbus-trace-id", "")
        return into.model_validate_json(response.content)

    @asynccontextmanager
    async def follow(
        self, path: str, *, after: str | None = None, send: dict[str, JsonValue] | None = None
    ) -> "AsyncIterator[Following]":
        """The stream at `path`, from the event after `after`; with `send` a message is posted there and the stream is its answer."""
        headers = {"accept": "text/event-stream"} | ({} if after is None else {"last-event-id": after})
        method = "GET" if send is None else "POST"
        async with self._http.stream(method, path, headers=headers, json=send) as response:
            if response.status_code != 200:
                raise NotSo(f"{method} {path} gave no stream but {response.status_code}")
            yield Following(events(response))


class Following:
    """An open stream. `last_id` is what a browser would come back with."""

    def __init__(self, source: AsyncIterator[Event]) -> None:
        self.last_id: str | None = None
        self._source = source

    async def next(self) -> Event:
        """The next event. Raises NotSo where none comes in time."""
        try:
            async with asyncio.timeout(WITHIN):
                event = await anext(self._source)
        except TimeoutError:
            raise NotSo(f"nothing came on a stream for {WITHIN:.0f} s") from None
        except StopAsyncIteration:
            raise NotSo("a stream ended before what was expected of it came") from None
        self.last_id = event.id or self.last_id
        return event

    async def until(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """The events up to the first that is wanted, which is the last of them."""
        seen = [await self.next()]
        while not wanted(seen[-1]):
            seen.append(await self.next())
        return seen


def code_of(link: str) -> str:
    """What a sign-in link carries."""
    return urlsplit(link).fragment.removeprefix("login=")
