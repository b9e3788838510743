"""Webhooks: their commands, and the facts that become deliveries. Sending is the sender's."""

from collections.abc import Callable

from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.outbound.policy import Policy
from askbus.runtime import crash
from askbus.runtime.sealing import Sealer
from askbus.runtime.telemetry import traceparent
from askbus.webhooks import verbs
from askbus.webhooks.model import (
    ChangeWebhook,
    CreateWebhook,
    DeleteWebhook,
    Delivery,
    NewSecret,
    PingWebhook,
    ReplayDeliveries,
    Replayed,
    RotateWebhook,
    Webhook,
)


class Webhooks:
    """Every change to webhooks, each one statement on `pool`. `due` is called when there is something to send."""

    def __init__(self, pool: Pool, sealer: Sealer, policy: Policy, due: Callable[[], None]) -> None:
        self.pool = pool
        self.sealer = sealer
        self.policy = policy
        self.due = due

    async def on_create_webhook(self, command: CreateWebhook) -> NewSecret:
        return await verbs.create(
            self.pool,
            command.by,
            command.form,
            webhook_id=command.command_id,
            workspace_id=command.by.workspace_id,
            sealer=self.sealer,
            policy=self.policy,
            trace=traceparent(),
        )

    async def on_change_webhook(self, command: ChangeWebhook) -> Webhook:
        return await verbs.change(
            self.pool,
            command.by,
            command.webhook_id,
            command.change,
            workspace_id=command.by.workspace_id,
            policy=self.policy,
            trace=traceparent(),
        )

    async def on_rotate_webhook(self, command: RotateWebhook) -> NewSecret:
        return await verbs.rotate(
            self.pool,
            command.by,
            command.webhook_id,
            overlap=command.overlap,
            command_id=command.command_id,
            workspace_id=command.by.workspace_id,
            sealer=self.sealer,
            trace=traceparent(),
        )

    async def on_delete_webhook(self, command: DeleteWebhook) -> Webhook:
        return await verbs.delete(self.pool, command.by, command.webhook_id, workspace_id=command.by.workspace_id)

    async def on_ping_webhook(self, command: PingWebhook) -> Delivery:
        by = command.by
        made = await verbs.ping(self.pool, by, command.webhook_id, delivery_id=command.command_id, workspace_id=by.workspace_id)
        self.due()
        return made

    async def on_replay_deliveries(self, command: ReplayDeliveries) -> Replayed:
        replayed = await verbs.replay(
            self.pool,
            command.by,
            command.webhook_id,
            workspace_id=command.by.workspace_id,
            delivery_id=command.delivery_id,
            since=command.since,
            delivered=command.delivered,
        )
        self.due()
        return replayed

    async def on_news(self, fact: Fact) -> None:
        """A delivery for each webhook that wants this fact; the fact is acknowledged after they are stored."""
        crash.point("broker.webhook.before_record")
        if await verbs.record(self.pool, fact):
            crash.point("broker.webhook.after_record")
            self.due()

    async def record_missed(self, rested: float) -> None:
        """What a lost NATS store would have told."""
        if await verbs.record_missed(self.pool, rested=rested):
            self.due()
