"""`askbus ask`, `wait`, `list`, `cancel`: questions from a shell, over HTTP. They need nothing but `pip install askbus`.

The exit code says what became of the question, standard output holds the answer alone (or with --json all of it), everything else goes to
standard error. Credentials come from the environment and are never an argument, which other users of the machine could read.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import click

from askbus.client import HttpClient, Priority, Question, QuestionState
from askbus.client.ids import new_question_id
from askbus.errors import AskbusError, PermissionDenied, TimedOut, Unauthenticated, Unavailable
from askbus.questions.attention import AnsweringRole

if TYPE_CHECKING:
    from pydantic import JsonValue

T = TypeVar("T")

EXIT = {
    QuestionState.ANSWERED: 0,
    QuestionState.OPEN: 3,
    QuestionState.DECLINED: 4,
    QuestionState.EXPIRED: 5,
    QuestionState.CANCELLED: 6,
    QuestionState.SUPERSEDED: 7,
}
"""What the exit code says of a question. 1 is an error, 2 a wrong call (click), 75 that askbus cannot be reached now, 77 that the token
may not (both as in sysexits.h), 130 that the wait was interrupted."""
UNREACHABLE, REFUSED, INTERRUPTED = 75, 77, 130

CODES = """\b
Exit codes: 0 answered, 3 still open, 4 declined, 5 expired, 6 cancelled, 7 superseded; 1 an error, 2 a wrong call,
75 askbus cannot be reached now, 77 the token may not, 130 interrupted (the question stays open).
ASKBUS_URL and ASKBUS_TOKEN say where askbus is and who asks."""

ROLES = tuple(role.value for role in AnsweringRole)

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the whole question as JSON.")


def _schema(_context: click.Context, _option: click.Parameter, said: str | None) -> "JsonValue":
    """The JSON itself where it starts with a brace, else that of the file."""
    if said is None:
        return None
    try:
        return json.loads(said if said.lstrip().startswith("{") else Path(said).read_bytes())  # type: ignore[no-any-return]
    except OSError as error:
        raise click.BadParameter(f"{said}: {error.strerror}. Give a file, or the JSON itself: {{…}}.") from None
    except ValueError as error:
        raise click.BadParameter(f"This is no JSON: {error}.") from None


def _whom(_context: click.Context, _option: click.Parameter, said: str | None) -> "dict[str, JsonValue] | None":
    """A role's holders, or a person."""
    if said is None:
        return None
    if said in ROLES:
        return {"role": said}
    try:
        return {"user_id": str(UUID(said))}
    except ValueError:
        raise click.BadParameter(f"Give one of {', '.join(ROLES)}, or a person's id.") from None


@click.command(epilog=CODES)
@click.argument("text")
@click.option("--project", envvar="ASKBUS_PROJECT", show_envvar=True, required=True, type=click.UUID, help="Whose people to ask.")
@click.option("--option", "options", multiple=True, help="A choice; give it once for each.")
@click.option("--multiple", is_flag=True, help="Several options may be chosen.")
@click.option("--no-free-text", "free_text", flag_value=False, default=True, help="An option only, nothing else.")
@click.option("--title", help="A line above it.")
@click.option("--link", help="Where it is about: https://…")
@click.option("--priority", type=click.Choice([priority.value for priority in Priority]), default=Priority.NORMAL.value)
@click.option("--assignee", type=click.UUID, help="Who shall answer, by id.")
@click.option("--expires-in", type=int, default=24 * 3600, show_default=True, metavar="SECONDS")
@click.option("--schema", "answer_schema", callback=_schema, metavar="FILE|JSON", help="The answer's fields, a flat JSON schema.")
@click.option("--remind-after", type=int, metavar="SECONDS", help="Then show it as new again to all who may answer.")
@click.option("--escalate-after", type=int, metavar="SECONDS", help="Then let --escalate-to answer it too.")
@click.option("--escalate-to", callback=_whom, metavar="ROLE|USER", help="owner, admin or member; or a person, by id.")
@click.option("--dedupe-key", help="The same key finds the same question, so that a script may be started again.")
@click.option("--wait", type=click.FloatRange(0), default=0, metavar="SECONDS", help="Wait so long for the outcome.")
@AS_JSON
def ask(
    text: str,
    *,
    project: UUID,
    options: tuple[str, ...],
    priority: str,
    remind_after: int | None,
    escalate_after: int | None,
    escalate_to: "dict[str, JsonValue] | None",
    wait: float,
    as_json: bool,
    **said: Any,
) -> None:
    """Ask the people of a project TEXT (- reads it from standard input), and print the answer."""
    if (escalate_after is None) != (escalate_to is None):
        raise click.UsageError("Give --escalate-after and --escalate-to together: when, and to whom.")
    said["remind"] = None if remind_after is None else {"after": remind_after}
    said["escalate"] = None if escalate_to is None else {"after": escalate_after, **escalate_to}
    if text == "-":
        text = sys.stdin.read().strip()
    chosen = new_question_id()
    asked = [chosen]

    async def work(bus: HttpClient) -> Question:
        question = await bus.ask(project, text, options=options, priority=Priority(priority), question_id=chosen, **said)
        asked[0] = question.id
        if wait and not question.settled:
            click.echo(f"Asked: {question.id}", err=True)
            question = await bus.wait(question.id, wait)
        return question

    _tell(_run(work, asked), as_json)


@click.command(epilog=CODES)
@click.argument("question", type=click.UUID)
@click.option("--wait", type=click.FloatRange(0), default=600, show_default=True, metavar="SECONDS", help="0 only looks.")
@AS_JSON
def wait(question: UUID, *, wait: float, as_json: bool) -> None:
    """Wait for the outcome of a question that was asked before, and print the answer."""
    _tell(_run(lambda bus: bus.wait(question, wait), [question]), as_json)


@click.command("list", epilog=CODES)
@AS_JSON
def list_open(as_json: bool) -> None:
    """Show what this token asked and nobody has settled yet, newest first: an id and the text's first line each."""
    found = _run(lambda bus: bus.list_open(), [])
    if as_json:
        click.echo(json.dumps([question.model_dump(mode="json") for question in found], ensure_ascii=False))
        return
    for question in found:
        click.echo(f"{question.id}  {question.title or question.text.splitlines()[0]}")


@click.command(epilog=CODES)
@click.argument("question", type=click.UUID)
@AS_JSON
def cancel(question: UUID, *, as_json: bool) -> None:
    """Take a question back. Ends with 0 where that was done."""
    taken_back = _run(lambda bus: bus.cancel(question), [])
    if as_json:
        click.echo(taken_back.model_dump_json())


def _run(work: Callable[[HttpClient], Awaitable[T]], waits_for: list[UUID]) -> T:
    """What `work` returns; what it raises, as an exit code with a line on standard error."""

    async def connected() -> T:
        async with HttpClient(told("ASKBUS_URL"), told("ASKBUS_TOKEN")) as bus:
            return await work(bus)

    try:
        return asyncio.run(connected())
    except KeyboardInterrupt:
        for question_id in waits_for:
            click.echo(f"The question stays open. Attach again: askbus wait {question_id}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except AskbusError as error:
        click.echo(f"Error: {error.message}", err=True)
        transient = isinstance(error, Unavailable | TimedOut)
        refused = isinstance(error, Unauthenticated | PermissionDenied)
        raise click.exceptions.Exit(UNREACHABLE if transient else REFUSED if refused else 1) from None


def told(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise click.UsageError(
            f"Set {variable}: where askbus is (https://…)." if variable == "ASKBUS_URL" else f"Set {variable}."
        )
    return value


def _tell(question: Question, as_json: bool) -> None:
    if as_json:
        click.echo(question.model_dump_json())
    elif question.state is QuestionState.ANSWERED:
        click.echo(_plain(question.answer))
    else:
        if question.state is QuestionState.OPEN:
            click.echo(question.id)
        reason = f": {question.reason}" if question.reason else ""
        click.echo(f"{question.state.value}{reason}", err=True)
    raise click.exceptions.Exit(EXIT[question.state])


def _plain(answer: "JsonValue") -> str:
    """A text as it is; several options a line each; a form as JSON."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        return "\n".join(str(choice) for choice in answer)
    return json.dumps(answer, ensure_ascii=False)
