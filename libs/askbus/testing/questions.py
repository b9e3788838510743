"""Questions to test with: the commands that people and agents send, and questions in every state straight in the database."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from pydantic import JsonValue

from askbus.access.model import Principal
from askbus.db.ids import new_id
from askbus.db.statements import Executor
from askbus.questions import verbs
from askbus.questions.attention import MarkSeen, SnoozeQuestion
from askbus.questions.model import (
    AnswerQuestion,
    Ask,
    AskBack,
    AskQuestion,
    CancelQuestion,
    DeclineQuestion,
    Question,
    QuestionState,
)

TEXT = "Ship it on Friday?"


def ask_command(
    by: Principal, project_id: UUID, *, question_id: UUID | None = None, turn_id: UUID | None = None, **said: object
) -> AskQuestion:
    """The command that asks; its own id is the question's."""
    chosen = question_id or new_id()
    ask = Ask.model_validate({"project_id": project_id, "text": TEXT, **said})
    call_id = None if turn_id is None else uuid4()
    return AskQuestion(command_id=chosen, by=by, question_id=chosen, ask=ask, turn_id=turn_id, call_id=call_id)


def answer_command(by: Principal, question_id: UUID, answer: JsonValue = "yes") -> AnswerQuestion:
    return AnswerQuestion(command_id=uuid4(), by=by, question_id=question_id, answer=answer)


def decline_command(by: Principal, question_id: UUID, reason: str | None = None) -> DeclineQuestion:
    return DeclineQuestion(command_id=uuid4(), by=by, question_id=question_id, reason=reason)


def ask_back_command(by: Principal, question_id: UUID, text: str = "Which release?") -> AskBack:
    return AskBack(command_id=uuid4(), by=by, question_id=question_id, text=text)


def cancel_command(by: Principal, question_id: UUID) -> CancelQuestion:
    return CancelQuestion(command_id=uuid4(), by=by, question_id=question_id)


def seen_command(by: Principal, *question_ids: UUID) -> MarkSeen:
    return MarkSeen(command_id=uuid4(), by=by, question_ids=question_ids)


def snooze_command(by: Principal, question_id: UUID, until: datetime | None) -> SnoozeQuestion:
    return SnoozeQuestion(command_id=uuid4(), by=by, question_id=question_id, until=until)


async def open_question(
    db: Executor,
    by: Principal,
    project_id: UUID,
    *,
    now: datetime | None = None,
    question_id: UUID | None = None,
    turn_id: UUID | None = None,
    **said: object,
) -> Question:
    """A question that nobody has settled."""
    command = ask_command(by, project_id, question_id=question_id, turn_id=turn_id, **said)
    return await verbs.ask(db, command, trace=None, now=now)


async def question_in(db: Executor, state: QuestionState, asker: Principal, answerer: Principal, project_id: UUID) -> Question:
    """A question of `asker` that came to this state, by `answerer` where somebody settles it."""
    if state is QuestionState.EXPIRED:
        question = await open_question(db, asker, project_id, now=datetime.now(UTC) - timedelta(hours=1), expires_in=60)
    else:
        question = await open_question(db, asker, project_id)

    async def nothing() -> None:
        return

    async def expire() -> None:
        assert question.id in await verbs.expire_due(db)

    ways: Mapping[QuestionState, Callable[[], Awaitable[object]]] = {
        QuestionState.OPEN: nothing,
        QuestionState.ANSWERED: lambda: verbs.answer(db, answer_command(answerer, question.id), trace=None),
        QuestionState.DECLINED: lambda: verbs.decline(db, decline_command(answerer, question.id), trace=None),
        QuestionState.CANCELLED: lambda: verbs.cancel(db, cancel_command(asker, question.id), trace=None),
        QuestionState.EXPIRED: expire,
        QuestionState.SUPERSEDED: lambda: open_question(db, asker, project_id, supersedes=question.id),
    }
    await ways[state]()
    return question
