"""`askbus probes`."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from askbus.cli.up import MODEL, log_to

if TYPE_CHECKING:
    from askbus.probes.model import Probe
    from askbus.probes.run import Place, Result
    from askbus.stack.options import Options

MODELS = (*MODEL, "ASKBUS_MODELS")


@click.command
@click.argument("names", nargs=-1)
@click.option("--model", metavar="NAME", help="One of ASKBUS_MODELS; without it, the deployment's own choice.")
@click.option("--times", type=click.IntRange(1, 50), default=1, show_default=True, help="How often each must hold.")
@click.option("--configured", is_flag=True, help="On the servers of ASKBUS_DATABASE_URL and ASKBUS_NATS_URL.")
@click.option("--list", "listed", is_flag=True, help="Only say what there is.")
def probes(names: tuple[str, ...], model: str | None, times: int, configured: bool, listed: bool) -> None:
    """Hold the prompts: put the probes, or those of these NAMES, to the configured model, and end with 1 where one does not hold.

    Runs everything of its own beside it, in a temporary directory and on a small business made for probes. --configured takes other
    servers than the embedded ones, with ASKBUS_SECRET; no deployment may run on them, and the database for the records is made and
    dropped on that Postgres.
    """
    wanted = _wanted(names)
    if listed:
        for probe in wanted:
            click.echo(f"{probe.name}: {probe.holds}")
        return
    _check_model(model)
    results = asyncio.run(_run(wanted, model, times, configured=configured))
    _show(results)
    if not all(result.holds for result in results):
        raise click.exceptions.Exit(1)


def _wanted(names: Sequence[str]) -> "tuple[Probe, ...]":
    from askbus.probes.model import probes as load

    known = load()
    for name in names:
        if name not in {probe.name for probe in known}:
            raise click.UsageError(f"There is no probe {name!r}. There are {', '.join(probe.name for probe in known)}.")
    return tuple(probe for probe in known if not names or probe.name in names)


def _check_model(model: str | None) -> None:
    from askbus.runtime.settings import Settings

    if not any(os.environ.get(variable) for variable in MODELS):
        raise click.UsageError(f"No model is named. Set {' or '.join(MODELS)}.")
    known = Settings.load(database_url="its own", nats_url="its own").configured_models()
    if model is not None and model not in known:
        raise click.UsageError(f"There is no model {model!r}: ASKBUS_MODELS knows {', '.join(sorted(known))}.")


async def _run(probes: "Sequence[Probe]", model: str | None, times: int, *, configured: bool) -> "list[Result]":
    from askbus.probes.run import run

    results = []
    async with _place(model, configured=configured) as place:
        for probe in probes:
            click.echo(f"{probe.name} …", err=True)
            result = await run(place, probe)
            for _again in range(times - 1):
                result = await run(place, probe) if result.holds else result
            results.append(result)
    return results


@asynccontextmanager
async def _place(model: str | None, *, configured: bool) -> "AsyncIterator[Place]":
    """A whole askbus for these probes, gone afterwards. Raises StackError."""
    from askbus.probes.model import schema
    from askbus.probes.run import Place, change
    from askbus.stack.supervisor import Stack
    from askbus.testing.records import team_database

    async with AsyncExitStack() as life:
        folder = Path(life.enter_context(tempfile.TemporaryDirectory(prefix="askbus-probes-")))
        log_to(folder / "logs" / "supervisor.log")
        records_url = None
        if configured:
            records_url = (await life.enter_async_context(team_database(_required("ASKBUS_DATABASE_URL")))).url
        stack = await life.enter_async_context(Stack(_options(folder, records_url)))
        records = records_url or stack.records_url
        if records is None:
            raise click.ClickException("There is no database for the records of the probes.")
        await change(records, schema())
        cookie, project_id = await _somebody(stack.database_url, model)
        yield Place(stack.http_url, cookie, project_id, stack.database_url, records)


def _options(folder: Path, records_url: str | None) -> "Options":
    """The stack's; where `records_url` names a database, the servers are the configured ones."""
    from askbus.stack.options import Options
    from askbus.stack.ports import free_port

    port = free_port()
    env = {"ASKBUS_PUBLIC_URL": f"http://127.0.0.1:{port}"}
    if records_url is None:
        return Options(data=folder, http_port=port, env=env, durable=False)
    return Options(
        data=folder,
        http_port=port,
        database_url=_required("ASKBUS_DATABASE_URL"),
        nats_url=_required("ASKBUS_NATS_URL"),
        secret=_required("ASKBUS_SECRET"),
        records_url=records_url,
        env=env,
    )


def _required(variable: str) -> str:
    from askbus.cli.deployment import required

    return required(variable)


async def _somebody(database_url: str, model: str | None) -> tuple[str, UUID]:
    """The session of a member in a workspace of their own, and their project."""
    import asyncpg

    from askbus.access import choices, verbs
    from askbus.access.model import Role
    from askbus.db.ids import new_id
    from askbus.db.pool import SETTINGS, prepare

    db = await asyncpg.connect(database_url, server_settings=SETTINGS)
    try:
        await prepare(db)
        async with db.transaction():
            mark = new_id().hex[-12:]
            workspace = await verbs.create_workspace(db, f"Probes {mark}")
            await choices.set_model(db, workspace, model)
            project = await verbs.create_project(db, workspace, "Probes")
            user = await verbs.create_user(db, f"probes-{mark}@localhost.example", "Probes")
            await verbs.set_member(db, workspace, user, Role.MEMBER)
            await verbs.add_to_project(db, workspace, project, user)
            session = await verbs.sign_in(db, await verbs.create_login_code(db, workspace, user))
    finally:
        await db.close()
    return session.cookie, project


def _show(results: "Sequence[Result]") -> None:
    """A line for each probe; what is wrong, and what was said, below those that do not hold."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("probe", "", "calls", "seconds", "what it holds, or what is wrong", box=None, padding=(0, 2, 0, 0))
    for result in results:
        words = Text(result.probe.holds) if result.holds else Text("\n".join([*result.findings, f"said: {result.said}"]))
        state = Text("holds", "green") if result.holds else Text("FAILS", "bold red")
        table.add_row(result.probe.name, state, str(result.calls), f"{result.seconds:.1f}", words)
    console = Console(highlight=False)
    console.print(table)
    held = sum(result.holds for result in results)
    console.print(f"{held} of {len(results)} hold.")
