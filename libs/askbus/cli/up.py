"""`askbus up`."""

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askbus.cli.deployment import data_option
from askbus.cli.first_start import first_owner
from askbus.stack.process import StackError

if TYPE_CHECKING:
    from askbus.stack.options import Options
    from askbus.stack.supervisor import Stack
    from askbus.stack.view import View

PREFERRED_HTTP_PORT = 8080
PORT = click.IntRange(0, 65535)
MODEL = ("ASKBUS_MODEL_API_KEY", "ASKBUS_MODEL_BASE_URL", "ASKBUS_MODELS")
"""One of the two says that there is a model: a key for the default endpoint, or an endpoint that may need none."""


@click.command
@data_option
@click.option(
    "--http-port", type=PORT, envvar="ASKBUS_HTTP_PORT", show_envvar=True, help="Of the web: 8080 where free, 0 for any."
)
@click.option("--postgres-port", type=PORT, help="Of the embedded Postgres; any free one by default.")
@click.option("--nats-port", type=PORT, help="Of the embedded NATS; any free one by default.")
@click.option("--records", metavar="URL", envvar="ASKBUS_RECORDS_URL", show_envvar=True, help="The team's records: any Postgres.")
def up(data: Path, http_port: int | None, postgres_port: int | None, nats_port: int | None, records: str | None) -> None:
    """Run everything on this machine: Postgres, NATS and the six services, until Ctrl-C.

    Ports that are not given are chosen once and kept in the data directory. ASKBUS_DATABASE_URL (an administrator's) and
    ASKBUS_NATS_URL name servers to be used instead of the embedded ones, ASKBUS_SECRET a secret instead of the one in the data
    directory. Without --records there is a small sample business to ask about.
    """
    from askbus.runtime.settings import Settings
    from askbus.stack.options import Options
    from askbus.tools.offered import own_tools

    database_url = os.environ.get("ASKBUS_DATABASE_URL") or None
    nats_url = os.environ.get("ASKBUS_NATS_URL") or None
    settings = Settings.load(database_url=database_url or "embedded", nats_url=nats_url or "embedded")
    own_tools(settings.tools)  # like wrong settings, wrong tools are named before any start
    options = Options(
        data=data,
        http_port=http_port,
        preferred_http_port=PREFERRED_HTTP_PORT if http_port is None else None,
        postgres_port=postgres_port,
        nats_port=nats_port,
        database_url=database_url,
        nats_url=nats_url,
        records_url=records,
        secret=os.environ.get("ASKBUS_SECRET") or None,
    )
    asyncio.run(run(options))


async def run(options: "Options") -> None:
    """Run and show a stack until SIGINT, SIGTERM or SIGHUP. Raises StackError when it does not come up."""
    from rich.console import Console

    from askbus.stack.supervisor import Stack
    from askbus.stack.view import View

    try:
        options.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        log_to(options.data / "logs" / "supervisor.log")
    except OSError as error:
        raise StackError(f"The data directory cannot be used: {error}. Choose another with --data.") from error
    stack = Stack(options)
    view = View(stack, Console(highlight=False))
    life = asyncio.create_task(_live(stack, view))
    watching = asyncio.create_task(view.run())
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        life.cancel()
        for again in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(again, os._exit, 130)  # a second time ends at once: the kernel takes the children along

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, interrupted)
    try:
        await life
    except asyncio.CancelledError:
        view.say("Stopped. The data is kept; `askbus up` goes on where this ended.")
    finally:
        watching.cancel()
        await asyncio.wait({watching})


def log_to(file: Path) -> None:
    """Keep what this process itself logs out of the live view."""
    import logging

    import structlog

    file.parent.mkdir(exist_ok=True)
    logging.basicConfig(filename=file, level=logging.WARNING)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(file.open("a")),
    )


async def _live(stack: "Stack", view: "View") -> None:
    async with stack:
        stack.guard_servers()
        view.say(f"askbus is at {stack.http_url}")
        link = await first_owner(stack.database_url, stack.http_url)
        if link is not None:
            view.say(f"Sign in within 15 minutes, once: {link}")
        if not any(os.environ.get(variable) for variable in MODEL):
            view.say(f"No model is named: questions work, the chat does not. Set {' or '.join(MODEL)} for it.")
        await asyncio.Event().wait()
