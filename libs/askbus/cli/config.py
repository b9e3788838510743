"""`askbus config`."""

import os
import re
from pathlib import Path

import click

from askbus.cli.deployment import data_option
from askbus.stack.data import read_embedded

MASK = "••••••••"


@click.command
@data_option
def config(data: Path) -> None:
    """Print the effective settings, secrets masked, and where each comes from.

    That is the environment, else what `askbus up` keeps in the --data directory, else the default.
    """
    from dataclasses import asdict

    from pydantic import SecretStr

    from askbus.runtime.settings import Settings

    kept = {
        name: value
        for name, value in asdict(read_embedded(data)).items()
        if value is not None and not os.environ.get(f"ASKBUS_{name.upper()}")
    }
    settings = Settings.load(**kept)
    for name, field in Settings.model_fields.items():
        variable = f"ASKBUS_{name.upper()}"
        value = getattr(settings, name)
        shown = MASK if isinstance(value, SecretStr) else "" if value is None else masked_url(str(value))
        origin = "set" if os.environ.get(variable) else f"kept in {data}" if name in kept else "default"
        click.echo(f"{variable}={shown}\n    {origin}. {field.description}")


def masked_url(text: str) -> str:
    """The same text with the password of each URL in it masked."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", rf"\1:{MASK}@", text)
