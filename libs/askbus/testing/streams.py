"""Reading an SSE response in a test, event by event."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2


@dataclass(frozen=True)
class Event:
    """One event of a stream, its data decoded."""

    name: str
    id: str | None
    data: Any


async def events(response: httpx2.Response) -> AsyncIterator[Event]:
    """The events as they come, until the stream ends. Comments and `retry` are passed over."""
    name, event_id, data = "message", None, ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("id: "):
            event_id = line[4:]
        elif line.startswith("data: "):
            data = line[6:]
        elif not line and data:
            yield Event(name, event_id, json.loads(data))
            name, event_id, data = "message", None, ""
