"""The turn half on a database that nobody here made: the public Chinook sample, in a Postgres cluster of its own."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg

from askbus.demo.arrival import signed_in_owner
from askbus.demo.business import CHINOOK
from askbus.demo.conversation import a_change, a_figure
from askbus.demo.ground import Records, command, open_ground
from askbus.demo.transcript import Transcript
from askbus.runtime.secrets import with_credentials
from askbus.stack.ports import free_port, is_free
from askbus.stack.postgres import Postgres

ROLE = "team_records"


async def play_chinook(t: Transcript, folder: Path, sql: Path) -> None:
    """A figure and a change on Chinook, loaded from `sql`. Raises NotSo at the first check that does not hold."""
    async with (
        _music_shop(t, folder, sql) as records,
        open_ground(t, folder / "askbus", CHINOOK, records=records) as ground,
        AsyncExitStack() as here,
    ):
        with t.scene("The owner signs in"):
            owner, project = await here.enter_async_context(signed_in_owner(ground))
        with t.scene("A figure from Chinook, exact, from one tool call"):
            await a_figure(ground, owner, project)
        with t.scene("A change in Chinook, confirmed, applied and undone"):
            await a_change(ground, owner, project)


@asynccontextmanager
async def _music_shop(t: Transcript, folder: Path, sql: Path) -> AsyncIterator[Records]:
    """A second Postgres cluster with Chinook in it, and a role for askbus with the rights that `askbus records prepare` names."""
    postgres = Postgres(folder / "chinook", port=free_port(), log=folder / "chinook.log")
    try:
        with t.scene("Chinook, a database that nobody here made, in a second Postgres"):
            await postgres.start()
            admin_url = await postgres.ensure_database("chinook")
            password = secrets.token_urlsafe()
            await postgres.ensure_role(ROLE, password)
            db = await asyncpg.connect(admin_url)
            try:
                await db.execute(await asyncio.to_thread(sql.read_text, "utf-8"))
                t.said("operator", f"loads {sql.name} into a second Postgres")
                prepared = await command("records", "prepare", admin_url, "--role", ROLE)
                grants = [line for line in prepared.splitlines() if line.startswith("GRANT ")]
                t.said("operator", f"askbus records prepare postgresql://… --role {ROLE}, and grants what that prints:")
                for grant in grants:
                    t.more(grant)
                    await db.execute(grant)
                ledger = await db.fetchval("SELECT count(*) FROM askbus_ledger.outcomes")
            finally:
                await db.close()
            t.holds(ledger == 0 and len(grants) > 1, "the ledger is there, empty, and askbus's role has these rights alone")
        yield Records(with_credentials(admin_url, ROLE, password), admin_url)
    finally:
        await postgres.stop()
    t.holds(not postgres.running and is_free(postgres.port), "the second Postgres has ended too")
