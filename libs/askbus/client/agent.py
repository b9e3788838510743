"""What an agent can do, whichever way it reaches askbus."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, JsonValue, ValidationError

from askbus.client.ids import new_question_id
from askbus.client.patience import PATIENCE
from askbus.errors import InvalidInput, problems
from askbus.questions.answer import AnswerSchema
from askbus.questions.attention import Escalation, Reminder
from askbus.questions.model import (
    DEFAULT_LIFE,
    Ask,
    Priority,
    Question,
    QuestionDetail,
    QuestionFilter,
    QuestionPage,
    QuestionState,
)
from askbus.questions.sets import AskSet

M = TypeVar("M", bound=BaseModel)

PAGE = 200


class AgentClient(ABC):
    """The calls of an agent. Use it as a context manager: `async with HttpClient(url, token) as bus`.

    Each call survives restarts of services and servers: it goes on trying for `patience` seconds, and what was sent twice counts
    once. Each raises an error of `askbus.errors`: InvalidInput, Unauthenticated, PermissionDenied, NotFound, Conflict as the
    service said it, Unavailable or TimedOut when patience is over.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience

    async def ask(
        self,
        project: UUID | str,
        text: str,
        *,
        title: str | None = None,
        options: Sequence[str] = (),
        multiple: bool = False,
        free_text: bool = True,
        answer_schema: AnswerSchema | Mapping[str, JsonValue] | None = None,
        link: str | None = None,
        reference: str | None = None,
        priority: Priority = Priority.NORMAL,
        expires_in: int = int(DEFAULT_LIFE.total_seconds()),
        assignee: UUID | str | None = None,
        dedupe_key: str | None = None,
        supersedes: UUID | str | None = None,
        remind: Reminder | Mapping[str, JsonValue] | None = None,
        escalate: Escalation | Mapping[str, JsonValue] | None = None,
        question_id: UUID | str | None = None,
        wait_seconds: float = 0,
    ) -> Question:
        """Asks the people of a project, by its id, and returns the question; with `wait_seconds` once it is settled, or then.

        `options` are choices (one, or with `multiple` several), beside which `free_text` may be allowed; `answer_schema` is a
        flat JSON schema for an answer with fields. `expires_in` is in seconds, at most 30 days. The same `dedupe_key` of this
        token finds the same question, in any state; so does the same `question_id` (a UUIDv7, by default a new one).
        `remind` and `escalate` say after how many seconds, and to whom: `{"after": 3600, "role": "admin"}`.
        """
        ask = valid(
            Ask,
            project_id=project,
            text=text,
            title=title,
            options=tuple(options),
            multiple=multiple,
            free_text=free_text,
            answer_schema=answer_schema,
            link=link,
            reference=reference,
            priority=priority,
            expires_in=expires_in,
            assignee_id=assignee,
            dedupe_key=dedupe_key,
            supersedes=supersedes,
            remind=remind,
            escalate=escalate,
        )
        question = await self._ask(new_question_id() if question_id is None else as_id(question_id), ask)
        if wait_seconds <= 0 or question.settled:
            return question
        return await self.wait(question.id, wait_seconds)

    async def ask_many(
        self, questions: Sequence[Ask | Mapping[str, object]], *, set_id: UUID | str | None = None, wait_seconds: float = 0
    ) -> tuple[QuestionDetail, ...]:
        """Asks up to 20 questions as one, all or none, and returns them in their order; with `wait_seconds` once all are settled, or then.

        Each is what `Ask` holds (`{"project_id": …, "text": …}` and what else `ask` takes), and is answered by itself. The same `set_id`
        finds the same questions, as their own dedupe keys do.
        """
        said = valid(AskSet, questions=tuple(questions))
        ids = await self._ask_many(new_question_id() if set_id is None else as_id(set_id), said)
        if wait_seconds <= 0:
            return tuple(await asyncio.gather(*(self.get(key) for key in ids)))
        return tuple(await asyncio.gather(*(self.wait(key, wait_seconds) for key in ids)))

    @abstractmethod
    async def wait(self, question_id: UUID | str, seconds: float) -> QuestionDetail:
        """The question once it is settled, or as it stands after `seconds`. Nothing is polled, and any restart is survived.

        A person who asks back leaves the question open: read `notes` of what this returns.
        """

    @abstractmethod
    async def get(self, question_id: UUID | str) -> QuestionDetail:
        """The question as it stands, with who settled it and what was asked back."""

    async def list_open(self) -> tuple[Question, ...]:
        """What this token asked and nobody has settled yet, the most urgent first: for the start of a session."""
        found: list[Question] = []
        before: UUID | None = None
        while True:
            page = await self._page(QuestionFilter(state=QuestionState.OPEN, mine=True, limit=PAGE, before=before))
            found += page.questions
            if page.next is None:
                return tuple(found)
            before = page.next

    @abstractmethod
    async def cancel(self, question_id: UUID | str) -> Question:
        """Takes back a question of this token's. Raises Conflict, with the state that won, where it is settled already."""

    @abstractmethod
    async def close(self) -> None:
        """Ends the connection; waits that go on are given up."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @abstractmethod
    async def _ask(self, question_id: UUID, ask: Ask) -> Question: ...

    @abstractmethod
    async def _ask_many(self, set_id: UUID, said: AskSet) -> tuple[UUID, ...]: ...

    @abstractmethod
    async def _page(self, wanted: QuestionFilter) -> QuestionPage: ...


def as_id(value: UUID | str) -> UUID:
    """Raises InvalidInput for what is no UUID."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except ValueError:
        raise InvalidInput(f"{value!r} is no id: ids are UUIDs.") from None


def valid(model: type[M], **said: object) -> M:
    """What is said as `model`. Raises InvalidInput, naming what is wrong."""
    try:
        return model.model_validate(said)
    except ValidationError as error:
        raise InvalidInput("; ".join(f"{where}: {how}" if where else how for where, how in problems(error)[:5])) from None
