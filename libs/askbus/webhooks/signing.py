"""What a receiver checks: the headers of Standard Webhooks 1.0.0, made by its own library. Pure."""

import base64
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from standardwebhooks.webhooks import Webhook as Signer

from askbus.webhooks.model import Event, EventData

SECRET_BYTES = 32
"""Between the 24 and the 64 that the standard asks for."""


def new_secret() -> bytes:
    """A signing secret, as it is kept."""
    return secrets.token_bytes(SECRET_BYTES)


def shown(secret: bytes) -> str:
    """The same as receivers' libraries take it."""
    return f"whsec_{base64.b64encode(secret).decode()}"


def body_of(
    event: str,
    *,
    occurred_at: datetime,
    entity_id: UUID,
    status: str,
    workspace_id: UUID,
    project_id: UUID | None,
    assignee_id: UUID | None,
) -> str:
    """The body: the same text at each attempt."""
    data = EventData(id=entity_id, state=status, workspace_id=workspace_id, project_id=project_id, assignee_id=assignee_id)
    return Event(type=event, timestamp=occurred_at, data=data).model_dump_json()


def headers_of(delivery_id: UUID, body: str, secrets: Sequence[bytes], now: datetime) -> Mapping[str, str]:
    """One signature with each of `secrets`: during a rotation the new one's and the old one's. `now` is in UTC."""
    return {
        "content-type": "application/json",
        "webhook-id": str(delivery_id),
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(Signer(secret).sign(str(delivery_id), now, body) for secret in secrets),
    }
