"""What an agent can do, whichever way it reaches askbus."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self
from uuid import UUID

from pydantic import JsonValue, ValidationError

from askbus.client.ids import new_question_id
from askbus.client.patience import PATIENCE
from askbus.errors import InvalidInput
from askbus.questions.answer import AnswerSchema
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

PAGE = 200


class AgentClient(ABC):
    """The five calls. Use it as a context manager: `async with HttpClient(url, token) as bus`.

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
        question_id: UUID | str | None = None,
        wait_seconds: float = 0,
    ) -> Question:
        """Asks the people of a project, by its id, and returns the question; with `wait_seconds` once it is settled, or then.

        `options` are choices (one, or with `multiple` several), beside which `free_text` may be allowed; `answer_schema` is a
        flat JSON schema for an answer with fields. `expires_in` is in seconds, at most 30 days. The same `dedupe_key` of this
        token finds the same question, in any state; so does the same `question_id` (a UUIDv7, by default a new one).
        """
        ask = _valid(
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
        )
        question = await self._ask(new_question_id() if question_id is None else as_id(question_id), ask)
        if wait_seconds <= 0 or question.settled:
            return question
        return await self.wait(question.id, wait_seconds)

    @abstractmethod
    async def wait(self, question_id: UUID | str, seconds: float) -> QuestionDetail:
        """The question once it is settled, or as it stands after `seconds`. Nothing is polled, and any restart is survived.

        A person who asks back leaves the question open: read `notes` of what this returns.
        """

    @abstractmethod
    async def get(self, question_id: UUID | str) -> QuestionDetail:
        """The question as it stands, with who settled it and what was asked back."""

    async def list_open(self) -> tuple[Question, ...]:
        """What this token asked and nobody has settled yet, newest first: for the start of a session."""
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
    async def _page(self, wanted: QuestionFilter) -> QuestionPage: ...


def as_id(value: UUID | str) -> UUID:
    """Raises InvalidInput for what is no UUID."""
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except ValueError:
        raise InvalidInput(f"{value!r} is no id: ids are UUIDs.") from None


def _valid(**said: object) -> Ask:
    try:
        return Ask.model_validate(said)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        words = (f"{'.'.join(map(str, problem['loc'])) or 'ask'}: {problem['msg']}" for problem in problems[:5])
        raise InvalidInput("; ".join(words)) from None
