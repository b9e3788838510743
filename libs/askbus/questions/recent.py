"""What happened to questions lately, by id, title and time."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal, PrincipalKind, Scope
from askbus.db.statements import Executor, Statement
from askbus.questions.model import QuestionState

RECENT = Statement("askbus.questions", "sql/recent.sql")


class RecentQuestion(BaseModel):
    """A question and when it was asked or settled. What it asks and what was answered is for those who read it."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    project_id: UUID
    name: str | None
    state: QuestionState
    at: datetime


async def recent(
    db: Executor, by: Principal, *, project_id: UUID | None, since: datetime | None, until: datetime | None, limit: int
) -> tuple[RecentQuestion, ...]:
    """Newest first; none for a token that has no scope of questions."""
    if by.kind is not PrincipalKind.SESSION and by.scopes.isdisjoint({Scope.QUESTIONS_ASK, Scope.QUESTIONS_ANSWER}):
        return ()
    rows = await RECENT.rows(
        db,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=None if by.projects is None else list(by.projects),
        project_id=project_id,
        since=since,
        until=until,
        limit=limit,
    )
    return tuple(RecentQuestion.model_validate(row) for row in rows)
