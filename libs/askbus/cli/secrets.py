"""`askbus secrets`: the keys that seal what a deployment keeps for its people."""

from typing import TYPE_CHECKING
from uuid import UUID

import click

from askbus.cli.database import step_by_step

if TYPE_CHECKING:
    from askbus.db.pool import Connection

BATCH = 100


@click.group
def secrets() -> None:
    """Secrets at rest; see docs/security.md."""


@secrets.command("rotate")
@step_by_step
async def rotate(db: "Connection") -> None:
    """Seal everything anew under the first of ASKBUS_SEALING_KEYS.

    In small batches, each by itself: stopped at any point, it goes on where it is started again. Run it once all question-brokers have the
    new key first. It ends with 1 where something cannot be opened.
    """
    from askbus.cli.webhooks import sealer
    from askbus.webhooks.resealing import reseal

    unreadable: list[str] = []
    for noun, move in (("webhook", reseal),):
        after: UUID | None = UUID(int=0)
        done = seen = 0
        while after is not None:
            moved = await move(db, sealer(), after=after, batch=BATCH)
            done, seen, after = done + moved.done, seen + moved.seen, moved.next
            unreadable += [f"{noun} {key}" for key in moved.unreadable]
        click.echo(f"{noun}s: {done} of {seen} sealed anew")
    for owner in unreadable:
        click.echo(
            f"{owner} cannot be opened: it stays listed and unusable. Add the key that sealed it, or make its secret anew."
        )
    click.echo("Nothing else is sealed under another key than the first: the old keys may be dropped.")
    if unreadable:
        raise click.exceptions.Exit(1)
