"""The doors of agents on the bus: the same commands as everybody's, for the principal that the subject names.

The token is checked at each call; a body never says who is asking.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from askbus.access import reads as access
from askbus.access.model import Scope
from askbus.bus.app import TokenId
from askbus.db.pool import Pool
from askbus.errors import NotFound
from askbus.limits.limiter import Limiter
from askbus.limits.model import Limited
from askbus.questions import reads, verbs
from askbus.questions.agents import AskRequest, AskSetRequest, Heard, HeardRequest, ListRequest, OneRequest, UntoldRequest
from askbus.questions.model import AskQuestion, CancelQuestion, Question, QuestionDetail, QuestionPage, Untold
from askbus.questions.sets import AskedSet, AskQuestions
from askbus_question_broker.handlers import Handlers

M = TypeVar("M", bound=BaseModel)

LARGEST_REPLY = 900_000
"""Bytes of a page: a message on NATS has at most 1 MiB."""


def fitting(items: Sequence[M], most: int = LARGEST_REPLY) -> tuple[M, ...]:
    """As many of `items`, from the first, as one message holds; the agent asks again for the rest."""
    left = most
    fit: list[M] = []
    for item in items:
        left -= len(item.model_dump_json().encode())
        if left < 0 and fit:
            break
        fit.append(item)
    return tuple(fit)


class Doors:
    """Handlers of `agent.<p>.question.<verb>`."""

    def __init__(self, pool: Pool, handlers: Handlers, limits: Limiter, committed: Callable[[], None]) -> None:
        self.pool = pool
        self.handlers = handlers
        self.limits = limits
        self.committed = committed

    def table(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """Every verb of the doors, and what answers it."""
        return {
            "ask": self.on_ask,
            "ask_many": self.on_ask_many,
            "get": self.on_get,
            "list": self.on_list,
            "cancel": self.on_cancel,
            "untold": self.on_untold,
            "heard": self.on_heard,
        }

    async def on_ask(self, request: AskRequest, token: TokenId) -> Question:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        await self.limits.take(Limited.ASK, by)
        command = AskQuestion(command_id=request.question_id, by=by, question_id=request.question_id, ask=request.ask)
        question = await self.handlers.on_ask_question(command)
        self.committed()
        return question

    async def on_ask_many(self, request: AskSetRequest, token: TokenId) -> AskedSet:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        await self.limits.take(Limited.ASK, by, len(request.said.questions))
        command = AskQuestions(command_id=request.set_id, by=by, set_id=request.set_id, said=request.said)
        asked = await self.handlers.on_ask_questions(command)
        self.committed()
        return asked

    async def on_get(self, request: OneRequest, token: TokenId) -> QuestionDetail:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        question = await reads.get(self.pool, by, request.question_id)
        if question.asker_id != by.id:
            raise NotFound("There is no such question of yours.")
        return question

    async def on_list(self, request: ListRequest, token: TokenId) -> QuestionPage:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        page = await reads.list_page(self.pool, by, request.filter.model_copy(update={"mine": True}))
        questions = fitting(page.questions)
        return page if len(questions) == len(page.questions) else QuestionPage(questions=questions, next=questions[-1].id)

    async def on_cancel(self, request: OneRequest, token: TokenId) -> Question:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        command = CancelQuestion(command_id=request.question_id, by=by, question_id=request.question_id)
        question = await self.handlers.on_cancel_question(command)
        self.committed()
        return question

    async def on_untold(self, request: UntoldRequest, token: TokenId) -> Untold:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        return Untold(told=fitting((await reads.untold(self.pool, by, limit=request.limit)).told))

    async def on_heard(self, request: HeardRequest, token: TokenId) -> Heard:
        by = await access.agent(self.pool, token, Scope.QUESTIONS_ASK)
        await verbs.acknowledge(self.pool, request.question_id, by.id, request.heard)
        return Heard(question_id=request.question_id)
