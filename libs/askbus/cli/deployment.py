"""Which deployment a command talks to: what ASKBUS_… variables name, else what `askbus up` keeps in its data directory."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_DATA = Path(".askbus")


@dataclass(frozen=True)
class Deployment:
    """What is known of a deployment. `database_url` is the administrator's; `nats_url` holds no user of ours."""

    database_url: str
    nats_url: str
    secret: str
    public_url: str
    trace_file: Path


def data_option(command: F) -> F:
    """`--data DIR`, for commands that may be about a stack on this machine."""
    return click.option(
        "--data",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_DATA,
        envvar="ASKBUS_DATA",
        show_envvar=True,
        show_default=True,
        help="The data directory of `askbus up`.",
    )(command)


def find_deployment(data: Path) -> Deployment:
    """The deployment that the environment names, with what it leaves out taken from the data directory.

    Raises UsageError that says which variable to set when neither knows.
    """
    from askbus.stack.data import read_embedded

    embedded = read_embedded(data)

    def known(variable: str, there: str | None) -> str:
        value = os.environ.get(variable) or there
        if value is None:
            raise click.UsageError(f"Set {variable}, or start `askbus up` and name its --data directory (looked in {data}).")
        return value

    return Deployment(
        database_url=known("ASKBUS_DATABASE_URL", embedded.database_url),
        nats_url=known("ASKBUS_NATS_URL", embedded.nats_url),
        secret=known("ASKBUS_SECRET", embedded.secret),
        public_url=known("ASKBUS_PUBLIC_URL", embedded.public_url),
        trace_file=Path(known("ASKBUS_TRACE_FILE", str(data / "spans.jsonl"))),
    )


def required(variable: str) -> str:
    """The value of an environment variable. Raises UsageError that says what it is for."""
    from askbus.runtime.settings import Settings

    value = os.environ.get(variable)
    if not value:
        meaning = Settings.model_fields[variable.removeprefix("ASKBUS_").lower()].description
        raise click.UsageError(f"Set {variable}: {meaning}")
    return value
