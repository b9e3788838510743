"""Standing approvals: types, states, moves, commands. Pure."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from askbus.approvals.cover import Cover, Wish
from askbus.bus.envelope import Command, Service

DAY = 24 * 3600
"""Seconds."""
LONGEST_DAYS = 30
MOST_USES = 1000

Uses = Annotated[int, Field(ge=1, le=MOST_USES)]


class ApprovalState(StrEnum):
    ACTIVE = "active"
    USED_UP = "used_up"
    REVOKED = "revoked"
    EXPIRED = "expired"


class ApprovalVerb(StrEnum):
    """What happens to a standing approval. `end`: its conversation, its token or its maker's membership is gone."""

    USE = "use"
    USE_LAST = "use the last time"
    REVOKE = "revoke"
    END = "end"
    EXPIRE = "expire"


MOVES: dict[tuple[ApprovalState, ApprovalVerb], ApprovalState] = {
    (ApprovalState.ACTIVE, ApprovalVerb.USE): ApprovalState.ACTIVE,
    (ApprovalState.ACTIVE, ApprovalVerb.USE_LAST): ApprovalState.USED_UP,
    (ApprovalState.ACTIVE, ApprovalVerb.REVOKE): ApprovalState.REVOKED,
    (ApprovalState.ACTIVE, ApprovalVerb.END): ApprovalState.REVOKED,
    (ApprovalState.ACTIVE, ApprovalVerb.EXPIRE): ApprovalState.EXPIRED,
}
"""Every move there is."""


class Approval(BaseModel):
    """A stored standing approval. `state` is `expired` from the moment `expires_at` has passed on an active one.

    It is for one conversation (`thread_id`) or one token (`token_id`) of its maker's.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    thread_id: UUID | None
    token_id: UUID | None
    state: ApprovalState
    cover: Cover
    most_uses: int
    most_per_day: int | None
    uses: int
    made_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    revoked_by: UUID | None


class NamedApproval(Approval):
    """The same with who made and who revoked it, and what its token is called."""

    made_by: str
    revoked_by_name: str | None
    token_name: str | None


class Terms(BaseModel):
    """What a person says when they make one. `expires_in` is in seconds; the deployment says how long it may be at most."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID
    thread_id: UUID | None = None
    token_id: UUID | None = None
    allow: Wish
    most_uses: Uses
    most_per_day: Uses | None = None
    expires_in: Annotated[int, Field(ge=1, le=LONGEST_DAYS * DAY)]

    @model_validator(mode="after")
    def _for_one(self) -> Self:
        if (self.thread_id is None) == (self.token_id is None):
            raise ValueError("a standing approval is for one conversation or for one token")
        return self


class MakeApproval(Command[Approval], owner=Service.ACTION_APPLIER):
    """Approve a kind of change in advance. `approval_id` is the caller's choice: the same one sent again finds the same approval."""

    approval_id: UUID
    terms: Terms


class RevokeApproval(Command[Approval], owner=Service.ACTION_APPLIER):
    """End it now. What it has confirmed stays confirmed."""

    approval_id: UUID


class ApprovalFilter(BaseModel):
    """Which to list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: ApprovalState | None = None
    project_id: UUID | None = None
    thread_id: UUID | None = None
    token_id: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None


class ApprovalPage(BaseModel):
    """A page, newest first; `next` is the `before` of the following page. `longest_days` is how long one may last here; 0: none can be
    made."""

    approvals: tuple[NamedApproval, ...]
    next: UUID | None
    longest_days: int
