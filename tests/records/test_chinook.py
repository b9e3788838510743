"""A database that nobody here made: the public Chinook sample, unchanged. ASKBUS_CHINOOK_SQL names its SQL file."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from askbus.access.model import Principal
from askbus.records.apply import apply
from askbus.records.changes import Operation, OutcomeState
from askbus.records.engine import Records, open_records
from askbus.records.model import QueryPlan
from askbus.records.names import ResolveRequest
from askbus.records.propose import prepare
from askbus.records.query import query
from askbus.records.resolve import resolve
from askbus.records.undo import undo
from askbus.testing.records import TeamDatabase, team_database
from askbus.testing.servers import Server

SQL = os.environ.get("ASKBUS_CHINOOK_SQL")

pytestmark = pytest.mark.skipif(SQL is None, reason="set ASKBUS_CHINOOK_SQL to Chinook's Postgres SQL to run this")


@pytest.fixture(scope="module")
async def chinook(postgres_server: Server) -> AsyncIterator[TeamDatabase]:
    """The music shop, with askbus's ledger beside it."""
    async with team_database(postgres_server.url, ledger=True) as team:
        await team.run(await asyncio.to_thread(Path(SQL or "").read_text, "utf-8"))
        yield team


@pytest.fixture
async def music(chinook: TeamDatabase) -> AsyncIterator[Records]:
    opened = open_records(chinook.url)
    yield opened
    await opened.dispose()


@pytest.mark.requirement("R2", "R4")
async def test_the_combined_total_of_the_three_largest_invoices(chinook: TeamDatabase, music: Records, member: Principal) -> None:
    """One read, one exact decimal, as the database itself adds it."""
    plan = {
        "collection": "invoice",
        "aggregates": [{"op": "sum", "field": "total"}],
        "over": {"order_by": [{"field": "total", "direction": "desc"}], "limit": 3},
    }
    found = await query(music, member, QueryPlan.model_validate(plan))
    naive = "SELECT sum(total)::text FROM (SELECT total FROM invoice ORDER BY total DESC LIMIT 3) AS top"
    assert found.rows == ((await chinook.value(naive),),) == (("71.58",),)


async def test_figures_over_three_references_agree_with_sql(chinook: TeamDatabase, music: Records, member: Principal) -> None:
    """Sales by genre: line to track to genre, nothing multiplied."""
    plan = {
        "collection": "invoice_line",
        "group_by": ["track.genre.name"],
        "aggregates": [{"op": "sum", "field": "quantity", "as": "sold"}, {"op": "sum", "field": "unit_price", "as": "value"}],
        "order_by": [{"field": "value", "direction": "desc"}],
        "limit": 5,
    }
    found = await query(music, member, QueryPlan.model_validate(plan))
    naive = await chinook.rows(
        "SELECT g.name, sum(l.quantity), sum(l.unit_price)::text FROM invoice_line l JOIN track t USING (track_id) "
        "JOIN genre g USING (genre_id) GROUP BY g.name ORDER BY sum(l.unit_price) DESC, g.name LIMIT 5"
    )
    assert [list(row) for row in found.rows] == [list(row) for row in naive]
    assert found.total == await chinook.value("SELECT count(DISTINCT genre_id) FROM track JOIN invoice_line USING (track_id)")


@pytest.mark.requirement("R5", "R15", "R17")
async def test_a_customers_email_is_found_changed_and_restored(chinook: TeamDatabase, music: Records, member: Principal) -> None:
    """By name without accents, through a proposal and its apply, and back by undo."""
    found = await resolve(music, member, ResolveRequest(collection="customer", text="frantisek wichterlova"))
    assert found.match is not None
    before = await chinook.rows("SELECT * FROM customer WHERE customer_id = 5")
    wanted = {
        "id": "a",
        "kind": "update",
        "collection": "customer",
        "record": found.match.key,
        "values": {"email": "new@example.org"},
    }
    action = await prepare(music, member, [Operation.model_validate(wanted)])
    change = action.operations[0].changes[0]
    assert (action.operations[0].label, change.before, change.after) == (
        "František Wichterlová", "frantisekw@jetbrains.com", "new@example.org",
    )  # fmt: skip
    done = await apply(music, uuid4(), action.operations, member)
    assert done.state is OutcomeState.APPLIED
    assert await chinook.value("SELECT email FROM customer WHERE customer_id = 5") == "new@example.org"
    assert (await undo(music, uuid4(), done.id, member)).state is OutcomeState.UNDONE
    assert await chinook.rows("SELECT * FROM customer WHERE customer_id = 5") == before
