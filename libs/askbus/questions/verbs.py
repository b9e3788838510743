"""What happens to questions: one function, one statement each. Only the question-broker may import this; expiry, its one verb.

Each runs on the connection that it is given and opens no transaction. `now` is for tests alone: the database's clock rules.
"""

from datetime import datetime
from uuid import UUID

import asyncpg
from pydantic import JsonValue

from askbus.access.model import Principal, Scope
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import AskbusError, Conflict, InvalidInput, NotFound, PermissionDenied, Unavailable
from askbus.questions.answer import check_answer
from askbus.questions.model import (
    MOST_NOTES,
    AnswerQuestion,
    Ask,
    AskBack,
    AskQuestion,
    CancelQuestion,
    DeclineQuestion,
    Question,
    QuestionState,
    asker_of,
)

ASK = Statement("askbus.questions", "sql/ask.sql")
ANSWER = Statement("askbus.questions", "sql/answer.sql")
DECLINE = Statement("askbus.questions", "sql/decline.sql")
ASK_BACK = Statement("askbus.questions", "sql/ask_back.sql")
CANCEL = Statement("askbus.questions", "sql/cancel.sql")
EXPIRE_DUE = Statement("askbus.questions", "sql/expire_due.sql")
SETTLE_OF_TURN = Statement("askbus.questions", "sql/settle_of_turn.sql")
ACKNOWLEDGE = Statement("askbus.questions", "sql/acknowledge.sql")
CURRENT = Statement("askbus.questions", "sql/current.sql")
MAY_ASK = Statement("askbus.questions", "sql/may_ask.sql")
SEEN = Statement("askbus.questions", "sql/seen.sql")


async def ask(db: Executor, command: AskQuestion, *, trace: str | None, now: datetime | None = None) -> Question:
    """Stores the question, or returns the one that the same dedupe key or command already made.

    Raises PermissionDenied, NotFound where the project is not the asker's to write in, InvalidInput for an assignee who could not
    answer or a question id that is another's, Conflict where the question to supersede is not open any more.
    """
    for _look in range(2):
        try:
            question = await ask_once(db, command, trace=trace, now=now)
        except asyncpg.UniqueViolationError:
            continue  # the same ask was stored in this moment: the second look finds it
        if question is not None:
            return question
        # Nothing yet: either it is refused, or the same ask has superseded the same question in this moment.
    raise await refused(db, command)


async def ask_once(db: Executor, command: AskQuestion, *, trace: str | None, now: datetime | None = None) -> Question | None:
    """One look of `ask`, for callers that look again by themselves, and say then why nothing was `refused`.

    Raises UniqueViolationError where the same ask was stored in this moment, and else what `ask` raises.
    """
    command.by.require(Scope.CHAT if command.turn_id else Scope.QUESTIONS_ASK)
    try:
        row = await ASK.row(
            db,
            id=command.question_id,
            turn_id=command.turn_id,
            call_id=command.call_id,
            command_id=command.command_id,
            trace=trace,
            now=now,
            **_values(command.ask),
            **_acting(command.by),
        )
    except asyncpg.ForeignKeyViolationError:
        raise NotFound("The conversation, or the project, that this belongs to is gone.") from None
    return None if row is None else _own(command, row)


def _values(said: Ask) -> dict[str, object]:
    return said.model_dump(exclude={"answer_schema", "options", "remind", "escalate"}) | {
        "options": list(said.options),
        "answer_schema": said.answer_schema.model_dump() if said.answer_schema else None,
        "remind_after": said.remind and said.remind.after,
        "remind_role": said.remind and said.remind.role,
        "remind_user": said.remind and said.remind.user_id,
        "escalate_after": said.escalate and said.escalate.after,
        "escalate_role": said.escalate and said.escalate.role,
        "escalate_user": said.escalate and said.escalate.user_id,
    }


def _own(command: AskQuestion, row: Row) -> Question:
    if row["asker_id"] != asker_of(command.by) or row["project_id"] != command.ask.project_id:
        raise InvalidInput("This question id is taken. Send a new one.")
    return _as_it_reads(row)


async def refused(db: Executor, command: AskQuestion) -> AskbusError:
    """Why nothing was stored."""
    by, ask = command.by, command.ask
    named = {
        "assignee_id": ask.assignee_id,
        "remind.user_id": ask.remind and ask.remind.user_id,
        "escalate.user_id": ask.escalate and ask.escalate.user_id,
    }
    may = await MAY_ASK.one(
        db,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=projects_of(by),
        project_id=ask.project_id,
        named=[user_id for user_id in named.values() if user_id is not None],
    )
    if not may["allowed"]:
        return NotFound("There is no such project, or you may not ask there.")
    for field, user_id in named.items():
        if user_id in may["unable"]:
            return InvalidInput(f"{field} must be somebody who may answer in this project.", {"field": field})
    if ask.supersedes is not None:
        row = await CURRENT.row(db, id=ask.supersedes)
        if row is None or row["asker_id"] != asker_of(by):
            return NotFound("There is no question of yours with the id in `supersedes`.")
        if row["state"] != QuestionState.OPEN:
            return Conflict("The question to supersede is settled; read its outcome.", shown(Question.model_validate(row)))
    return Unavailable("Your rights in this project changed while you asked. Ask again.")


async def answer(db: Executor, command: AnswerQuestion, *, trace: str | None, now: datetime | None = None) -> Question:
    """Answers an open question. Of concurrent answers one wins; the others get Conflict with what won.

    Raises InvalidInput where the answer does not fit, NotFound, PermissionDenied, Conflict.
    """
    command.by.require(Scope.QUESTIONS_ANSWER)
    by = command.by
    row = await SEEN.row(db, id=command.question_id, user_id=by.user_id, workspace_id=by.workspace_id, projects=projects_of(by))
    if row is None:
        raise NotFound("There is no such question.")
    if row["state"] == QuestionState.OPEN:
        check_answer(Question.model_validate(row), command.answer)
    moved = await ANSWER.row(
        db,
        id=command.question_id,
        answer=command.answer,
        command_id=command.command_id,
        trace=trace,
        now=now,
        **_acting(by),
    )
    return _settled(moved, wanted="may_answer")


async def decline(db: Executor, command: DeclineQuestion, *, trace: str | None, now: datetime | None = None) -> Question:
    """Declines an open question. Raises NotFound, PermissionDenied, Conflict."""
    command.by.require(Scope.QUESTIONS_ANSWER)
    row = await DECLINE.row(
        db,
        id=command.question_id,
        reason=command.reason or None,
        command_id=command.command_id,
        trace=trace,
        now=now,
        **_acting(command.by),
    )
    return _settled(row, wanted="may_answer")


async def ask_back(db: Executor, command: AskBack, *, trace: str | None, now: datetime | None = None) -> Question:
    """Adds a note for the asker; the question stays open. Raises NotFound, PermissionDenied, Conflict, also where it has all the
    notes that it may have, and InvalidInput where the command id stands for another note already."""
    command.by.require(Scope.QUESTIONS_ANSWER)
    for _look in range(2):
        try:
            row = await ASK_BACK.row(
                db,
                id=command.question_id,
                note_id=command.command_id,
                text=command.text,
                most_notes=MOST_NOTES,
                trace=trace,
                now=now,
                **_acting(command.by),
            )
        except asyncpg.UniqueViolationError:
            continue  # the same command was carried out in this moment: the second look finds it
        return _settled(row, wanted="may_answer")
    raise InvalidInput("This command id was used for something else. Send a new one.")


async def cancel(db: Executor, command: CancelQuestion, *, trace: str | None, now: datetime | None = None) -> Question:
    """Cancels the asker's own open question. Raises NotFound, PermissionDenied, Conflict."""
    command.by.require(Scope.QUESTIONS_ASK)
    row = await CANCEL.row(db, id=command.question_id, command_id=command.command_id, trace=trace, now=now, **_acting(command.by))
    return _settled(row, wanted="asked")


async def expire_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Expires up to `batch` questions past their time; any number of callers, each question once."""
    return [row["id"] for row in await EXPIRE_DUE.rows(db, batch=batch, now=now)]


async def settle_of_turn(db: Executor, turn_id: UUID | None, *, now: datetime | None = None) -> list[UUID]:
    """Settles what an ended turn still asked its user; with None, what any ended turn did."""
    return [row["id"] for row in await SETTLE_OF_TURN.rows(db, turn_id=turn_id, now=now)]


async def acknowledge(db: Executor, question_id: UUID, token_id: UUID, heard: int) -> None:
    """The asking agent has heard `heard` events of this question in all: its notes, and its outcome. Safe to say twice."""
    await ACKNOWLEDGE.run(db, id=question_id, token_id=token_id, heard=heard)


def projects_of(by: Principal) -> list[UUID] | None:
    return None if by.projects is None else list(by.projects)


def _acting(by: Principal) -> dict[str, object]:
    return {
        "user_id": by.user_id,
        "workspace_id": by.workspace_id,
        "projects": projects_of(by),
        "asker": asker_of(by),
        "token_id": by.token_id,
        "via": by.kind.value,
        "via_id": by.id,
    }


def shown(question: Question) -> dict[str, JsonValue]:
    """What a refusal's details say of the question that stands."""
    said = question.model_dump(mode="json", include={"id", "state", "answer", "reason", "settled_by", "settled_at"})
    return {"question": said}


def _as_it_reads(row: Row) -> Question:
    """A row of the table itself as everybody reads it: `past` its expiry, or `ended_as` its turn ended."""
    question = Question.model_validate(row)
    if question.state is QuestionState.OPEN and row["ended_as"] is not None:
        return question.model_copy(update={"state": QuestionState(row["ended_as"])})
    if question.state is QuestionState.OPEN and row["past"]:
        return question.model_copy(update={"state": QuestionState.EXPIRED, "settled_at": question.expires_at})
    return question


def _settled(row: Row | None, *, wanted: str) -> Question:
    """The moved question, or the truth for the one who lost."""
    if row is None or not row["seen"]:
        raise NotFound("There is no such question.")
    question = _as_it_reads(row)
    if row["moved"] or row["repeated"]:
        return question
    if not row[wanted]:
        raise PermissionDenied(
            "Only who asked may cancel a question." if wanted == "asked" else "This question is not yours to answer."
        )
    if question.settled:
        raise Conflict(f"This question is {question.state.value} already.", shown(question))
    if question.note_count >= MOST_NOTES:
        raise Conflict(f"This question was asked back {MOST_NOTES} times: answer or decline it.", shown(question))
    raise InvalidInput("This command id was used for something else. Send a new one.")
