"""`askbus mcp`: the deployment's MCP server over standard input and output."""

import asyncio
import logging
import sys

import click

from askbus.cli.ask import INTERRUPTED, REFUSED, told
from askbus.errors import Unauthenticated


@click.command(
    epilog="ASKBUS_URL and ASKBUS_TOKEN say where askbus is and who asks. Exit codes: 0 the client went away, 2 a wrong call, 77 the token "
    "does not count."
)
@click.option(
    "--progress-every",
    "every",
    type=click.FloatRange(0.1),
    default=12,
    show_default=True,
    metavar="SECONDS",
    help="How often a client that waits is told that it goes on.",
)
@click.option(
    "--hold",
    type=click.FloatRange(1, 600),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="How long one call may wait, for a client that gives up before its call does.",
)
@click.option("--verbose", is_flag=True, help="Say on standard error what is tried again.")
def mcp(*, every: float, hold: float, verbose: bool) -> None:
    """Serve MCP to one agent on this machine: standard input and output to a deployment's /mcp.

    Start it from an agent's configuration. One call waits for people for up to 600 seconds, whatever restarts meanwhile.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="askbus mcp: %(message)s")
    logging.getLogger("askbus.mcp").setLevel(logging.INFO if verbose else logging.WARNING)
    try:
        asyncio.run(_serve(told("ASKBUS_URL"), told("ASKBUS_TOKEN"), every, hold))
    except Unauthenticated as error:
        click.echo(f"Error: {error.message}", err=True)
        raise click.exceptions.Exit(REFUSED) from None
    except KeyboardInterrupt:
        raise click.exceptions.Exit(INTERRUPTED) from None


async def _serve(url: str, token: str, every: float, hold: float) -> None:
    from askbus.client.mcp.bridge import Bridge
    from askbus.client.mcp.gateway import Gateway
    from askbus.client.mcp.stdio import Output, read_lines

    gateway = Gateway(url, token)
    output = Output(sys.stdout.fileno())
    try:
        await Bridge(gateway, output, every=every, hold=hold).serve(read_lines(sys.stdin.fileno()))
    finally:
        await output.close()
        await gateway.close()
