"""`askbus admin webhook …`: the operator's hand on webhooks, straight on the database."""

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from askbus.cli.database import WORKSPACE, on_the_database

if TYPE_CHECKING:
    from uuid import UUID

    from askbus.db.pool import Connection
    from askbus.outbound.policy import Policy
    from askbus.runtime.sealing import Sealer


@click.group
def webhook() -> None:
    """Addresses that are told what happens in a workspace, by signed requests; see docs/webhooks.md."""


@webhook.command("create")
@click.argument("url")
@WORKSPACE
@click.option("--project", metavar="NAME", help="Only what happens there; in the whole workspace by default.")
@click.option("--event", "events", multiple=True, metavar="WORD", help="Such as question.asked; give it once for each.")
@on_the_database
async def create(db: "Connection", *, url: str, workspace: str, project: str | None, events: tuple[str, ...]) -> None:
    """Make a webhook and print its id and its secret: this once, it cannot be shown again."""
    from pydantic import ValidationError

    from askbus.access import directory
    from askbus.webhooks import verbs
    from askbus.webhooks.model import QUESTION_EVENTS, WebhookForm

    workspace_id = await directory.find_workspace(db, workspace)
    project_id = None if project is None else await directory.find_project(db, workspace_id, project)
    try:
        form = WebhookForm(url=url, project_id=project_id, events=events or QUESTION_EVENTS)
    except ValidationError as error:
        raise click.UsageError(error.errors(include_url=False)[0]["msg"]) from None
    made = await verbs.create(
        db,
        None,
        form,
        webhook_id=verbs.fresh_id(),
        workspace_id=workspace_id,
        sealer=sealer(),
        policy=_policy(),
        trace=None,
    )
    click.echo(f"{made.webhook.id} {made.secret}")


@webhook.command("list")
@WORKSPACE
@on_the_database
async def show(db: "Connection", workspace: str) -> None:
    """Show a workspace's webhooks."""
    from askbus.access import directory
    from askbus.webhooks import reads

    workspace_id = await directory.find_workspace(db, workspace)
    for hook in (await reads.webhooks(db, None, workspace_id=workspace_id)).webhooks:
        state = hook.state.value if hook.reason is None else f"{hook.state.value} ({hook.reason})"
        click.echo(f"{hook.id}  {state}  {hook.url}  {', '.join(hook.events)}")


@webhook.command("rotate")
@click.argument("webhook", type=click.UUID)
@WORKSPACE
@click.option("--overlap", default=24 * 3600, show_default=True, help="Seconds for which the old secret signs too.")
@on_the_database
async def rotate(db: "Connection", *, webhook: "UUID", workspace: str, overlap: int) -> None:
    """Make a new secret and print it, this once."""
    from askbus.access import directory
    from askbus.webhooks import verbs

    made = await verbs.rotate(
        db,
        None,
        webhook,
        overlap=overlap,
        command_id=verbs.fresh_id(),
        workspace_id=await directory.find_workspace(db, workspace),
        sealer=sealer(),
        trace=None,
    )
    click.echo(made.secret)


@webhook.command("switch")
@click.argument("webhook", type=click.UUID)
@click.argument("state", type=click.Choice(["on", "off"]))
@WORKSPACE
@on_the_database
async def switch(db: "Connection", *, webhook: "UUID", state: str, workspace: str) -> None:
    """Switch a webhook on again after it was disabled, or off."""
    from askbus.access import directory
    from askbus.webhooks import verbs
    from askbus.webhooks.model import WebhookChange, WebhookState

    said = WebhookChange(state=WebhookState.ACTIVE if state == "on" else WebhookState.DISABLED)
    workspace_id = await directory.find_workspace(db, workspace)
    await verbs.change(db, None, webhook, said, workspace_id=workspace_id, policy=_policy(), trace=None)


@webhook.command("delete")
@click.argument("webhook", type=click.UUID)
@WORKSPACE
@on_the_database
async def delete(db: "Connection", *, webhook: "UUID", workspace: str) -> None:
    """Delete a webhook with its deliveries."""
    from askbus.access import directory
    from askbus.webhooks import verbs

    await verbs.delete(db, None, webhook, workspace_id=await directory.find_workspace(db, workspace))


@webhook.command("replay")
@click.argument("webhook", type=click.UUID)
@WORKSPACE
@click.option("--hours", type=float, default=24, show_default=True, help="How far back.")
@on_the_database
async def replay(db: "Connection", *, webhook: "UUID", workspace: str, hours: float) -> None:
    """Send again what happened in the last hours and did not arrive; prints how many deliveries that are."""
    from askbus.access import directory
    from askbus.webhooks import verbs

    workspace_id = await directory.find_workspace(db, workspace)
    since = datetime.now(UTC) - timedelta(hours=hours)
    click.echo((await verbs.replay(db, None, webhook, workspace_id=workspace_id, since=since)).count)


def sealer() -> "Sealer":
    """Under the key that the question-broker has."""
    from askbus.cli.deployment import secret_of
    from askbus.runtime.sealing import Sealer

    keys = os.environ.get("ASKBUS_SEALING_KEYS")
    return Sealer.of(keys, None if keys else secret_of(click.get_current_context().params["data"]))


def _policy() -> "Policy":
    from askbus.outbound.policy import Policy

    return Policy(name for name in os.environ.get("ASKBUS_OUTBOUND_HOSTS", "").split(",") if name.strip())
