"""Which deployment a command talks to: what ASKBUS_… variables name, else what `askbus up` keeps in its data directory."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from askbus.stack.data import SPANS, read_embedded

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_DATA = Path(".askbus")


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


def database_url(data: Path) -> str:
    """The administrator's DSN. Raises UsageError that says which variable to set where nobody knows it."""
    return _known("ASKBUS_DATABASE_URL", read_embedded(data).database_url, data)


def public_url(data: Path) -> str:
    """The address that people open. Raises UsageError like `database_url`."""
    return _known("ASKBUS_PUBLIC_URL", read_embedded(data).public_url, data)


def secret_of(data: Path) -> str:
    """The deployment's secret. Raises UsageError like `database_url`."""
    return _known("ASKBUS_SECRET", read_embedded(data).secret, data)


def sign_in_link(address: str, code: str) -> str:
    """The code stands in the fragment: browsers send that to nobody."""
    return f"{address.rstrip('/')}/#login={code}"


def password_address(address: str, code: str) -> str:
    """The same for setting a password."""
    return f"{address.rstrip('/')}/#password={code}"


def trace_file(data: Path) -> Path:
    """Where services keep their spans, whether or not there are any."""
    return Path(os.environ.get("ASKBUS_TRACE_FILE") or data / SPANS)


def _known(variable: str, there: str | None, data: Path) -> str:
    value = os.environ.get(variable) or there
    if value is None:
        raise click.UsageError(f"Set {variable}, or start `askbus up` and name its --data directory (looked in {data}).")
    return value


def unreachable(error: Exception, data: Path) -> str:
    """What to tell an operator whose database could not be connected to."""
    reason = str(error) or "it does not answer"
    if os.environ.get("ASKBUS_DATABASE_URL"):
        return f"Postgres cannot be reached: {reason}. Check ASKBUS_DATABASE_URL (postgresql://user:password@host:5432/askbus)."
    return f"Postgres cannot be reached: {reason}. Is `askbus up` running on {data}?"


def required_secret() -> str:
    """ASKBUS_SECRET. Raises UsageError like `required`, also where it is too short."""
    from askbus.runtime.secrets import SHORTEST_SECRET

    secret = required("ASKBUS_SECRET")
    if len(secret) < SHORTEST_SECRET:
        raise click.UsageError(
            f"ASKBUS_SECRET has fewer than {SHORTEST_SECRET} characters: make one with `openssl rand -hex 32`."
        )
    return secret


def required(variable: str) -> str:
    """The value of an environment variable. Raises UsageError that says what it is for."""
    from askbus.runtime.settings import Settings

    value = os.environ.get(variable)
    if not value:
        meaning = Settings.model_fields[variable.removeprefix("ASKBUS_").lower()].description
        raise click.UsageError(f"Set {variable}: {meaning}")
    return value
