"""What people and agents may see of questions: the principal's access is in every query, as it is at that moment."""

from collections.abc import Sequence
from uuid import UUID

from askbus.access.model import Principal, PrincipalKind, Scope, Sought, wanted
from askbus.db.statements import Executor, Statement
from askbus.errors import AskbusError, NotFound
from askbus.questions.model import (
    NamedQuestion,
    QuestionCounts,
    QuestionDetail,
    QuestionFilter,
    QuestionPage,
    QuestionState,
    Told,
    Untold,
    asker_of,
)

GET = Statement("askbus.questions", "sql/get.sql")
LIST = Statement("askbus.questions", "sql/list.sql")
OPEN = Statement("askbus.questions", "sql/open.sql")
FOR_ME = Statement("askbus.questions", "sql/for_me.sql")
COUNTS = Statement("askbus.questions", "sql/counts.sql")
UNTOLD = Statement("askbus.questions", "sql/untold.sql")
ASKER_TOKEN = Statement("askbus.questions", "sql/asker_token.sql")


def _see(by: Principal) -> None:
    """A token reads questions with any of the scopes that concern them; a session always may."""
    if by.kind is PrincipalKind.SESSION or by.scopes & {Scope.QUESTIONS_ASK, Scope.QUESTIONS_ANSWER}:
        return
    by.require(Scope.QUESTIONS_ANSWER)


def _access(by: Principal) -> dict[str, object]:
    return {
        "user_id": by.user_id,
        "workspace_id": by.workspace_id,
        "projects": None if by.projects is None else list(by.projects),
    }


async def get(db: Executor, by: Principal, question_id: UUID) -> QuestionDetail:
    """One question with names and notes. Raises NotFound, also where it is not this principal's to see."""
    (found,) = await get_each(db, [(by, question_id)])
    if isinstance(found, AskbusError):
        raise found
    return found


async def get_each(db: Executor, sought: Sequence[Sought]) -> list[QuestionDetail | AskbusError]:
    """The same for many principals by one statement: for each, in order, the question or the error that it is told instead."""
    asked, refused = wanted(sought, _see)
    found: dict[int, QuestionDetail | AskbusError] = {**refused}
    found |= {row.pop("place"): QuestionDetail.model_validate(row) for row in await GET.rows(db, wanted=asked)}
    return [found.get(place) or NotFound("There is no such question.") for place in range(len(sought))]


async def list_page(db: Executor, by: Principal, wanted: QuestionFilter) -> QuestionPage:
    """A page of questions, newest first; of open ones the most urgent first."""
    _see(by)
    said = {
        "project_id": wanted.project_id,
        "priority": wanted.priority,
        "assignee": wanted.assignee_id,
        "asker": asker_of(by) if wanted.mine else wanted.asker_id,
        "before": wanted.before,
        "limit": wanted.limit,
        "token_id": by.token_id,
        **_access(by),
    }
    if wanted.state is not QuestionState.OPEN:
        rows = await LIST.rows(db, state=wanted.state, for_me=wanted.for_me, **said)
    else:
        rows = await (FOR_ME if wanted.for_me else OPEN).rows(db, unseen=wanted.unseen, **said)
    questions = tuple(NamedQuestion.model_validate(row) for row in rows)
    return QuestionPage(questions=questions, next=questions[-1].id if len(questions) == wanted.limit else None)


async def counts(db: Executor, by: Principal) -> QuestionCounts:
    """How many questions are open, how many of them are for this principal to answer, and how many of those are unseen."""
    _see(by)
    return QuestionCounts.model_validate(dict(await COUNTS.one(db, token_id=by.token_id, **_access(by))))


async def untold(db: Executor, by: Principal, *, limit: int = 100) -> Untold:
    """What an agent asked, still may see, and has not acknowledged hearing about, oldest first."""
    rows = await UNTOLD.rows(db, token_id=by.token_id, limit=limit, **_access(by))
    return Untold(told=tuple(Told(question=QuestionDetail.model_validate(row), untold=row["untold"]) for row in rows))


async def asker_token(db: Executor, question_id: UUID) -> UUID | None:
    """The token that still has to hear about this question, if there is one."""
    row = await ASKER_TOKEN.row(db, id=question_id)
    return None if row is None else row["token_id"]
