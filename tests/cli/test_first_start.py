"""The link that the first start prints."""

import asyncpg

from askbus.access.verbs import sign_in
from askbus.cli.first_start import sign_in_link
from askbus.db.pool import SETTINGS
from askbus.testing.servers import TestDatabase


def code_of(link: str | None) -> str:
    assert link is not None
    address, _, code = link.partition("/#login=")
    assert address == "http://127.0.0.1:8080"
    return code


async def test_the_first_link_signs_the_owner_in_and_there_is_no_second(database: TestDatabase) -> None:
    """Whoever has the terminal becomes the owner; later starts print nothing that could be stolen."""
    code = code_of(await sign_in_link(database.url, "http://127.0.0.1:8080"))
    db = await asyncpg.connect(database.url, server_settings=SETTINGS)
    session = await sign_in(db, code)
    role = await db.fetchval(
        "SELECT role FROM memberships WHERE user_id = $1 AND workspace_id = $2", session.user_id, session.workspace_id
    )
    await db.close()
    assert role == "owner"
    assert await sign_in_link(database.url, "http://127.0.0.1:8080") is None


async def test_a_link_that_nobody_used_is_replaced_at_the_next_start(database: TestDatabase) -> None:
    """It is valid for 15 minutes only; the owner, the workspace and the project stay the first ones."""
    first = code_of(await sign_in_link(database.url, "http://127.0.0.1:8080"))
    second = code_of(await sign_in_link(database.url, "http://127.0.0.1:8080"))
    assert first != second
    db = await asyncpg.connect(database.url, server_settings=SETTINGS)
    counts = await db.fetchrow(
        "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM workspaces), (SELECT count(*) FROM projects)"
    )
    await db.close()
    assert counts is not None
    assert tuple(counts) == (1, 1, 1)
