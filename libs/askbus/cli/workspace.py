"""`askbus admin workspace …`: teams, and what each of them chose."""

from typing import TYPE_CHECKING, TextIO

import click

from askbus.access.model import NumberCheck
from askbus.cli.database import on_the_database

if TYPE_CHECKING:
    from askbus.db.pool import Connection


@click.group
def workspace() -> None:
    """Teams: everything belongs to exactly one."""


@workspace.command("create")
@click.argument("name")
@on_the_database
async def create_workspace(db: "Connection", name: str) -> None:
    """Make a workspace and print its id."""
    from askbus.access import verbs

    click.echo(await verbs.create_workspace(db, name))


@workspace.command("model")
@click.argument("workspace")
@click.argument("model", required=False)
@on_the_database
async def set_workspace_model(db: "Connection", workspace: str, model: str | None) -> None:
    """Choose the model that answers in a workspace, one of ASKBUS_MODELS; without a name, the deployment's own choice again."""
    from askbus.access import choices, directory
    from askbus.runtime.settings import Settings

    known = Settings.load(database_url="not needed", nats_url="not needed").configured_models()
    if model is not None and model not in known:
        raise click.ClickException(
            f"There is no model {model!r}: known are {', '.join(sorted(known))}. Set ASKBUS_MODELS here as the agent-loop has it."
        )
    await choices.set_model(db, await directory.find_workspace(db, workspace), model)


@workspace.command("numbers")
@click.argument("workspace")
@click.argument("check", type=click.Choice([check.value.replace("_", "-") for check in NumberCheck]))
@on_the_database
async def set_number_check(db: "Connection", workspace: str, check: str) -> None:
    """Say what becomes of an answer with numbers that have no source: mark them, or ask the model once more before (ask-again)."""
    from askbus.access import choices, directory

    await choices.set_number_check(db, await directory.find_workspace(db, workspace), NumberCheck(check.replace("-", "_")))


@workspace.command("instructions")
@click.argument("workspace")
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@on_the_database
async def set_instructions(db: "Connection", workspace: str, file: TextIO | None) -> None:
    """Tell the model in every prompt of a workspace what FILE says (- is standard input), 4,000 characters; without it, nothing."""
    from askbus.access import choices, directory

    await choices.set_instructions(db, await directory.find_workspace(db, workspace), None if file is None else file.read())
