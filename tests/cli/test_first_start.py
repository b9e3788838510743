"""The link that the first start prints."""

import asyncpg
import pytest

from askbus.access.verbs import create_user, sign_in
from askbus.cli.first_start import first_owner
from askbus.db.pool import SETTINGS
from askbus.testing.servers import TestDatabase


def code_of(link: str | None) -> str:
    assert link is not None
    address, _, code = link.partition("/#login=")
    assert address == "http://127.0.0.1:8080"
    return code


@pytest.mark.requirement("I2")
async def test_the_first_link_signs_the_owner_in(database: TestDatabase) -> None:
    """Whoever has the terminal becomes the owner."""
    code = code_of(await first_owner(database.url, "http://127.0.0.1:8080"))
    db = await asyncpg.connect(database.url, server_settings=SETTINGS)
    session = await sign_in(db, code)
    role = await db.fetchval(
        "SELECT role FROM memberships WHERE user_id = $1 AND workspace_id = $2", session.user_id, session.workspace_id
    )
    await db.close()
    assert role == "owner"


async def test_without_an_owner_among_people_there_is_no_link(database: TestDatabase) -> None:
    """Somebody has set it up at the command line, and has yet to say who owns it."""
    db = await asyncpg.connect(database.url, server_settings=SETTINGS)
    await create_user(db, "ada@nord.example", "Ada")
    await db.close()
    assert await first_owner(database.url, "http://127.0.0.1:8080") is None


async def test_each_start_has_a_link_for_the_first_owner(database: TestDatabase) -> None:
    """It is valid for 15 minutes only; the owner, the workspace and the project stay the first ones."""
    first = code_of(await first_owner(database.url, "http://127.0.0.1:8080"))
    second = code_of(await first_owner(database.url, "http://127.0.0.1:8080"))
    assert first != second
    db = await asyncpg.connect(database.url, server_settings=SETTINGS)
    counts = await db.fetchrow(
        "SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM workspaces), (SELECT count(*) FROM projects)"
    )
    await db.close()
    assert counts is not None
    assert tuple(counts) == (1, 1, 1)
