"""The scripted model in a process of its own, for a test or a demo to hold."""

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2
from pydantic import JsonValue, TypeAdapter

from askbus.testing.scripted_model import SeenRequest, State

_SEEN = TypeAdapter(list[SeenRequest])
_STOP = 5.0


class ScriptedModel:
    """`async with ScriptedModel(entries) as model:` runs one; `model.base_url` is its address for the adapter.

    `script` is a file or the entries themselves. The process ends with the context, and also when this process dies.
    """

    base_url: str

    def __init__(self, script: Path | Sequence[JsonValue], *, api_key: str | None = None) -> None:
        self._script = script
        self._api_key = api_key

    async def __aenter__(self) -> Self:
        with tempfile.TemporaryDirectory() as folder:
            path = self._script if isinstance(self._script, Path) else Path(folder) / "script.json"
            if not isinstance(self._script, Path):
                path.write_text(json.dumps(self._script))
            key = ["--api-key", self._api_key] if self._api_key is not None else []
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "askbus.testing.scripted_model", "--until-stdin-closes", "--script", str(path), *key),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,  # a terminal's Ctrl-C is for whoever holds it
            )
            assert self._process.stdout is not None
            self.base_url = (await self._process.stdout.readline()).decode().strip()
        if not self.base_url:
            raise RuntimeError("the scripted model did not start; its error output says why")
        # No connection is kept: a fixture may open this in one event loop and tests use it in others.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._control = httpx2.AsyncClient(base_url=self.base_url.removesuffix("/v1"), timeout=90, limits=limits)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._control.aclose()
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(_STOP):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def requests(self) -> list[SeenRequest]:
        """The requests it saw, oldest first."""
        response = await self._control.get("/control/requests")
        return _SEEN.validate_json(response.content)

    async def until(self, state: State, count: int = 1, *, timeout: float = 60) -> list[SeenRequest]:
        """Wait until so many requests have been in `state`. Raises TimeoutError with the states seen instead."""
        query = {"state": state, "count": str(count), "timeout": str(timeout)}
        response = await self._control.get("/control/until", params=query)
        seen = _SEEN.validate_json(response.content)
        if response.status_code != 200:
            raise TimeoutError(f"wanted {count} {state}, saw {[request.states for request in seen]}")
        return seen

    async def release(self, name: str) -> None:
        """Open the hold `name`: every request that waits there goes on, now and from now on."""
        (await self._control.post("/control/release", json={"name": name})).raise_for_status()
