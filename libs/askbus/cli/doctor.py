"""`askbus doctor`."""

import asyncio
import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askbus.cli.deployment import data_option
from askbus.stack.data import read_embedded

if TYPE_CHECKING:
    from askbus.doctor.model import Finding, Report

MARKS = {"ok": "ok     ", "advice": "advice ", "wrong": "WRONG  "}


@click.command
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--call-models", is_flag=True, help="Ask each model for one word, which costs a few tokens.")
def doctor(data: Path, as_json: bool, call_models: bool) -> None:
    """Look at everything askbus depends on, and say what to do where something is wrong; ends with 1 where it is.

    The settings are those of the environment, else what `askbus up` keeps in the --data directory.
    """
    with _quiet():
        report = asyncio.run(_examine(data, call_models=call_models))
    if as_json:
        click.echo(report.model_dump_json(indent=2))
    else:
        _show(report)
    if not report.healthy:
        raise click.exceptions.Exit(1)


@contextmanager
def _quiet() -> Iterator[None]:
    """What clients log while they try is what the report says already."""
    import structlog

    def drop(_logger: object, _method: str, _event: MutableMapping[str, object]) -> str:
        raise structlog.DropEvent

    kept = structlog.get_config()
    structlog.configure(processors=[drop])
    try:
        yield
    finally:
        structlog.configure(**kept)


async def _examine(data: Path, *, call_models: bool) -> "Report":
    from dataclasses import asdict

    from askbus.doctor.issuers import issuers
    from askbus.doctor.model import Level, Report, ok, wrong
    from askbus.doctor.providers import providers
    from askbus.doctor.servers import bus, postgres
    from askbus.doctor.team import team
    from askbus.runtime.settings import Settings, SettingsError
    from askbus.stack.records import address

    embedded = read_embedded(data)
    kept = {name: value for name, value in asdict(embedded).items() if value and not os.environ.get(f"ASKBUS_{name.upper()}")}
    if not os.environ.get("ASKBUS_RECORDS_URL") and "database_url" in kept and "secret" in kept:
        kept["records_url"] = address(kept["database_url"], kept["secret"])
    try:
        settings = Settings.load(**kept)
    except SettingsError as error:
        return Report(healthy=False, findings=(wrong("settings", str(error), "askbus config prints what is set"),))
    findings: list[Finding] = [ok("settings", f"They can be read; people open {settings.public_url}.")]
    for looked in (postgres(settings), bus(settings), team(settings), providers(settings, call=call_models), issuers(settings)):
        findings += [finding async for finding in looked]
    return Report(healthy=all(one.level is not Level.WRONG for one in findings), findings=tuple(findings))


def _show(report: "Report") -> None:
    for one in report.findings:
        click.echo(f"{MARKS[one.level]}{one.area}: {one.says}")
        for step in one.do:
            click.echo(f"         {step}")
