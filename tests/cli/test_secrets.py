"""`askbus secrets rotate`, as an operator runs it."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from askbus.cli import main
from askbus.db.pool import Pool, open_pool
from askbus.outbound.policy import Policy
from askbus.runtime.sealing import CannotOpen, Sealer
from askbus.testing.people import Company, found_company
from askbus.testing.servers import TestDatabase
from askbus.webhooks import verbs
from askbus.webhooks.model import WebhookForm, whose

pytestmark = pytest.mark.requirement("I9")

OLD, NEW, LOST = b"o" * 32, b"n" * 32, b"l" * 32


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(database.url, size=2, name="tests") as pool:
        yield pool


async def a_webhook(pool: Pool, company: Company, key: bytes) -> tuple[UUID, str]:
    made = await verbs.create(
        pool,
        None,
        WebhookForm(url="https://hooks.example/in"),
        webhook_id=verbs.fresh_id(),
        workspace_id=company.workspace_id,
        sealer=Sealer([key]),
        policy=Policy(()),
        trace=None,
    )
    return made.webhook.id, made.secret


def as_text(key: bytes) -> str:
    return base64.urlsafe_b64encode(key).decode().rstrip("=")


async def test_all_that_is_sealed_is_sealed_anew_and_what_does_not_open_is_named(
    database: TestDatabase, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches of two; the secrets stay what they were, also the one before a rotation; a second run finds nothing to do."""
    monkeypatch.setattr("askbus.cli.secrets.BATCH", 2)
    company = await found_company(pool)
    readable = [(await a_webhook(pool, company, OLD))[0] for _ in range(3)]
    lost, _ = await a_webhook(pool, company, LOST)
    already, _ = await a_webhook(pool, company, NEW)
    by, sealer = company.workspace_id, Sealer([OLD])
    await verbs.rotate(
        pool, None, readable[0], overlap=60, command_id=verbs.fresh_id(), workspace_id=by, sealer=sealer, trace=None
    )
    rows = "SELECT id, secret, old_secret FROM webhooks ORDER BY id"
    before = {row["id"]: row for row in await pool.fetch(rows)}
    keys = f"{as_text(NEW)},{as_text(OLD)}"
    runner = CliRunner(env={"ASKBUS_DATABASE_URL": database.url, "ASKBUS_SEALING_KEYS": keys, "ASKBUS_DATA": str(tmp_path)})
    for done in (3, 0):
        result = await asyncio.to_thread(runner.invoke, main, ["secrets", "rotate"])
        assert (result.exit_code, f"webhooks: {done} of 5 sealed anew" in result.output) == (1, True), result.output
        assert f"webhook {lost}" in result.output
        assert "may be dropped" in result.output
    after = {row["id"]: row for row in await pool.fetch(rows)}
    for key in readable:
        for column in ("secret", "old_secret"):
            if before[key][column] is not None:
                secret = Sealer([OLD]).open(before[key][column], whose(key))
                assert Sealer([NEW]).open(after[key][column], whose(key)) == secret
    assert (after[lost], after[already]) == (before[lost], before[already])
    assert sum(after[key]["old_secret"] is not None for key in readable) == 1
    with pytest.raises(CannotOpen):
        Sealer([OLD]).open(after[readable[0]]["secret"], whose(readable[0]))


async def test_every_column_of_sealed_values_is_one_that_a_rotation_knows(pool: Pool) -> None:
    """A column says in its comment that it is sealed; each of these is named here and moved by the test above."""
    sealed = await pool.fetch(
        "SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE c.relnamespace = 'askbus'::regnamespace AND col_description(c.oid, a.attnum) ~ 'sealed under'"
    )
    assert sorted(row["name"] for row in sealed) == ["webhooks.old_secret", "webhooks.secret"]
    bare = await pool.fetch(
        "SELECT c.relname || '.' || a.attname AS name FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE c.relnamespace = 'askbus'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND a.attname ~ 'secret$|password$|api_key'"
        "   AND coalesce(col_description(c.oid, a.attnum), '') !~ 'sealed under'"
    )
    assert [row["name"] for row in bare] == []
