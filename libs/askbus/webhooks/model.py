"""Webhooks: types, events, commands, and when a delivery is tried again. Pure."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from askbus.access.model import Principal, PrincipalKind, Role
from askbus.access.zones import Moment
from askbus.bus.envelope import Command, Service
from askbus.errors import PermissionDenied

QUESTION_EVENTS = (
    "question.asked",
    "question.asked_back",
    "question.reminded",
    "question.escalated",
    "question.answered",
    "question.declined",
    "question.cancelled",
    "question.expired",
    "question.superseded",
)
ACTION_EVENTS = (
    "action.proposed",
    "action.rejected",
    "action.withdrawn",
    "action.expired",
    "action.applied",
    "action.failed",
    "action.conflicted",
    "action.undone",
)
EVENTS = QUESTION_EVENTS + ACTION_EVENTS
"""What a webhook can be told of: facts of these words. To add one, add it here; the question-broker then acts on it."""

PING = "webhook.ping"
"""Sent to one webhook when its admin wants to see whether it works."""

RETRIES = (5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600)
"""Seconds after each failure until the next attempt, over 31 hours (the schedule that Standard Webhooks 1.0.0 recommends, to its first
whole day); after the last one a delivery has failed."""
JITTER = 0.2
"""The part of a pause by which it is drawn longer, so that what failed together does not come back together."""
DEAD_AFTER = 5 * 24 * 3600
"""Seconds for which every attempt must have failed until a webhook is disabled."""
OVERLAP = 24 * 3600
"""Seconds for which the old secret signs too, unless a rotation says otherwise."""
MOST_REPLAYED = 10_000
"""Deliveries that one replay takes up."""


class WebhookState(StrEnum):
    ACTIVE = "active"
    DISABLED = "disabled"


class DeliveryState(StrEnum):
    """`held`: not sent because the webhook was disabled."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"
    HELD = "held"


def _known(events: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := sorted(set(events) - set(EVENTS)):
        raise ValueError(f"there is no event {unknown[0]!r}: known are {', '.join(EVENTS)}")
    return tuple(event for event in EVENTS if event in events)


Url = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
Events = Annotated[tuple[str, ...], Field(min_length=1, max_length=100), AfterValidator(_known)]


class WebhookForm(BaseModel):
    """What an admin says of a new webhook; without a project it is told of the whole workspace."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Url
    project_id: UUID | None = None
    events: Events = QUESTION_EVENTS


class WebhookChange(BaseModel):
    """What an admin changes of one; what is not said stays."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Url | None = None
    events: Events | None = None
    state: WebhookState | None = None


class Webhook(BaseModel):
    """A webhook as admins see it, without its secret. `reason` says why it is disabled: switched_off, gone, failing."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID | None
    url: str
    events: tuple[str, ...]
    state: WebhookState
    reason: str | None
    failing_since: datetime | None
    old_until: datetime | None
    created_by: UUID | None
    created_at: datetime


class NewSecret(BaseModel):
    """A webhook whose secret was just made. `secret` (`whsec_…`) is shown here and never again."""

    webhook: Webhook
    secret: str


class Attempt(BaseModel):
    """One request. Without a status and an error its worker died before it knew; it was made again."""

    attempt: int
    at: datetime
    status: int | None
    error: str | None
    duration_ms: int | None


class Delivery(BaseModel):
    """One event for one webhook. `id` is the `webhook-id` of every attempt; `due_at` is when a pending one is tried next."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    webhook_id: UUID
    event: str
    entity_id: UUID
    status: str
    occurred_at: datetime
    state: DeliveryState
    due_at: datetime
    settled_at: datetime | None
    attempts: tuple[Attempt, ...]


class DeliveryFilter(BaseModel):
    """Which deliveries to list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: DeliveryState | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None


class DeliveryPage(BaseModel):
    """A page, newest first; `next` is the `before` of the following page."""

    deliveries: tuple[Delivery, ...]
    next: UUID | None


class WebhookList(BaseModel):
    webhooks: tuple[Webhook, ...]


class Replayed(BaseModel):
    """How many deliveries will be sent again, with the ids that they had."""

    count: int


class EventData(BaseModel):
    """Ids and a state, never content (Q10): what is asked is read with a session or a token."""

    id: UUID
    state: str
    workspace_id: UUID
    project_id: UUID | None
    assignee_id: UUID | None


class Event(BaseModel):
    """The body of a request. `timestamp` is when it happened, which is not when it was sent."""

    type: str
    timestamp: datetime
    data: EventData


class CreateWebhook(Command[NewSecret], owner=Service.QUESTION_BROKER):
    """The command's id becomes the webhook's."""

    form: WebhookForm


class ChangeWebhook(Command[Webhook], owner=Service.QUESTION_BROKER):
    webhook_id: UUID
    change: WebhookChange


class DeleteWebhook(Command[Webhook], owner=Service.QUESTION_BROKER):
    """With its deliveries; what it was answers."""

    webhook_id: UUID


class RotateWebhook(Command[NewSecret], owner=Service.QUESTION_BROKER):
    """Makes a new secret; for `overlap` seconds the old one signs too."""

    webhook_id: UUID
    overlap: Annotated[int, Field(ge=0, le=30 * 24 * 3600)] = OVERLAP


class PingWebhook(Command[Delivery], owner=Service.QUESTION_BROKER):
    """Sends a `webhook.ping`. The command's id becomes the delivery's."""

    webhook_id: UUID


class ReplayDeliveries(Command[Replayed], owner=Service.QUESTION_BROKER):
    """Sends again: one delivery, or what happened since a time and did not arrive; with `delivered`, also what did."""

    webhook_id: UUID
    delivery_id: UUID | None = None
    since: Moment | None = None
    delivered: bool = False

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.delivery_id is None) == (self.since is None):
            raise ValueError("say which delivery, or since when")
        return self


Outcome = Literal["delivered", "again", "failed", "gone"]


def outcome_of(status: int | None, failures: int) -> Outcome:
    """What an attempt means that got this status (None: no answer), after so many failed ones of the same delivery."""
    if status is not None and 200 <= status < 300:
        return "delivered"
    if status == 410:
        return "gone"
    return "again" if failures < len(RETRIES) else "failed"


def pause_after(failures: int, drawn: float, wanted: float | None) -> float:
    """Seconds until the next attempt after the failure that follows `failures` others: as scheduled, stretched by `drawn` (0 to 1), or
    longer where the receiver asked for that (`Retry-After`), a day at most."""
    return max(RETRIES[failures] * (1 + JITTER * drawn), min(wanted or 0.0, 24 * 3600))


def require_admin(by: Principal) -> None:
    """Raises PermissionDenied. Webhooks carry a workspace's news outside: that takes an owner or admin, present."""
    if by.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("This needs a person: sign in. No token can do it.")
    if by.role not in {Role.OWNER, Role.ADMIN}:
        raise PermissionDenied("Only owners and admins of the workspace manage webhooks.")


def whose(webhook_id: UUID) -> str:
    return f"webhook/{webhook_id}"
