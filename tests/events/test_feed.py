"""The change log under the streams: what it carries, who named it, and what NOTIFY is not trusted with."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest

from askbus.db.pool import Pool
from askbus.feed.model import Change, Snapshot
from askbus.feed.reader import changes_after
from askbus.feed.tail import Tail
from askbus.questions import verbs
from askbus.testing.people import Company
from askbus.testing.questions import answer_command, ask_command, open_question
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until
from askbus_gateway.sse.rules import MACHINE_ONLY, RULES

CASES = Path(__file__).parents[1] / "cases" / "sse"


def case(name: str) -> Any:
    return json.loads((CASES / f"{name}.json").read_text("utf-8"))


async def position(pool: Pool) -> str:
    return str(await pool.fetchval("SELECT pg_current_snapshot()::text"))


async def read(pool: Pool, after: str, **how: Any) -> tuple[str, list[Change]]:
    """Everything after the position, and the position that this reaches."""
    found: list[Change] = []
    reached = after
    async for cursor, changes in changes_after(pool, after, **how):
        found += changes
        reached = cursor
    return reached, found


def parts(source: str, start: str) -> list[str]:
    """What stands between the commas of the list that begins there."""
    found, depth = [""], 0
    for sign in source[source.index(start) + len(start) :]:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [part.strip() for part in found]


@pytest.mark.requirement("S11", "S1")
async def test_every_entity_that_a_trigger_names_has_one_rule_or_is_for_machines(pool: Pool) -> None:
    """Read from the database's own catalogue: a new trigger without a rule fails here before it reaches nobody."""
    rows = await pool.fetch(
        "SELECT c.relname, t.tgargs, p.prosrc"
        "  FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid"
        " WHERE NOT t.tgisinternal AND p.prosrc LIKE '%change_log%'"
    )
    named: dict[str, set[str]] = {}
    for row in rows:
        said = "VALUES (" if "VALUES (" in row["prosrc"] else "SELECT "
        columns, values = (parts(row["prosrc"], start) for start in ("INSERT INTO change_log (", said))
        entity = values[columns.index("entity")]
        if entity == "TG_ARGV[0]":
            entity = row["tgargs"].split(b"\0")[0].decode()
        named.setdefault(entity.strip("'"), set()).add(row["relname"])
    assert {"question", "action", "turn", "thread", "membership", "session", "token"} <= named.keys()
    assert named.keys() == RULES.keys() | MACHINE_ONLY


@pytest.mark.requirement("S11")
async def test_a_sign_in_is_no_change(pool: Pool, company: Company) -> None:
    """A session that begins is on no feed; the company signed in seven times."""
    assert await pool.fetchval("SELECT count(*) FROM sessions") == 7
    assert await pool.fetchval("SELECT count(*) FROM change_log WHERE entity IN ('session', 'token')") == 0


@pytest.mark.requirement("S1")
async def test_a_body_in_a_notification_would_lose_the_row(pool: Pool) -> None:
    """Case S01, the trap itself: 8,000 bytes abort the writer."""
    for probe in case("S01")["probes"]:
        for statement in probe.get("setup", []):
            await pool.execute(statement)
        if probe.get("ok"):
            await pool.execute(probe["sql"])
            continue
        with pytest.raises(asyncpg.PostgresError, match=probe["error"]):
            await pool.execute(probe["sql"])
        if "then" in probe:
            assert [list(row.values()) for row in await pool.fetch(probe["then"])] == probe["then_rows"]


@pytest.mark.requirement("S1", "Q10")
async def test_our_notifications_are_empty_however_much_was_said(database: TestDatabase, pool: Pool, company: Company) -> None:
    """The longest question is stored; one nudge says nothing; the log has ids and states, and no column for anything else."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    listener = await asyncpg.connect(database.url)
    await listener.add_listener("askbus", lambda *said: heard.put_nowait(str(said[-1])))
    question = await open_question(pool, company["mia"].principal, company.north, text="那" * 20_000)
    await verbs.answer(pool, answer_command(company["max"].principal, question.id, "那" * 20_000), trace=None)
    async with asyncio.timeout(5):
        assert [await heard.get(), await heard.get()] == ["", ""]
    await listener.close()
    rows = await pool.fetch("SELECT * FROM change_log WHERE entity_id = $1", question.id)
    assert [row["fact"] for row in rows] == ["question.asked", "question.answered"]
    assert "那" not in str([dict(row) for row in rows])


@pytest.mark.requirement("S4")
async def test_a_reader_by_number_loses_what_commits_late_and_ours_does_not(pool: Pool) -> None:
    """Case S05: its steps as they stand, then the same with our cursor."""
    scenario = case("S05")
    sessions: dict[str, asyncpg.Connection[asyncpg.Record]] = {}
    for statement in scenario["setup"]:
        await pool.execute(statement)
    async with pool.acquire() as a, pool.acquire() as b, pool.acquire() as r:
        sessions |= {"A": a, "B": b, "R": r}  # type: ignore[dict-item]  # a pool's connection is as good
        for step in scenario["steps"]:
            rows = await sessions[step["s"]].fetch(step["sql"])
            assert [list(row.values()) for row in rows] == step.get("rows", [])


@pytest.mark.requirement("S4")
async def test_the_cursor_delivers_in_commit_order_what_overlapped(pool: Pool, company: Company) -> None:
    """The same overlap: first the higher number alone, then the lower, and neither twice; pages change nothing of it."""
    mia = company["mia"].principal
    start = await position(pool)
    async with pool.acquire() as slow:
        transaction = slow.transaction()
        await transaction.start()
        low = [ask_command(mia, company.north) for _ in range(5)]
        for command in low:
            await verbs.ask(slow, command, trace=None)
        high = await open_question(pool, mia, company.north)
        middle, first = await read(pool, start)
        assert [change.entity_id for change in first] == [high.id]
        await transaction.commit()
    for page in (1, 2, 5, 500):
        end, rest = await read(pool, middle, page=page)
        assert [change.entity_id for change in rest] == [command.question_id for command in low]
        assert await read(pool, end, page=page) == (end, [])
    assert Snapshot.parse(middle).running
    everything = (await read(pool, start))[1]
    assert len({change.seq for change in everything}) == 6


@pytest.mark.requirement("S4")
async def test_a_page_inside_a_snapshot_is_not_moved_by_later_commits(pool: Pool, company: Company) -> None:
    """What commits while a reader turns pages belongs to its next reading: nothing is passed over."""
    mia = company["mia"].principal
    start = await position(pool)
    expected = [(await open_question(pool, mia, company.north)).id for _ in range(4)]
    seen: list[Change] = []
    reached = start
    async for cursor, changes in changes_after(pool, start, page=2):
        seen += changes
        reached = cursor
        expected.append((await open_question(pool, mia, company.north)).id)
    assert [change.entity_id for change in seen] == expected[:4]
    assert [change.entity_id for change in (await read(pool, reached))[1]] == expected[4:]


class Frozen:
    """A TCP proxy that stops moving bytes when told to, and says nothing about it."""

    def __init__(self, host: str, port: int) -> None:
        self.target = host, port
        self.flowing = asyncio.Event()
        self.flowing.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            self.flowing.set()
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(*self.target)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(reader, there_writer))
            group.create_task(self._pump(there_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self.flowing.wait()
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@pytest.mark.requirement("S7")
async def test_a_listening_connection_that_is_silently_dead_is_noticed(
    database: TestDatabase, pool: Pool, company: Company
) -> None:
    """Case S03's variant: no error ever comes. The poll delivers meanwhile, and the health check makes a new connection."""
    url = urlsplit(database.url)
    proxy = Frozen(url.hostname or "", url.port or 0)
    delivered: list[Change] = []

    async def deliver(_snapshot: Snapshot, changes: Sequence[Change]) -> None:
        delivered.extend(change for change in changes if change.entity == "question")

    async def count_is(number: int) -> bool:
        return len(delivered) == number

    async with proxy.open() as port:
        through = urlunsplit(url._replace(netloc=f"{url.username}:{url.password}@127.0.0.1:{port}"))
        tail = Tail(through, pool, deliver, poll=0.3, check=0.3)
        running = asyncio.create_task(tail.run())
        await tail.started.wait()
        proxy.flowing.clear()
        await open_question(pool, company["mia"].principal, company.north)
        await until(lambda: count_is(1), within=5)

        async def noticed() -> bool:
            return not tail.listening

        async def listens() -> bool:
            return tail.listening

        await until(noticed, within=5)
        proxy.flowing.set()
        await until(listens)
        await open_question(pool, company["mia"].principal, company.north)
        await until(lambda: count_is(2), within=5)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
