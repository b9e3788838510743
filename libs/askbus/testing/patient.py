"""A client that a real front end would be: it sends a request again, with the same key, until the services are back."""

import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx2

AGAIN = frozenset({502, 503, 504})


class Patient:
    """HTTP for one person or agent. Each changing request carries an Idempotency-Key, so sending it again is safe."""

    def __init__(
        self, base_url: str, *, cookies: Mapping[str, str] | None = None, token: str | None = None, patience: float = 15
    ) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self.http = httpx2.AsyncClient(base_url=base_url, headers=headers, cookies=dict(cookies or {}), timeout=10)
        self.patience = patience

    async def __aenter__(self) -> "Patient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def get(self, path: str) -> Any:
        """The JSON of a GET that succeeded."""
        return await self._until_served("GET", path, None, {})

    async def post(self, path: str, body: Mapping[str, object] | None = None) -> Any:
        """The JSON of a POST that succeeded; None where there is none."""
        return await self._until_served("POST", path, body or {}, {"idempotency-key": str(uuid4())})

    async def delete(self, path: str) -> Any:
        """The JSON of a DELETE that succeeded; None where there is none."""
        return await self._until_served("DELETE", path, {}, {"idempotency-key": str(uuid4())})

    async def _until_served(self, method: str, path: str, body: Mapping[str, object] | None, headers: Mapping[str, str]) -> Any:
        async with asyncio.timeout(self.patience):
            while True:
                try:
                    response = await self.http.request(method, path, json=body, headers=dict(headers))
                except httpx2.TransportError:
                    await asyncio.sleep(0.05)
                    continue
                if response.status_code in AGAIN:
                    await asyncio.sleep(0.05)
                    continue
                if response.is_error:
                    raise AssertionError(f"{method} {path}: {response.status_code} {response.text}")
                return response.json() if response.content else None
