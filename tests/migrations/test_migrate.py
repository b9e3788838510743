"""Migrations, and who may write what afterwards."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import asyncpg
import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db import migrate
from askbus.db.grants import HASHED, writers_of
from askbus.testing.composed import compose
from askbus.testing.servers import SECRET, Server, TestDatabase, administer, on_database
from askbus_expiry.app import make_app as make_expiry

pytestmark = pytest.mark.requirement("O7")


@pytest.fixture
async def empty(postgres_server: Server) -> AsyncIterator[str]:
    """A database that nobody has migrated."""
    name = f"empty_{uuid4().hex}"
    await administer(postgres_server.url, f'CREATE DATABASE "{name}"')
    yield on_database(postgres_server.url, name)
    await administer(postgres_server.url, f'DROP DATABASE "{name}" WITH (FORCE)')


async def test_of_two_who_migrate_at_once_one_does_it(empty: str) -> None:
    """The second waits for the lock and finds nothing left to do; so does whoever comes later."""
    done = await asyncio.gather(*(migrate.migrate(empty, SECRET) for _ in range(3)))
    assert sorted(done) == [[], [], sorted(migrate.shipped())]
    assert await migrate.migrate(empty, SECRET) == []


async def test_a_database_of_a_newer_release_is_refused(empty: str) -> None:
    """Older code must not run on a schema that it does not know."""
    await migrate.migrate(empty, SECRET)
    await administer(empty, "INSERT INTO askbus.migrations (name) VALUES ('9999_from_the_future.sql')")
    with pytest.raises(migrate.MigrationRefused, match="newer release"):
        await migrate.migrate(empty, SECRET)


async def test_a_migration_that_was_changed_after_it_was_applied_is_refused(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database lacks what the changed file makes: said at once, instead of by every request that needs it."""
    shipped = migrate.shipped()
    await migrate.migrate(empty, SECRET)
    last = list(shipped)[-1]
    monkeypatch.setattr(migrate, "shipped", lambda: {**shipped, last: shipped[last] + "CREATE TABLE askbus.later (id int);"})
    with pytest.raises(migrate.MigrationRefused, match=f"whose {last} was not this one's"):
        await migrate.migrate(empty, SECRET)


async def test_a_migration_that_fails_leaves_nothing_behind(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is one transaction, so it can be tried again."""
    shipped = migrate.shipped()
    monkeypatch.setattr(migrate, "shipped", lambda: {**shipped, "9998_broken.sql": "CREATE TABLE half (id int); SELECT 1/0"})
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate.migrate(empty, SECRET)
    monkeypatch.setattr(migrate, "shipped", lambda: shipped)
    assert await migrate.migrate(empty, SECRET) == list(shipped)


@pytest.mark.requirement("S4")
async def test_a_log_from_before_it_had_parts_keeps_its_rows_and_goes_on_counting(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their transactions and places, so that clients and relays go on where they were."""
    shipped = migrate.shipped()
    early = {name: sql for name, sql in shipped.items() if name < "0013"}
    monkeypatch.setattr(migrate, "shipped", lambda: early)
    await migrate.migrate(empty, SECRET)
    insert = (
        "INSERT INTO askbus.change_log (fact, entity, entity_id, status, workspace_id, at)"
        " SELECT 'question.asked', 'question', uuidv7(), 'open', uuidv7(), now() - make_interval(hours => n)"
        "   FROM generate_series(0, 40, 4) n"
    )
    rows = "SELECT seq, xid::text, at, entity_id FROM askbus.change_log ORDER BY seq"
    admin = await asyncpg.connect(empty)
    try:
        await admin.execute(insert)
        before = await admin.fetch(rows)
        monkeypatch.setattr(migrate, "shipped", lambda: shipped)
        await migrate.migrate(empty, SECRET)
        assert await admin.fetch(rows) == before
        assert await admin.fetchval("SELECT count(DISTINCT part) FROM askbus.change_log") == 8
        await admin.execute(insert)
        after = await admin.fetch(rows)
        assert [row["seq"] for row in after] == list(range(1, 2 * len(before) + 1))
    finally:
        await admin.close()


@pytest.mark.requirement("O2")
async def test_a_service_becomes_ready_once_the_migrations_are_in(empty: str, nats_server: Server) -> None:
    """It starts before, says that it waits, and needs no restart."""
    await provision(nats_server.url, ack_wait=1)
    started = asyncio.Event()

    async def run() -> None:
        async with compose(TestDatabase(empty), nats_server.url, [(Service.EXPIRY, make_expiry)]):
            started.set()

    running = asyncio.create_task(run())
    missing = await _missing(empty)
    assert missing == list(migrate.shipped())
    assert not started.is_set()
    await migrate.migrate(empty, SECRET)
    async with asyncio.timeout(20):
        await running
    assert started.is_set()


async def _missing(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        return await migrate.pending(connection)
    finally:
        await connection.close()


@pytest.mark.requirement("I7")
async def test_each_service_may_write_its_own_tables_and_no_others(database: TestDatabase) -> None:
    """The whole table of services, tables and rights, as Postgres sees it, against what the tables' comments say."""
    admin = await asyncpg.connect(database.url)
    try:
        tables = await admin.fetch(
            "SELECT relname AS name, obj_description(coalesce(inhparent, oid), 'pg_class') AS comment"
            "  FROM pg_class LEFT JOIN pg_inherits ON inhrelid = oid"
            " WHERE relnamespace = 'askbus'::regnamespace AND relkind IN ('r', 'p')"
        )
        assert len(tables) >= 15
        wrong = []
        for table in tables:
            writers = writers_of(table["name"], table["comment"])
            for service in Service:
                for right in ("INSERT", "UPDATE"):
                    may = await admin.fetchval(
                        "SELECT has_table_privilege($1, $2, $3)", service.role, f"askbus.{table['name']}", right
                    )
                    should = service in writers.services and (right == "INSERT" or not writers.insert_only)
                    if may != should:
                        wrong.append((service.value, right, table["name"]))
        assert wrong == []
    finally:
        await admin.close()


@pytest.mark.requirement("I7")
@pytest.mark.parametrize(
    ("service", "statement"),
    [
        (Service.GATEWAY, "UPDATE questions SET state = 'cancelled'"),
        (Service.GATEWAY, "INSERT INTO change_log (fact, entity, entity_id, status, workspace_id) SELECT 'x', 'x', id, 'x', id FROM users"),
        (Service.AGENT_LOOP, "DELETE FROM audit_log"),
        (Service.TOOL_RUNNER, "UPDATE actions SET state = 'confirmed'"),
        (Service.QUESTION_BROKER, "UPDATE memberships SET role = 'owner'"),
        (Service.ACTION_APPLIER, "SELECT hash FROM tokens"),
        (Service.QUESTION_BROKER, "SELECT * FROM sessions"),
        (Service.EXPIRY, "UPDATE questions SET answer = '1'"),
        (Service.EXPIRY, "DELETE FROM questions"),
        (Service.EXPIRY, "INSERT INTO relays (owner, cursor) VALUES ('x', '1:1:')"),
        (Service.GATEWAY, "CREATE TABLE askbus.mine (id int)"),
        (Service.GATEWAY, "SELECT log_change()"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.value,
)  # fmt: skip
async def test_what_a_service_must_not_do_is_refused_by_postgres(
    database: TestDatabase, service: Service, statement: str
) -> None:
    """Tried with the service's own role."""
    connection = await asyncpg.connect(database.role_url(service), server_settings={"search_path": "askbus"})
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.mark.requirement("I7")
async def test_only_the_gateway_reads_the_hashes_of_credentials(database: TestDatabase) -> None:
    """Every service reads who a token stands for; none but the gateway what it is checked against."""
    for service in Service:
        connection = await asyncpg.connect(database.role_url(service), server_settings={"search_path": "askbus"})
        try:
            for table in HASHED:
                may = await connection.fetchval("SELECT has_column_privilege($1, 'hash', 'SELECT')", f"askbus.{table}")
                assert may == (service is Service.GATEWAY), (service, table)
                assert await connection.fetchval("SELECT has_any_column_privilege($1, 'SELECT')", f"askbus.{table}")
        finally:
            await connection.close()
