"""What may be done to webhooks and their deliveries: one statement each. Only their owner may import this; expiry, its one verb, and the
operator's command line, which acts as nobody (`by` is None).

`now` is for tests alone: the database's clock rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from askbus.access.model import Principal
from askbus.bus.fact import Fact
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, InvalidInput, NotFound
from askbus.outbound.policy import Policy
from askbus.runtime.sealing import Sealer
from askbus.webhooks import reads
from askbus.webhooks.model import (
    DEAD_AFTER,
    MOST_REPLAYED,
    PING,
    Delivery,
    NewSecret,
    Outcome,
    Replayed,
    Webhook,
    WebhookChange,
    WebhookForm,
    require_admin,
    whose,
)
from askbus.webhooks.reads import acting
from askbus.webhooks.signing import new_secret, shown

CREATE = Statement("askbus.webhooks", "sql/create.sql")
CHANGE = Statement("askbus.webhooks", "sql/change.sql")
ROTATE = Statement("askbus.webhooks", "sql/rotate.sql")
DELETE = Statement("askbus.webhooks", "sql/delete.sql")
PING_ONE = Statement("askbus.webhooks", "sql/ping.sql")
REPLAY = Statement("askbus.webhooks", "sql/replay.sql")
RECORD = Statement("askbus.webhooks", "sql/record.sql")
RECORD_MISSED = Statement("askbus.webhooks", "sql/record_missed.sql")
CLAIM = Statement("askbus.webhooks", "sql/claim.sql")
SETTLE = Statement("askbus.webhooks", "sql/settle.sql")
EXPIRE_DUE = Statement("askbus.webhooks", "sql/expire_due.sql")

AT_ONCE = 4
"""How many attempts of one webhook run at a time."""


@dataclass(frozen=True)
class Due:
    """A leased delivery, with all that it takes to send it. The secrets are sealed; their owner is `whose`."""

    id: UUID
    webhook_id: UUID
    attempt: int
    failures: int
    url: str
    sealed: tuple[bytes, ...]
    event: str
    occurred_at: datetime
    entity_id: UUID
    status: str
    workspace_id: UUID
    project_id: UUID | None
    assignee_id: UUID | None

    @property
    def whose(self) -> str:
        return whose(self.webhook_id)


async def create(
    db: Executor,
    by: Principal | None,
    form: WebhookForm,
    *,
    webhook_id: UUID,
    workspace_id: UUID,
    sealer: Sealer,
    policy: Policy,
    trace: str | None,
) -> NewSecret:
    """Stores a webhook and makes its secret. The same id finds the same webhook, with its secret.

    Raises PermissionDenied, InvalidInput for an address that the policy forbids, NotFound for a project that is not the workspace's.
    """
    _allow(by)
    policy.check_url(form.url)
    row = await CREATE.row(
        db,
        id=webhook_id,
        url=form.url,
        events=list(form.events),
        project_id=form.project_id,
        secret=sealer.seal(new_secret(), whose(webhook_id)),
        trace=trace,
        **acting(by, workspace_id),
        **_via(by),
    )
    if row is None:
        raise NotFound("There is no such project in this workspace, or the Idempotency-Key is taken: send another.")
    return _with_secret(row, sealer)


async def change(
    db: Executor,
    by: Principal | None,
    webhook_id: UUID,
    said: WebhookChange,
    *,
    workspace_id: UUID,
    policy: Policy,
    trace: str | None,
) -> Webhook:
    """Changes what `said` names. Raises PermissionDenied, InvalidInput, NotFound."""
    _allow(by)
    if said.url is not None:
        policy.check_url(said.url)
    row = await CHANGE.row(
        db,
        id=webhook_id,
        url=said.url,
        events=None if said.events is None else list(said.events),
        state=said.state,
        trace=trace,
        **acting(by, workspace_id),
        **_via(by),
    )
    return Webhook.model_validate(_there(row))


async def rotate(
    db: Executor,
    by: Principal | None,
    webhook_id: UUID,
    *,
    overlap: int,
    command_id: UUID,
    workspace_id: UUID,
    sealer: Sealer,
    trace: str | None,
) -> NewSecret:
    """A new secret; for `overlap` seconds the old one signs too. Raises PermissionDenied, NotFound, InvalidInput for the command that made
    the webhook: everybody who sees it knows that id, and would be shown the secret."""
    _allow(by)
    if command_id == webhook_id:
        raise InvalidInput("The Idempotency-Key is taken: send another.")
    row = await ROTATE.row(
        db,
        id=webhook_id,
        secret=sealer.seal(new_secret(), whose(webhook_id)),
        overlap=overlap,
        command_id=command_id,
        trace=trace,
        **acting(by, workspace_id),
        **_via(by),
    )
    return _with_secret(_there(row), sealer)


async def delete(db: Executor, by: Principal | None, webhook_id: UUID, *, workspace_id: UUID) -> Webhook:
    """Deletes it with its deliveries, and returns what it was. Raises PermissionDenied, NotFound."""
    _allow(by)
    row = await DELETE.row(db, id=webhook_id, **acting(by, workspace_id), **_via(by))
    return Webhook.model_validate(_there(row))


async def ping(db: Executor, by: Principal | None, webhook_id: UUID, *, delivery_id: UUID, workspace_id: UUID) -> Delivery:
    """Sends a delivery that tells of nothing. Raises PermissionDenied, NotFound, Conflict where it is disabled."""
    _allow(by)
    row = await PING_ONE.row(db, id=delivery_id, webhook_id=webhook_id, event=PING, **acting(by, workspace_id))
    if row is None:
        raise await _inactive(db, by, webhook_id, workspace_id)
    return await reads.delivery(db, by, webhook_id, delivery_id, workspace_id=workspace_id)


async def replay(
    db: Executor,
    by: Principal | None,
    webhook_id: UUID,
    *,
    workspace_id: UUID,
    delivery_id: UUID | None = None,
    since: datetime | None = None,
    delivered: bool = False,
) -> Replayed:
    """Sends again what did not arrive (or with `delivered` did, too): one, or the oldest 10,000 that happened since a time.

    Raises PermissionDenied, NotFound, Conflict where the webhook is disabled.
    """
    _allow(by)
    hook = await reads.webhook(db, by, webhook_id, workspace_id=workspace_id)
    if delivery_id is not None:
        await reads.delivery(db, by, hook.id, delivery_id, workspace_id=workspace_id)
    row = await REPLAY.one(
        db,
        webhook_id=webhook_id,
        delivery_id=delivery_id,
        since=since,
        delivered=delivered,
        most=MOST_REPLAYED,
        **acting(by, workspace_id),
        **_via(by),
    )
    if row["count"] == 0 and hook.state != "active":
        raise await _inactive(db, by, webhook_id, workspace_id)
    return Replayed(count=row["count"])


async def record(db: Executor, fact: Fact) -> int:
    """Notes the fact for each webhook that wants it; once, however often it arrives. Returns how many that were."""
    return len(await RECORD.rows(db, seq=fact.seq, xid=fact.xid, fact=fact.fact, entity_id=fact.entity_id))


async def record_missed(db: Executor, *, rested: float) -> int:
    """The same for changes of the last hour that nobody noted within `rested` seconds."""
    return len(await RECORD_MISSED.rows(db, rested=rested))


async def claim(db: Executor, *, limit: int, lease: float) -> Sequence[Due]:
    """Leases up to `limit` deliveries that are due, for `lease` seconds; any number of callers, each delivery one."""
    return [_due(row) for row in await CLAIM.rows(db, limit=limit, at_once=AT_ONCE, lease=lease)]


async def settle(
    db: Executor, due: Due, outcome: Outcome, *, status: int | None, error: str | None, duration_ms: int, pause: float
) -> str | None:
    """What became of an attempt; `pause` is in seconds, where it is made again. Returns why the webhook is disabled, where it now is."""
    row = await SETTLE.one(
        db,
        id=due.id,
        webhook_id=due.webhook_id,
        attempt=due.attempt,
        outcome=outcome,
        status=status,
        error=error,
        duration_ms=duration_ms,
        pause=pause,
        dead_after=DEAD_AFTER,
    )
    reason: str | None = row["disabled"]
    return reason


async def expire_due(db: Executor, *, keep: float, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Deletes up to `batch` deliveries that were settled `keep` seconds ago. Expiry's verb."""
    return [row["id"] for row in await EXPIRE_DUE.rows(db, keep=keep, batch=batch, now=now)]


def fresh_id() -> UUID:
    """For whoever has no command to name a new webhook, or a ping, by."""
    return new_id()


def _allow(by: Principal | None) -> None:
    if by is not None:
        require_admin(by)


def _via(by: Principal | None) -> dict[str, object]:
    return {"via": "command-line" if by is None else by.kind.value, "via_id": None if by is None else by.id}


def _there(row: Row | None) -> Row:
    if row is None:
        raise NotFound("There is no such webhook.")
    return row


def _with_secret(row: Row, sealer: Sealer) -> NewSecret:
    secret = sealer.open(row["secret"], whose(row["id"]))
    return NewSecret(webhook=Webhook.model_validate(row), secret=shown(secret))


async def _inactive(db: Executor, by: Principal | None, webhook_id: UUID, workspace_id: UUID) -> Conflict:
    await reads.webhook(db, by, webhook_id, workspace_id=workspace_id)
    return Conflict("This webhook is disabled. Switch it on first: its state is `active` then.")


def _due(row: Row) -> Due:
    sealed = tuple(secret for secret in (row["secret"], row["old_secret"]) if secret is not None)
    names = ("id", "webhook_id", "failures", "url", "event", "occurred_at", "entity_id", "status", "workspace_id", "project_id",
             "assignee_id")  # fmt: skip
    return Due(attempt=row["attempts"], sealed=sealed, **{name: row[name] for name in names})
