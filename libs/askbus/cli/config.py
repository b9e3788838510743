"""`askbus config`."""

import os
import re

import click

MASK = "••••••••"


@click.command
def config() -> None:
    """Print the effective settings, secrets masked, and which of them the environment sets."""
    from pydantic import SecretStr

    from askbus.runtime.settings import Settings

    settings = Settings.load()
    for name, field in Settings.model_fields.items():
        variable = f"ASKBUS_{name.upper()}"
        value = getattr(settings, name)
        shown = MASK if isinstance(value, SecretStr) else "" if value is None else masked_url(str(value))
        origin = "set" if os.environ.get(variable) else "default"
        click.echo(f"{variable}={shown}\n    {origin}. {field.description}")


def masked_url(text: str) -> str:
    """The same text with the password of each URL in it masked."""
    return re.sub(r"(://[^:/@\s]*):[^@/\s]*@", rf"\1:{MASK}@", text)
