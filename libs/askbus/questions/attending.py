"""What draws people to questions and settles nothing: reminders, escalations, marks, and the tallies of the inbox. One function, one
statement each; only the question-broker may import this, and expiry for what is due.

Each runs on the connection that it is given and opens no transaction. `now` is for tests alone: the database's clock rules.
"""

from datetime import datetime
from uuid import UUID

from askbus.access.model import Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, InvalidInput, NotFound
from askbus.questions.attention import LONGEST_SNOOZE, Marked, MarkSeen, SnoozeQuestion
from askbus.questions.model import Question
from askbus.questions.verbs import SEEN, projects_of, shown

REMIND_DUE = Statement("askbus.questions", "sql/remind_due.sql")
ESCALATE_DUE = Statement("askbus.questions", "sql/escalate_due.sql")
UNSNOOZE_DUE = Statement("askbus.questions", "sql/unsnooze_due.sql")
FOLD_TALLIES = Statement("askbus.questions", "sql/fold_tallies.sql")
MARK_SEEN = Statement("askbus.questions", "sql/mark_seen.sql")
SNOOZE = Statement("askbus.questions", "sql/snooze.sql")


async def remind_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Tells up to `batch` reminders that are due; any number of callers, each reminder once."""
    return [row["id"] for row in await REMIND_DUE.rows(db, batch=batch, now=now)]


async def escalate_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """The same for escalations."""
    return [row["id"] for row in await ESCALATE_DUE.rows(db, batch=batch, now=now)]


async def unsnooze_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """The same for what people put off until now; the questions, one for each person."""
    return [row["question_id"] for row in await UNSNOOZE_DUE.rows(db, batch=batch, now=now)]


async def fold_tallies(db: Executor, *, batch: int = 1000) -> int:
    """Folds up to `batch` new tallies of open questions into their sums, and returns how many."""
    return int((await FOLD_TALLIES.one(db, batch=batch))["folded"])


async def mark_seen(db: Executor, command: MarkSeen, *, trace: str | None) -> Marked:
    """Notes that this person has seen questions; what is settled or not theirs to see is passed over. Raises PermissionDenied."""
    by = command.by
    by.require(Scope.QUESTIONS_ANSWER)
    rows = await MARK_SEEN.rows(
        db,
        ids=list(command.question_ids),
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=projects_of(by),
        trace=trace,
    )
    return Marked(question_ids=tuple(row["id"] for row in rows))


async def snooze(db: Executor, command: SnoozeQuestion, *, trace: str | None) -> Marked:
    """Puts a question off for this person, or back. Raises PermissionDenied, NotFound, Conflict where it is settled, and InvalidInput for a
    time that is over or too far."""
    by = command.by
    by.require(Scope.QUESTIONS_ANSWER)
    access = {"id": command.question_id, "user_id": by.user_id, "workspace_id": by.workspace_id, "projects": projects_of(by)}
    row = await SNOOZE.row(db, until=command.until, longest=LONGEST_SNOOZE, trace=trace, **access)
    if row is not None and row["in_time"]:
        return Marked(question_ids=(command.question_id,))
    if row is not None:
        raise InvalidInput(f"until is a time from now on, at most {LONGEST_SNOOZE.days} days away.", {"field": "until"})
    seen = await SEEN.row(db, **access)
    if seen is None:
        raise NotFound("There is no such question.")
    question = Question.model_validate(seen)
    raise Conflict(f"This question is {question.state.value} already.", shown(question))
