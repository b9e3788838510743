"""What the tests of this folder stand on: a deployment whose gateway may stop and start again, and people who answer."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit
from uuid import UUID

import httpx2

from askbus.bus.envelope import Service
from askbus.db.pool import Pool
from askbus.stack.ports import free_port
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Agent, Company
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until
from askbus_gateway.app import make_app as make_gateway

HELD = 0.4
"""Seconds for which the gateway holds a call: a wait of any length takes many."""


class Stage:
    """A gateway at one address, however often it is started."""

    def __init__(self, database: TestDatabase, nats_url: str, company: Company, pool: Pool) -> None:
        self.database, self.nats_url, self.company, self.pool = database, nats_url, company, pool
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._running = AsyncExitStack()
        self._gateway: Composed | None = None

    async def start(self) -> None:
        gateway = compose(
            self.database,
            self.nats_url,
            [(Service.GATEWAY, make_gateway)],
            http_port=self.port,
            public_url=self.url,
            mcp_hold=HELD,
            mcp_report=0.1,
        )
        self._gateway = await self._running.enter_async_context(gateway)

    async def stop(self) -> None:
        await self._running.aclose()
        self._gateway = None

    @asynccontextmanager
    async def without_gateway(self) -> AsyncIterator[None]:
        """While it is stopped."""
        await self.stop()
        try:
            yield
        finally:
            await self.start()

    def browser(self, who: str) -> httpx2.AsyncClient:
        """A person's; a browser keeps the cookies of two ports of one machine apart by their names."""
        cookies = {f"askbus_session_{urlsplit(self.url).port}": self.company[who].cookie}
        return httpx2.AsyncClient(base_url=self.url, cookies=cookies, headers={"origin": self.url}, timeout=30)

    async def asked(self, text: str) -> UUID:
        """The question of this text, once it is asked."""
        found: list[UUID] = []

        async def there() -> bool:
            found[:] = [row["id"] for row in await self.pool.fetch("SELECT id FROM questions WHERE text = $1", text)]
            return bool(found)

        await until(there)
        [question_id] = found
        return question_id

    async def answer(self, text: str, answer: str, *, who: str = "max") -> UUID:
        """As a person does it, in the browser, once it is asked."""
        question_id = await self.asked(text)
        async with self.browser(who) as browser:
            response = await browser.post(f"/v1/questions/{question_id}/answer", json={"answer": answer})
        assert response.status_code == 200, response.text
        return question_id

    async def calls(self, agent: Agent, tool: str, least: int) -> None:
        """Returns once the agent's token has called a tool so many times."""

        async def enough() -> bool:
            sql = "SELECT count(*) >= $3 FROM audit_log WHERE via_id = $1 AND event = 'mcp.tool_called' AND entity = $2"
            return bool(await self.pool.fetchval(sql, agent.id, tool, least))

        await until(enough)
