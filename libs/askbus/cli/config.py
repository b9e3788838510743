"""`askbus config`."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askbus.cli.deployment import data_option
from askbus.masking import HIDDEN
from askbus.stack.data import read_embedded

if TYPE_CHECKING:
    from pydantic import JsonValue


@click.command
@data_option
def config(data: Path) -> None:
    """Print the effective settings, secrets masked, and where each comes from.

    That is the environment, else what `askbus up` keeps in the --data directory, else the default.
    """
    from dataclasses import asdict

    from askbus.runtime.settings import Settings

    kept = {
        name: value
        for name, value in asdict(read_embedded(data)).items()
        if value is not None and not os.environ.get(f"ASKBUS_{name.upper()}")
    }
    told = Settings.load(**kept).model_dump(mode="json", exclude_unset=True)
    for name, field in Settings.model_fields.items():
        variable = f"ASKBUS_{name.upper()}"
        shown = masked_url(as_told(told.get(name, field.default)))
        origin = "set" if os.environ.get(variable) else f"kept in {data}" if name in kept else "default"
        click.echo(f"{variable}={shown}\n    {origin}. {field.description}")


def as_told(value: "JsonValue | tuple[()]") -> str:
    """The value as its variable takes it, so that it can be copied from here, except for the secrets in it (pydantic's own mask)."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    return (json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)).replace("*" * 10, HIDDEN)


def masked_url(text: str) -> str:
    """The same text with the password of each URL in it masked."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", rf"\1:{HIDDEN}@", text)
