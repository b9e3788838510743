"""`askbus frontend …`: which front ends a workspace trusts with instructions to the model."""

from typing import TYPE_CHECKING

import click

from askbus.cli.database import WORKSPACE, on_the_database

if TYPE_CHECKING:
    from askbus.db.pool import Connection


@click.group
def frontend() -> None:
    """Front ends whose instructions reach the model. Every other front end's are left out; nothing else depends on this."""


@frontend.command("register")
@click.argument("name")
@WORKSPACE
@on_the_database
async def register(db: "Connection", name: str, workspace: str) -> None:
    """Register a front end and print its key, this once; one of that name gets another key. It is for the front end's server."""
    from askbus.access import directory, frontends

    click.echo(await frontends.register(db, await directory.find_workspace(db, workspace), name))


@frontend.command("remove")
@click.argument("name")
@WORKSPACE
@on_the_database
async def remove(db: "Connection", name: str, workspace: str) -> None:
    """Take a registration back; its key ends."""
    from askbus.access import directory, frontends

    await frontends.remove(db, await directory.find_workspace(db, workspace), name)


@frontend.command("list")
@WORKSPACE
@on_the_database
async def show(db: "Connection", workspace: str) -> None:
    """Show the front ends that a workspace registered, and since when."""
    from askbus.access import directory, frontends

    for each in await frontends.registered(db, await directory.find_workspace(db, workspace)):
        click.echo(f"{each.name}  {each.id}  since {each.created_at:%Y-%m-%d}")
