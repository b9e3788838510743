"""Each service's role, each table, each verb: what the tables' comments say, tried on Postgres with the role's own connection."""

from collections.abc import Iterator
from dataclasses import dataclass

import asyncpg
import pytest

from askbus.bus.envelope import Service
from askbus.db.grants import DELETED_BY_EXPIRY, Writers, writers_of
from askbus.testing.servers import TestDatabase

pytestmark = pytest.mark.requirement("I7")

TABLES = """
SELECT c.relname AS name, coalesce(p.relname, c.relname) AS whole, obj_description(coalesce(p.oid, c.oid), 'pg_class') AS comment,
       c.relispartition AS part, array_agg(a.attname::text ORDER BY a.attnum) AS columns
  FROM pg_class c
  LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
 WHERE c.relnamespace = 'askbus'::regnamespace AND c.relkind IN ('r', 'p')
 GROUP BY 1, 2, 3, 4 ORDER BY 1
"""

MAY = """
CREATE FUNCTION pg_temp.may(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RAISE EXCEPTION USING ERRCODE = 'ZZ001';
EXCEPTION
    WHEN insufficient_privilege THEN RETURN false;
    WHEN SQLSTATE 'ZZ001' OR integrity_constraint_violation THEN RETURN true;
END $$
"""
"""Whether the role may: the statement is run and taken back. What breaks a constraint was let through; anything else is an error here."""


@dataclass(frozen=True)
class Table:
    """A table or a part of one, and who writes it by its comment."""

    name: str
    whole: str
    part: bool
    columns: tuple[str, ...]
    writers: Writers

    def writes(self, service: Service, *, only_inserts: bool = False) -> bool:
        """Rights are on the whole: a part is reached through it."""
        return not self.part and service in self.writers.services and (only_inserts or not self.writers.insert_only)


def tries(table: Table, service: Service) -> Iterator[tuple[str, bool]]:
    """Every statement that can be made of the table's columns and the verbs, and whether this service may. What credentials are checked
    against is the gateway's alone to read."""
    at, expiry = f"askbus.{table.name}", service is Service.EXPIRY
    for column in table.columns:
        hidden = (column.endswith("hash") or column == "bearer") and service is not Service.GATEWAY
        yield f"SELECT {column} FROM {at} LIMIT 0", not hidden
        moves = expiry and not table.part and column in table.writers.expiry_columns
        yield f"UPDATE {at} SET {column} = DEFAULT WHERE false", table.writes(service) or moves
    yield f"INSERT INTO {at} DEFAULT VALUES", table.writes(service, only_inserts=True)
    deletes = expiry and table.whole in DELETED_BY_EXPIRY
    yield f"DELETE FROM {at} WHERE false", table.writes(service) or deletes
    yield f"TRUNCATE {at}", expiry and table.part


@pytest.fixture
async def tables(database: TestDatabase) -> list[Table]:
    """All of them, as the database has them: a new table is tried without a word here."""
    admin = await asyncpg.connect(database.url)
    try:
        rows = await admin.fetch(TABLES)
    finally:
        await admin.close()
    return [
        Table(row["name"], row["whole"], row["part"], tuple(row["columns"]), writers_of(row["whole"], row["comment"]))
        for row in rows
    ]


@pytest.mark.parametrize("service", list(Service))
async def test_a_role_does_to_each_table_what_its_comment_says_and_no_more(
    database: TestDatabase, tables: list[Table], service: Service
) -> None:
    """Reading, writing, deleting, emptying, column by column: thousands of statements, each run by the role and taken back."""
    expected = {statement: may for table in tables for statement, may in tries(table, service)}
    assert len(expected) > 500
    connection = await asyncpg.connect(database.role_url(service))
    try:
        await connection.execute(MAY)
        found = await connection.fetch("SELECT s AS statement, pg_temp.may(s) AS may FROM unnest($1::text[]) s", list(expected))
        assert {row["statement"]: row["may"] for row in found} == expected
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("CREATE TABLE askbus.mine (id int)")
    finally:
        await connection.close()
