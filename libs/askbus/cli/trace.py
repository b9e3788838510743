"""`askbus trace`: one request, or everything that concerned one question, turn or action, as a tree over all services."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import click

from askbus.cli.deployment import data_option, database_url, trace_file

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from askbus.runtime.spans import RecordedSpan, Trace

SECOND = 1_000_000_000
LATER_SHOWN = 5
"""How many traces that went on with the same entities are named below one."""
SERVICE_WIDTH = 16
UNSAID = {"command_id", "subject", "http.response.status_code"}
"""Attributes that are not worth their room on a line."""


@click.command
@click.argument("id")
@data_option
def trace(id: str, data: Path) -> None:  # noqa: A002  # the argument's name in the help
    """Draw a trace as a tree over all services, with what started when and how long it took.

    ID is a trace's (the response header askbus-trace-id), or a question's, a turn's or an action's: then every trace that
    concerned it is drawn, the oldest first, so that a question shows where it was asked and where it was answered.
    """
    from rich.console import Console

    from askbus.runtime.spans import SpanFile, as_sought

    try:
        sought = as_sought(id)
    except ValueError:
        raise click.UsageError(f"{id!r} is no id: give 32 hexadecimal digits, with or without dashes.") from None
    file = SpanFile(trace_file(data))
    traces = file.traces_of(sought) or file.traces_of(asyncio.run(_traces_by_row(UUID(id), data)))
    if not traces:
        raise click.ClickException(
            f"Nothing about {id} in {file.path}. Services write their spans there within a second if ASKBUS_TRACE_FILE names"
            " it, and only the part of all traces that ASKBUS_TRACE_RATIO keeps."
        )
    console = Console(highlight=False)
    draw(console, traces)
    if len(traces) == 1:
        _draw_related(console, traces[0], file.traces_of(traces[0].ids()))
    if file.unreadable:
        click.echo(f"{file.unreadable} lines of {file.path} were cut off and left out.", err=True)


async def _traces_by_row(entity_id: UUID, data: Path) -> set[str]:
    """The ids of the traces that the entity's rows name, for spans that do not name the entity. Nothing without a database."""
    import asyncpg

    from askbus.db.pool import SETTINGS
    from askbus.db.statements import Statement

    try:
        db = await asyncpg.connect(database_url(data), server_settings=SETTINGS, timeout=5)
    except (click.UsageError, OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        click.echo(f"The database was not asked: {error}", err=True)
        return set()
    try:
        rows = await Statement("askbus.cli", "sql/traces_of.sql").rows(db, id=entity_id)
    finally:
        await db.close()
    return {row["trace"].split("-")[1] for row in rows}


def draw(console: "Console", traces: "Sequence[Trace]") -> None:
    """Each trace as a tree. The console decides about colours: none where it is no terminal."""
    from rich.text import Text

    for trace in traces:
        began = datetime.fromtimestamp(trace.start / SECOND, UTC)
        head = Text.assemble(("trace ", "dim"), (trace.id, "bold"))
        if trace is not traces[0]:
            head.append(f"  {duration(trace.start - traces[0].start)} later", "yellow")
        console.print(head, soft_wrap=True)
        spans = f"{len(trace.spans)} span{'s' * (len(trace.spans) > 1)} in {', '.join(map(short, trace.services))}"
        took = duration(trace.end - trace.start)
        console.print(f"{began:%Y-%m-%d %H:%M:%S} UTC, took {took}, {spans}", style="dim", soft_wrap=True)
        for line in _lines(trace):
            console.print(line, soft_wrap=True)
        console.print()


def _lines(trace: "Trace") -> "Iterator[Text]":
    from rich.text import Text

    yield Text(f"{'start':>10}{'took':>10}  {'service':<{SERVICE_WIDTH}}  what", style="dim")
    for levels, span in trace.tree():
        failed = span.status == "error" or "error.type" in span.attributes
        guides = "".join("   " if last else "│  " for last in levels[:-1]) + (
            "" if not levels else "└─ " if levels[-1] else "├─ "
        )
        line = Text(f"{duration(span.start - trace.start):>10}{duration(span.end - span.start):>10}  ")
        line.append(f"{short(span.service):<{SERVICE_WIDTH}}  ", "cyan")
        line.append(guides, "dim")
        line.append(span.name, "red" if failed else "")
        if status := span.attributes.get("http.response.status_code"):
            line.append(f" {status}", "red" if failed else "green")
        line.append("".join(f"  {name}={value}" for name, value in _told(span)), "dim")
        yield line


def _told(span: "RecordedSpan") -> "Iterator[tuple[str, object]]":
    return ((name, value) for name, value in span.attributes.items() if name not in UNSAID)


def _draw_related(console: "Console", drawn: "Trace", others: "Sequence[Trace]") -> None:
    """Where the same question, turn or action came up in other traces: a person's answer is a request of its own."""
    related = [trace for trace in others if trace.id != drawn.id]
    if not related:
        return
    console.print("The same went on in other traces:", style="dim")
    for trace in related[:LATER_SHOWN]:
        apart = trace.start - drawn.start
        when = f"{duration(abs(apart))} {'later' if apart >= 0 else 'earlier'}"
        console.print(f"  {trace.id}  {when:>16}  {trace.spans[0].name}", soft_wrap=True)
    if len(related) > LATER_SHOWN:
        console.print(f"  and {len(related) - LATER_SHOWN} more", style="dim")


def duration(nanoseconds: int) -> str:
    """For people: 12.3 ms, 4.56 s, 3 min 20 s, 7 h 05 min."""
    seconds = nanoseconds / SECOND
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def short(service: str) -> str:
    """`gateway` for `askbus-gateway`."""
    return service.removeprefix("askbus-")
