"""`askbus records`: the team's own database, made ready for changes."""

import asyncio

import click


@click.group
def records() -> None:
    """The database that holds the team's records."""


@records.command
@click.argument("dsn")
@click.option("--role", metavar="NAME", default="askbus", show_default=True, help="The database user that askbus connects as.")
@click.option("--schema", "schemas", multiple=True, default=("public",), show_default=True, help="A schema with records.")
def prepare(dsn: str, role: str, schemas: tuple[str, ...]) -> None:
    """Make the ledger in the database at DSN and print the rights that askbus needs there.

    DSN is the address of somebody who may create a schema. Safe to run twice: what is there stays as it is. A role or schema that
    is not there is refused.
    """
    import asyncpg

    from askbus.records.ledger import prepare_ledger, rights_needed, unknown_names

    try:
        if unknown := asyncio.run(unknown_names(dsn, role, schemas)):
            raise click.ClickException("\n".join((*unknown, "Nothing was made. Make what is missing, or name another.")))
        asyncio.run(prepare_ledger(dsn))
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise click.ClickException(f"The ledger could not be made: {str(error) or 'the database does not answer'}") from error
    click.echo("-- The ledger is ready. askbus's user needs these rights; leave out what it is not to change:\n")
    click.echo("\n".join(rights_needed(role, schemas)))
