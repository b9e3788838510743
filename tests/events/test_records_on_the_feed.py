"""Records of the team's own on the feed: tables that tell their changes themselves, and what actions did elsewhere."""

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

from askbus.cli import main
from askbus.db.pool import Pool
from askbus.feed.reader import changes_after
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, following
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase

pytestmark = pytest.mark.requirement("S12")

TABLES = """
CREATE TABLE public.orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, region text, note text, papers json);
CREATE TABLE public.stock (shelf text, place int, amount int, PRIMARY KEY (shelf, place));
CREATE TABLE public.rates (code text PRIMARY KEY, rate numeric);
CREATE TABLE public.notes (text text);
"""


def askbus(database: TestDatabase, *words: str) -> Result:
    return CliRunner().invoke(main, ["feed", *words], env={"ASKBUS_DATABASE_URL": database.url})


async def attached(database: TestDatabase, table: str, *more: str) -> str:
    result = await asyncio.to_thread(askbus, database, "attach", table, *more)
    assert result.exit_code == 0, result.output
    return result.output


async def told(client: EventClient) -> list[tuple[Any, ...]]:
    """The next batch, as far as it is of records."""
    changes = await client.changes()
    assert {change["entity"] for change in changes} == {"record"}
    return [(change["collection"], change["key"], change["op"], change["status"]) for change in changes]


@pytest.fixture
async def tables(pool: Pool) -> None:
    await pool.execute(TABLES)


async def test_a_record_is_told_in_the_project_that_it_belongs_to(
    gateway: Composed, company: Company, pool: Pool, database: TestDatabase, tables: None, tmp_path: Path
) -> None:
    """Whoever wrote it, also from outside of askbus: its collection and key and never its content; by a column, or as a whole."""
    catalogue = tmp_path / "records.json"
    listed = {
        "projects": {str(company.north): "nord", str(company.south): "süd"},
        "collections": {"orders": {"project": {"column": "region"}}, "stock": {"project": "süd"}},
    }
    catalogue.write_text(json.dumps(listed), "utf-8")
    said = [await attached(database, table, "--catalogue", str(catalogue)) for table in ("orders", "stock", "rates")]
    assert said[0] == "orders is on the feed. Its records are told in the project that their region names.\n"
    async with following(gateway.http, company["max"]) as max_, following(gateway.http, company["owner"]) as owner:
        await max_.next()
        await owner.next()
        await pool.execute(
            "INSERT INTO public.orders (region, note) VALUES ('nord', 'SECRET'), ('süd', 'SECRET'), ('west', 'SECRET')"
        )
        assert await told(max_) == [("orders", {"id": "1"}, "upsert", "created")]
        assert [key["id"] for _, key, _, _ in await told(owner)] == ["1", "2"]
        await pool.execute("UPDATE public.orders SET note = note")
        await pool.execute("UPDATE public.orders SET region = 'nord', papers = '{}' WHERE id = 2")
        assert await told(max_) == [("orders", {"id": "2"}, "upsert", "created")]
        moved = [("orders", {"id": "2"}, "remove", "deleted"), ("orders", {"id": "2"}, "upsert", "created")]
        assert await told(owner) == moved
        await pool.execute("INSERT INTO public.stock VALUES ('a', 1, 5)")
        assert await told(owner) == [("stock", {"shelf": "a", "place": "1"}, "upsert", "created")]
        await pool.execute("INSERT INTO public.rates VALUES ('usd', 1.1)")
        assert await told(max_) == await told(owner) == [("rates", {"code": "usd"}, "upsert", "created")]
        await pool.execute("DELETE FROM public.orders WHERE id = 1")
        assert await told(max_) == await told(owner) == [("orders", {"id": "1"}, "remove", "deleted")]
    assert b"SECRET" not in max_.raw + owner.raw
    async with following(gateway.http, company["stranger"]) as stranger:
        await stranger.next()
        await pool.execute("UPDATE public.orders SET note = 'more'")
        await pool.execute("UPDATE public.rates SET rate = 2")
        assert await told(stranger) == [("rates", {"code": "usd"}, "upsert", "updated")]
    count = "SELECT count(*) FROM change_log WHERE collection = 'orders'"
    before = await pool.fetchval(count)
    await pool.execute("ALTER TABLE public.orders RENAME COLUMN region TO area")
    await pool.execute("INSERT INTO public.orders (area) VALUES ('nord')")
    assert await pool.fetchval(count) == before  # nobody knows whose it is


async def test_a_table_is_attached_again_listed_and_detached(database: TestDatabase, pool: Pool, tables: None) -> None:
    """Each is said; what cannot be attached is refused with what to do."""
    for _ in range(2):
        await attached(database, "stock")
    run = asyncio.to_thread
    assert (await run(askbus, database, "list")).output == "stock\tto everybody who sees a project\n"
    for table, words in (
        ("notes", "has no primary key"),
        ("nothing", "There is no table nothing"),
        ("askbus.users", "askbus's own"),
    ):
        refused = await run(askbus, database, "attach", table)
        assert refused.exit_code == 1
        assert words in refused.output
    assert (await run(askbus, database, "detach", "stock")).output == "stock is off the feed.\n"
    assert (await run(askbus, database, "list")).output == ""
    assert "not on the feed" in (await run(askbus, database, "detach", "stock")).output
    before = await pool.fetchval("SELECT count(*) FROM change_log WHERE entity = 'record'")
    await pool.execute("INSERT INTO public.stock VALUES ('a', 1, 5)")
    assert await pool.fetchval("SELECT count(*) FROM change_log WHERE entity = 'record'") == before


async def test_telling_of_a_record_never_stands_in_the_way_of_writing_it(
    gateway: Composed, company: Company, pool: Pool, database: TestDatabase, tables: None
) -> None:
    """A role without any right in askbus's schema writes; values that jsonb does not take, a key column that got another name, and a key
    that is gone stop nobody, and what can be told is told."""
    role = f"team_{uuid4().hex}"
    await pool.execute('CREATE SCHEMA "Sales 1"; CREATE TABLE "Sales 1"."Open Orders" ("the Id" int PRIMARY KEY, papers json)')
    for table in ("orders", '"Sales 1"."Open Orders"'):
        await attached(database, table)
    await pool.execute(
        f'CREATE ROLE {role}; GRANT USAGE ON SCHEMA "Sales 1" TO {role};'
        f' GRANT SELECT, INSERT, UPDATE, DELETE ON public.orders, "Sales 1"."Open Orders" TO {role}'
    )
    name = "Sales 1.Open Orders"
    writes = [
        (r"""INSERT INTO orders (papers) VALUES ('{"a": "\u0000"}')""", ("orders", {"id": "1"}, "upsert", "created")),
        ("UPDATE orders SET papers = '1e999999'", ("orders", {"id": "1"}, "upsert", "updated")),
        (r"""INSERT INTO "Sales 1"."Open Orders" VALUES (7, '"\ud800"')""", (name, {"the Id": "7"}, "upsert", "created")),
        ("ALTER TABLE orders RENAME COLUMN id TO number", None),
        ("UPDATE orders SET note = 'x'", ("orders", {"number": "1"}, "upsert", "updated")),
        ("DELETE FROM orders", ("orders", {"number": "1"}, "remove", "deleted")),
        ("ALTER TABLE orders DROP COLUMN number", None),
        ("INSERT INTO orders (note) VALUES ('y')", None),
    ]
    try:
        async with following(gateway.http, company["max"]) as client:
            await client.next()
            for statement, expected in writes:
                async with pool.acquire() as db, db.transaction():
                    if not statement.startswith("ALTER"):
                        await db.execute(f"SET LOCAL ROLE {role}")
                    await db.execute(f"SET LOCAL search_path = public; {statement}")
                if expected is not None:
                    assert await told(client) == [expected]
    finally:
        await pool.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.requirement("S4")
async def test_one_huge_transaction_is_read_in_few_pages(pool: Pool, company: Company) -> None:
    """A bulk load of a table on the feed: each page looks at all that is left of it, so their number must not grow with it."""
    start = str(await pool.fetchval("SELECT pg_current_snapshot()::text"))
    await pool.execute(
        "INSERT INTO change_log (fact, entity, entity_id, status, workspace_id)"
        " SELECT 'question.asked', 'question', uuidv7(), 'open', $1 FROM generate_series(1, 6000)",
        company.workspace_id,
    )
    pages = [changes async for _, changes in changes_after(pool, start)]
    assert [len(page) for page in pages] == [500, 1000, 2000, 2500]
    seqs = [change.seq for page in pages for change in page]
    assert (len(set(seqs)), seqs) == (6000, sorted(seqs))
