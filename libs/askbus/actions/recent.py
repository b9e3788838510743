"""What happened to actions lately, by id, headline and time."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal, PrincipalKind, Scope
from askbus.actions.model import ActionState
from askbus.actions.reads import access_of
from askbus.db.statements import Executor, Statement

RECENT = Statement("askbus.actions", "sql/recent.sql")


class RecentAction(BaseModel):
    """An action and when it last moved."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    project_id: UUID
    name: str
    state: ActionState
    at: datetime


async def recent(
    db: Executor, by: Principal, *, project_id: UUID | None, since: datetime | None, until: datetime | None, limit: int
) -> tuple[RecentAction, ...]:
    """Newest first. Who may read data sees what was applied or undone; what is still to be decided, who may see actions."""
    by.require(Scope.DATA_READ)
    everything = by.kind is PrincipalKind.SESSION or not by.scopes.isdisjoint({Scope.ACTIONS_PROPOSE, Scope.CHAT})
    rows = await RECENT.rows(
        db, project_id=project_id, since=since, until=until, limit=limit, everything=everything, **access_of(by)
    )
    return tuple(RecentAction.model_validate(row) for row in rows)
