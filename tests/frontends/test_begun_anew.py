"""A step that another worker begins again, seen by real clients: what the first said is taken back, and nothing is there twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from tests.frontends.stage import player

from askbus.bus.connection import connect
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.bus.signals import Piece, publish_piece
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import compose
from askbus.testing.people import found_company
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.turns import RunningTurn, running_turn
from askbus_gateway.app import make_app as make_gateway

pytestmark = pytest.mark.requirement("C25", "C26")

PIECES = (
    ("1.1.1", '{"type":"step","step":1,"attempt":1}'),
    ("1.1.2", '{"type":"delta","step":1,"attempt":1,"text":"Wrong."}'),
    ("1.2.1", '{"type":"step","step":1,"attempt":2}'),
    ("1.1.3", '{"type":"delta","step":1,"attempt":1,"text":" And late."}'),
    ("1.2.2", '{"type":"delta","step":1,"attempt":2,"text":"Rig"}'),
    ("1.2.3", '{"type":"end","step":1,"attempt":2}'),
)


@dataclass(frozen=True)
class Scene:
    """A gateway, and a turn at whose first step two workers spoke, one after the other."""

    url: str
    headers: dict[str, str]
    turn: RunningTurn
    pool: Pool

    async def completed(self, called: asyncio.Event) -> None:
        """Once the client has heard the text so far, the turn is over; the stored answer is more than what was streamed."""
        await called.wait()
        await self.pool.execute(
            "INSERT INTO messages (id, thread_id, seq, turn_id, step, role, text) VALUES (uuidv7(), $1, 99, $2, 1, 'assistant', $3)",
            self.turn.thread_id,
            self.turn.id,
            "Right.",
        )
        await self.pool.execute(
            "UPDATE turns SET state = 'completed', settled_at = now(), step = 2, attempt = 2 WHERE id = $1", self.turn.id
        )


@pytest.fixture
async def scene(database: TestDatabase, nats_server: Server) -> AsyncIterator[Scene]:
    """The turn is at work, and its pieces are stored."""
    async with open_pool(database.url, size=2, name="tests") as pool:
        company = await found_company(pool)
        await provision(nats_server.url, ack_wait=1)
        turn = await running_turn(pool, company)
        bus = await connect(nats_server.url, "worker")
        for number, data in PIECES:
            await publish_piece(bus, turn.id, Piece(number, data.encode()))
        await bus.close()
        async with compose(database, nats_server.url, [(Service.GATEWAY, make_gateway)]) as gateway:
            headers = {"cookie": f"askbus_session={company['mia'].cookie}"}
            yield Scene(f"{gateway.http}/v1/projects/{company.north}", headers, turn, pool)


@asynccontextmanager
async def calls() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """An address, and the event that somebody fetched it."""
    called = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        called.set()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", called


@pytest.mark.parametrize("version", ["@ag-ui/client", "ag-ui-client-0.0.59"])
async def test_an_agui_client_shows_what_counts(scene: Scene, version: str) -> None:
    """The first worker's words leave with a snapshot; the stored answer ends what the second one said."""
    async with player("agui", version) as client, calls() as (url, called):
        opened = {"url": f"{scene.url}/ag-ui", "headers": scene.headers, "thread": str(scene.turn.thread_id)}
        await client("open", agent="a", **opened)
        run, _ = await asyncio.gather(client("run", agent="a", then={"url": url}), scene.completed(called))
    assert run["error"] is None
    assert [message["content"] for message in run["messages"]] == ["Right."]
    assert "And late." not in str(run["events"])
    assert [event["type"] for event in run["events"]].count("MESSAGES_SNAPSHOT") == 2


async def test_the_ai_sdk_shows_what_counts(scene: Scene) -> None:
    """The step is reset in the client, and the stored answer ends it."""
    async with player("aisdk") as client, calls() as (url, called):
        await client("open", chat="c", id=str(scene.turn.thread_id), url=f"{scene.url}/chat", headers=scene.headers)
        seen, _ = await asyncio.gather(client("resume", chat="c", then={"url": url}), scene.completed(called))
    assert seen["error"] is None
    [message] = seen["messages"]
    assert "".join(part["text"] for part in message["parts"] if part["type"] == "text") == "Right."
    assert "And late." not in str(seen["chunks"])
