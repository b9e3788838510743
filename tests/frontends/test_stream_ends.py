"""A stream that ends before its turn ends in words: neither vocabulary has ids to come back with."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import compose
from askbus.testing.people import Company, found_company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.turns import RunningTurn, running_turn
from askbus_gateway.app import make_app as make_gateway

pytestmark = pytest.mark.requirement("C26", "C36")


class Watched:
    """An AG-UI run and a chat's resumed stream of the same running turn."""

    def __init__(self, client: httpx2.AsyncClient, company: Company, turn: RunningTurn, pool: Pool) -> None:
        self.client = client
        self.door = f"/v1/projects/{company.north}"
        self.company = company
        self.turn = turn
        self.pool = pool
        self.open = [asyncio.Event(), asyncio.Event()]

    async def to_the_end(self) -> list[list[Any]]:
        """What both were told."""
        thread = str(self.turn.thread_id)
        joins = self._lines(0, "POST", f"{self.door}/ag-ui", json={"threadId": thread, "runId": "r", "messages": []})
        resumes = self._lines(1, "GET", f"{self.door}/chat/{thread}/stream")
        return list(await asyncio.gather(joins, resumes))

    async def _lines(self, which: int, method: str, path: str, **more: Any) -> list[Any]:
        lines = []
        async with self.client.stream(method, path, **more) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    lines.append(line[6:])
                    self.open[which].set()
        return [json.loads(line) for line in lines if line != "[DONE]"]


@asynccontextmanager
async def watched(database: TestDatabase, nats: Server, **settings: object) -> AsyncIterator[Watched]:
    async with open_pool(database.url, size=2, name="tests") as pool:
        company = await found_company(pool)
        await provision(nats.url, ack_wait=1)
        turn = await running_turn(pool, company)
        async with (
            compose(database, nats.url, [(Service.GATEWAY, make_gateway)], **settings) as gateway,
            gateway.client(company["mia"]) as mia,
        ):
            yield Watched(mia, company, turn, pool)


async def test_who_may_not_see_it_any_more_is_told_so(database: TestDatabase, nats_server: Server) -> None:
    """The session ended while the turn was at work."""
    async with watched(database, nats_server) as stage:
        told = asyncio.create_task(stage.to_the_end())
        for opened in stage.open:
            await opened.wait()
        await stage.pool.execute("UPDATE sessions SET state = 'revoked' WHERE id = $1", stage.company["mia"].principal.id)
        run, chat = await told
    assert (run[-1]["type"], run[-1]["code"]) == ("RUN_ERROR", "access_ended")
    assert (chat[-1]["type"], chat[-2]["data"]["code"]) == ("error", "access_ended")


async def test_a_stream_that_is_too_old_ends_and_can_be_joined_again(database: TestDatabase, nats_server: Server) -> None:
    """The turn goes on; the client opens another stream."""
    async with watched(database, nats_server, stream_age=0.5) as stage:
        run, chat = await stage.to_the_end()
        assert (run[-1]["type"], run[-1]["code"]) == ("RUN_ERROR", "unavailable")
        assert (chat[-1]["type"], chat[-2]["data"]["code"]) == ("error", "unavailable")
        again, _ = await stage.to_the_end()
    assert [event["type"] for event in again[:2]] == ["RUN_STARTED", "MESSAGES_SNAPSHOT"]
