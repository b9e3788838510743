"""How Postgres finds the rows of each statement."""

import re
from pathlib import Path

from askbus.db.pool import Pool
from askbus.db.statements import Statement

ROOT = Path(__file__).parents[2]
OTHER_DATABASES = ("records", "demo", "cli", "migrations")
"""Folders whose statements run elsewhere, or by an operator's hand."""

FEW_ROWS = frozenset({"feed", "relays"})
SELDOM = frozenset({"drop_login_codes.sql", "find_user.sql", "find_workspace.sql", "forget_part.sql", "new_epoch.sql"})
"""Statements of an operator, and of a sweep over what lives for minutes, or over one part of the log before it is emptied."""


def statements() -> list[Statement]:
    files = [
        file
        for root in (ROOT / "libs", ROOT / "services")
        for file in sorted(root.glob("**/sql/*.sql"))
        if not set(OTHER_DATABASES) & set(file.parts) and file.name not in SELDOM
    ]
    places = [file.relative_to(ROOT / file.relative_to(ROOT).parts[0]) for file in files]
    return [Statement(".".join(place.parts[:-2]), f"sql/{place.name}") for place in places]


async def plan_of(pool: Pool, statement: Statement) -> str:
    """The plan that a service's connection keeps, whatever the parameters."""
    async with pool.acquire() as db:
        await db.execute(f"PREPARE planned AS {statement.sql}")
        nothing = ", ".join("NULL" for _ in statement.parameters)
        lines = await db.fetch(f"EXPLAIN EXECUTE planned {f'({nothing})' if nothing else ''}")
        await db.execute("DEALLOCATE planned")
    return "\n".join(line[0] for line in lines)


async def test_no_statement_reads_a_whole_table(pool: Pool) -> None:
    """With an index to go by, what a turn costs does not grow with what was said before."""
    read = {
        statement.path: set(re.findall(r"Seq Scan on (\w+)", await plan_of(pool, statement))) - FEW_ROWS
        for statement in statements()
    }
    assert len(read) > 50
    assert {path: tables for path, tables in read.items() if tables} == {}


async def test_the_log_is_read_from_the_cursor_on(pool: Pool) -> None:
    """In every part by its transactions; nothing reads what is old as well."""
    plan = await plan_of(pool, Statement("askbus.feed", "sql/changes.sql"))
    assert plan.count("Index Scan on change_log_") == plan.count("_xid_idx") == 8
    assert "Seq Scan" not in plan
