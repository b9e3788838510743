"""The audit log as it is stored and exported."""

import asyncpg
import pytest

from askbus.access import audit, verbs
from askbus.access.model import Role
from askbus.bus.envelope import Service
from askbus.db.pool import Pool
from askbus.errors import PermissionDenied
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase

pytestmark = pytest.mark.requirement("I10")


async def test_no_service_changes_or_deletes_what_is_in_the_log(database: TestDatabase) -> None:
    """Tried as each of the six: they add, and that is all."""
    for service in Service:
        connection = await asyncpg.connect(database.role_url(service), server_settings={"search_path": "askbus"})
        try:
            for statement in (
                "UPDATE audit_log SET event = 'nothing.happened'",
                "DELETE FROM audit_log",
                "TRUNCATE audit_log",
                "ALTER TABLE audit_log DISABLE TRIGGER ALL",
            ):
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await connection.execute(statement)
            columns = await connection.fetchval("SELECT has_any_column_privilege('askbus.audit_log', 'UPDATE')")
            assert (columns, await connection.fetchval("SELECT has_table_privilege('askbus.audit_log', 'INSERT')")) == (
                False,
                True,
            )
        finally:
            await connection.close()


async def test_an_export_is_read_in_batches_and_ends_with_its_readers_right(pool: Pool, company: Company) -> None:
    """Never more than a batch at once, each entry once and in order; who is no admin any more gets an error, and not a shorter file."""
    by = company["admin"].principal
    ids = "SELECT id FROM audit_log WHERE workspace_id = $1 ORDER BY at, id"
    wanted = [row["id"] for row in await pool.fetch(ids, company.workspace_id)]
    assert len(wanted) > 10
    batches = [batch async for batch in audit.export(pool, by, audit.AuditWanted(), batch=4)]
    assert {len(batch) for batch in batches[:-1]} == {4}
    assert [entry.id for batch in batches for entry in batch] == wanted
    reading = audit.export(pool, by, audit.AuditWanted(), batch=4)
    await anext(reading)
    await verbs.set_member(pool, company.workspace_id, by.user_id, Role.MEMBER)
    with pytest.raises(PermissionDenied):
        await anext(reading)
