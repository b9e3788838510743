"""`askbus feed`: tables of the team's own whose changes are told like those of questions and actions."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from askbus.cli.deployment import data_option, database_url, unreachable

if TYPE_CHECKING:
    from askbus.db.pool import Connection

T = TypeVar("T")


@click.group
def feed() -> None:
    """Tables of the team's own, in askbus's database, on the change feed."""


@feed.command
@click.argument("table")
@click.option(
    "--catalogue",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    envvar="ASKBUS_RECORDS_CATALOGUE",
    show_envvar=True,
    help="The file that says whose the records are; see docs/records.md.",
)
@data_option
def attach(table: str, catalogue: Path | None, data: Path) -> None:
    """Tell of every change in TABLE, whoever makes it: which record, and never what is in it.

    Run it again when the catalogue says something else of its projects. TABLE may name its schema.
    """
    from askbus.records import attached
    from askbus.records.record_catalogue import BadCatalogue, RecordCatalogue, load

    try:
        listed = load(catalogue) if catalogue is not None else RecordCatalogue()
    except BadCatalogue as error:
        raise click.ClickException(f"The catalogue is wrong:\n{error}") from error
    told = _run(data, lambda db: attached.attach(db, table, listed))
    click.echo(f"{told.collection} is on the feed. Its records are told {told.whose}.")


@feed.command
@click.argument("table")
@data_option
def detach(table: str, data: Path) -> None:
    """Tell of TABLE no more."""
    from askbus.records import attached

    _run(data, lambda db: attached.detach(db, table))
    click.echo(f"{table} is off the feed.")


@feed.command("list")
@data_option
def list_(data: Path) -> None:
    """The tables that are on the feed, and to whom their records are told."""
    from askbus.records import attached

    for one in _run(data, attached.tables):
        click.echo(f"{one.collection}\t{one.whose}")


def _run(data: Path, work: "Callable[[Connection], Awaitable[T]]") -> T:
    import asyncpg

    from askbus.db.pool import SETTINGS

    url = database_url(data)

    async def run() -> T:
        connection = await asyncpg.connect(url, server_settings={**SETTINGS, "application_name": "askbus feed"}, timeout=10)
        try:
            return await work(connection)
        finally:
            await connection.close()

    try:
        return asyncio.run(run())
    except (OSError, asyncpg.InterfaceError) as error:
        raise click.ClickException(unreachable(error, data)) from error
    except asyncpg.PostgresError as error:
        raise click.ClickException(f"Postgres refused: {error}.") from error
