"""`askbus migrate`."""

import asyncio

import click

from askbus.cli.deployment import required, required_secret


@click.command
def migrate() -> None:
    """Bring the database to this release, with the services' roles and rights.

    ASKBUS_DATABASE_URL is an administrator's, ASKBUS_SECRET the deployment's. Safe to run twice, and from two machines at once.
    """
    from askbus.db.migrate import migrate as run

    applied = asyncio.run(run(required("ASKBUS_DATABASE_URL"), required_secret()))
    for name in applied:
        click.echo(f"applied {name}")
    if not applied:
        click.echo("The database is at this release already.")
