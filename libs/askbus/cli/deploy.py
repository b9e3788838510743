"""`askbus deploy …`: what an operator needs for servers of their own."""

import click

from askbus.cli.deployment import required_secret


@click.group
def deploy() -> None:
    """Configuration for Postgres and NATS servers that askbus does not start itself."""


@deploy.command("nats-conf")
def nats_conf() -> None:
    """Print the accounts block of NATS's configuration: who may connect, and what each may do.

    Users, passwords and the authorisation callout's key derive from ASKBUS_SECRET. The text holds secrets.
    """
    from askbus.bus.accounts import accounts_block

    click.echo(accounts_block(required_secret()))


@deploy.command("sealing-key")
def sealing_key() -> None:
    """Print the key that seals secrets at rest, as ASKBUS_SEALING_KEYS takes it: to keep it behind a new one when ASKBUS_SECRET changes."""
    from askbus.runtime.secrets import sealing_key_text

    click.echo(sealing_key_text(required_secret()))
