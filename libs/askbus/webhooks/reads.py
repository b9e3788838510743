"""What owners and admins may see of webhooks: their membership, as it is at that moment, is in every query."""

from uuid import UUID

from askbus.access.model import Principal
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound
from askbus.webhooks.model import Delivery, DeliveryFilter, DeliveryPage, Webhook, WebhookList, require_admin

LIST = Statement("askbus.webhooks", "sql/list.sql")
DELIVERIES = Statement("askbus.webhooks", "sql/deliveries.sql")


def acting(by: Principal | None, workspace_id: UUID) -> dict[str, object]:
    """Who looks, or acts: an admin by their membership, or the operator at the command line (None), who may everything."""
    return {"operator": by is None, "user_id": None if by is None else by.user_id, "workspace_id": workspace_id}


async def webhooks(db: Executor, by: Principal | None, *, workspace_id: UUID) -> WebhookList:
    """All of a workspace. Raises PermissionDenied."""
    if by is not None:
        require_admin(by)
    rows = await LIST.rows(db, id=None, **acting(by, workspace_id))
    return WebhookList(webhooks=tuple(Webhook.model_validate(row) for row in rows))


async def webhook(db: Executor, by: Principal | None, webhook_id: UUID, *, workspace_id: UUID) -> Webhook:
    """One. Raises PermissionDenied, NotFound."""
    if by is not None:
        require_admin(by)
    row = await LIST.row(db, id=webhook_id, **acting(by, workspace_id))
    if row is None:
        raise NotFound("There is no such webhook.")
    return Webhook.model_validate(row)


async def deliveries(
    db: Executor, by: Principal | None, webhook_id: UUID, wanted: DeliveryFilter, *, workspace_id: UUID
) -> DeliveryPage:
    """A page of its deliveries, newest first. Raises PermissionDenied, NotFound."""
    await webhook(db, by, webhook_id, workspace_id=workspace_id)
    rows = await DELIVERIES.rows(db, webhook_id=webhook_id, id=None, **wanted.model_dump(), **acting(by, workspace_id))
    found = tuple(Delivery.model_validate(row) for row in rows)
    return DeliveryPage(deliveries=found, next=found[-1].id if len(found) == wanted.limit else None)


async def delivery(db: Executor, by: Principal | None, webhook_id: UUID, delivery_id: UUID, *, workspace_id: UUID) -> Delivery:
    """One, with its attempts. Raises NotFound."""
    row = await DELIVERIES.row(
        db, webhook_id=webhook_id, id=delivery_id, state=None, before=None, limit=1, **acting(by, workspace_id)
    )
    if row is None:
        raise NotFound("There is no such delivery of this webhook.")
    return Delivery.model_validate(row)
