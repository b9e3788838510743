"""The sample business that the embedded stack answers questions about when it is given no database of records."""

from importlib.resources import files
from urllib.parse import urlsplit

import asyncpg

from askbus.records.ledger import prepare_ledger
from askbus.runtime.secrets import records_password, with_credentials
from askbus.stack.postgres import Postgres
from askbus.stack.process import StackError

DATABASE = "records"
ROLE = "records"


def address(database_url: str, secret: str) -> str:
    """The DSN of the sample business on the server that `database_url` is on."""
    server = urlsplit(database_url)._replace(path=f"/{DATABASE}").geturl()
    return with_credentials(server, ROLE, records_password(secret))


async def ensure(postgres: Postgres, secret: str) -> str:
    """Make the database with its sample data unless it is there, and return the DSN of the role that owns it and nothing else."""
    password = records_password(secret)
    await postgres.ensure_role(ROLE, password)
    admin_url = await postgres.ensure_database(DATABASE, owner=ROLE)
    url = with_credentials(admin_url, ROLE, password)
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            if not await connection.fetchval("SELECT to_regclass('public.customers') IS NOT NULL"):
                await connection.execute(files("askbus.stack").joinpath("sample.sql").read_text("utf-8"))
    finally:
        await connection.close()
    await prepare_ledger(url)
    return url


async def prepare(url: str) -> None:
    """Make the ledger in a team's own database, where it is missing. Raises StackError that says what to do where that is not allowed."""
    try:
        await prepare_ledger(url)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or "it does not answer"
        raise StackError(
            f"The records' database cannot be prepared for changes: {reason}. Check the address given with --records, and run "
            "`askbus records prepare` with the address of somebody who may create a schema there."
        ) from None
