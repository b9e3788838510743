"""How commands reach the administrator's database."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from askbus.cli.deployment import data_option, database_url, unreachable

Command = Callable[..., Awaitable[None]]

WORKSPACE = click.option("--workspace", "-w", required=True, metavar="NAME", help="The workspace, by name or id.")


def on_the_database(command: Command) -> Callable[..., None]:
    """Runs the command in one transaction of the administrator's, given as its first argument `db`."""
    return _connected(command, whole=True)


def step_by_step(command: Command) -> Callable[..., None]:
    """The same with each of its statements by itself: what is done stays done where the command is stopped."""
    return _connected(command, whole=False)


def _connected(command: Command, *, whole: bool) -> Callable[..., None]:
    async def connected(data: Path, **arguments: Any) -> None:
        import asyncpg

        from askbus.db.pool import SETTINGS, prepare

        try:
            db = await asyncpg.connect(database_url(data), server_settings=SETTINGS, timeout=10)
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise click.ClickException(unreachable(error, data)) from error
        try:
            await prepare(db)
            async with db.transaction() if whole else nullcontext():
                await command(db, **arguments)
        except asyncpg.UndefinedTableError:
            raise click.ClickException("This database has no askbus in it yet: run askbus migrate.") from None
        except (asyncpg.CheckViolationError, asyncpg.DataError) as error:
            raise click.ClickException(f"The database refused this: {error}") from error
        finally:
            await db.close()

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        asyncio.run(connected(**arguments))

    return data_option(run)
