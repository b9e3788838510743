"""How Postgres finds the rows of each statement."""

import re
from pathlib import Path

import pytest

from askbus.db.pool import Pool
from askbus.db.statements import Statement
from askbus.testing.people import Company

ROOT = Path(__file__).parents[2]
OTHER_DATABASES = ("records", "demo", "cli", "migrations")
"""Folders whose statements run elsewhere, or by an operator's hand."""

FEW_ROWS = frozenset({"feed", "relays", "webhooks"})
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


WALKED = {
    "open": ["questions_open", "questions_open_assignee", "questions_open_asker"],
    "for_me": ["questions_open_assignee", "questions_open_assignee"],
    "list": ["questions_newest", "questions_asker"],
}
"""The pages of questions, and the index that each way to look walks backwards."""

MANY_QUESTIONS = """
    INSERT INTO questions (id, workspace_id, project_id, user_id, asker_id, text, assignee_id, asked_at, expires_at, asked_command)
    SELECT uuidv7(), $1, $2, $3, md5((n % 20)::text)::uuid, 'Ship it?', CASE WHEN n % 3 = 0 THEN $3::uuid END,
           now() - make_interval(secs => n), now() + interval '1 day', uuidv7()
      FROM generate_series(1, 5000) n"""


@pytest.mark.requirement("Q11")
async def test_a_page_of_questions_is_read_in_the_order_of_an_index(pool: Pool, company: Company) -> None:
    """Planned on an empty table and on a full one: each way to look stops with the page, however many questions there are, and sorts no
    more than the pages of the projects; and what is counted is not read."""
    for full in (False, True):
        if full:
            mia = company["mia"].principal
            await pool.execute(MANY_QUESTIONS, mia.workspace_id, company.north, mia.user_id)
            await pool.execute("ANALYZE questions")
        for statement, ordered in WALKED.items():
            plan = await plan_of(pool, Statement("askbus.questions", f"sql/{statement}.sql"))
            assert re.findall(r"Backward using (\w+) on questions", plan) == ordered, (full, statement)
            escalated = re.findall(r"using questions_open_escalating on questions", plan)
            assert len(escalated) == (1 if statement == "for_me" else 0), (full, statement)
            assert len(re.findall(r"Sort  \(", plan)) == 2 + len(escalated), (full, statement)
        plan = await plan_of(pool, Statement("askbus.questions", "sql/counts.sql"))
        assert "question_tallies_project" in plan
        read = set(re.findall(r"(?:using|Index Scan on) (questions_\w+)", plan))
        assert read - {"questions_due", "questions_open_due"} == {
            "questions_open_escalating",
            "questions_open_chat",
            "questions_pkey",
        }
        assert len(read) == 4
