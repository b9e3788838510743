"""What people may see of standing approvals, with their access in the query; and what the action-applier compares."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal, PrincipalKind
from askbus.approvals.cover import Cover
from askbus.approvals.model import ApprovalFilter, ApprovalPage, NamedApproval
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import NotFound, PermissionDenied
from askbus.records.changes import PreparedOperation

LIST = Statement("askbus.approvals", "sql/list.sql")
CANDIDATES = Statement("askbus.approvals", "sql/candidates.sql")


class Candidate(BaseModel):
    """A standing approval for the place that a pending action came from, and that action as it was shown."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    cover: Cover
    digest: str
    operations: tuple[PreparedOperation, ...]

    @property
    def holds(self) -> bool:
        """Whether the action lies within what is covered."""
        return self.cover.holds(self.operations)


async def get(db: Executor, by: Principal, approval_id: UUID) -> NamedApproval:
    """One of them. Raises NotFound, also where it is not this person's to see."""
    rows = await _listed(db, by, ApprovalFilter(limit=1), approval_id)
    if not rows:
        raise NotFound("There is no such standing approval.")
    return rows[0]


async def list_page(db: Executor, by: Principal, wanted: ApprovalFilter, longest_days: int) -> ApprovalPage:
    """A page of them, newest first, and how long one may last here."""
    found = await _listed(db, by, wanted, None)
    return ApprovalPage(
        approvals=tuple(found), next=found[-1].id if len(found) == wanted.limit else None, longest_days=longest_days
    )


async def candidates(db: Executor, action_id: UUID) -> list[Candidate]:
    """What a pending action is to be weighed against, the oldest approval first."""
    return [Candidate.model_validate(row) for row in await CANDIDATES.rows(db, action_id=action_id)]


async def _listed(db: Executor, by: Principal, wanted: ApprovalFilter, approval_id: UUID | None) -> list[NamedApproval]:
    if by.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("Standing approvals are for people to see: sign in. No token can do it.")
    given: dict[str, Any] = wanted.model_dump()
    rows = await LIST.rows(db, id=approval_id, user_id=by.user_id, workspace_id=by.workspace_id, **given)
    return [_named(row) for row in rows]


def _named(row: Row) -> NamedApproval:
    return NamedApproval.model_validate({**row, "state": row["state_now"], "ended_at": row["ended_now"]})
