"""What people do with many questions at once, or with how they see them: /v1/questions/seen, /answers, /{id}/snooze."""

from typing import Annotated
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, Scope
from askbus.access.zones import Moment
from askbus.errors import AskbusError, ErrorBody, NotFound
from askbus.questions import reads
from askbus.questions.attention import MOST_MARKED, Marked, MarkSeen, SnoozeQuestion
from askbus.questions.model import AnswerQuestion, QuestionDetail
from askbus_gateway.http.described import described, route
from askbus_gateway.http.gate import Gate, body, command_id, path_id, present

MOST_ANSWERED = 100
"""How many questions one request answers."""


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SeenBody(_Body):
    question_ids: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MOST_MARKED)]


class SnoozeBody(_Body):
    """Until when; null brings it back."""

    until: Moment | None


class OneAnswer(_Body):
    question_id: UUID
    answer: JsonValue


class AnswersBody(_Body):
    answers: Annotated[tuple[OneAnswer, ...], Field(min_length=1, max_length=MOST_ANSWERED)]

    @model_validator(mode="after")
    def _each_once(self) -> "AnswersBody":
        if len({one.question_id for one in self.answers}) < len(self.answers):
            raise ValueError("answers: answer each question once")
        return self


class Result(BaseModel):
    """What became of one answer: the question, or why not. Exactly one is set."""

    question_id: UUID
    question: QuestionDetail | None = None
    error: ErrorBody | None = None


class Results(BaseModel):
    """One result for each answer, in order."""

    results: tuple[Result, ...]


class Inbox:
    """The routes."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def routes(self) -> list[Route]:
        return [
            route("POST", "/v1/questions/seen", self.seen),
            route("POST", "/v1/questions/answers", self.answers),
            route("POST", "/v1/questions/{id}/snooze", self.snooze),
        ]

    @described(Marked, body=SeenBody, refuses=(NotFound,), scope=Scope.QUESTIONS_ANSWER, idempotent=True)
    async def seen(self, request: Request) -> Response:
        """This person has seen `question_ids`."""
        by = await self.gate.principal(request)
        said = await body(request, SeenBody)
        marked = await self.gate.commands.ask(MarkSeen(command_id=command_id(request), by=by, question_ids=said.question_ids))
        return present(marked)

    @described(QuestionDetail, body=SnoozeBody, scope=Scope.QUESTIONS_ANSWER, idempotent=True)
    async def snooze(self, request: Request) -> Response:
        """Off this person's `for_me` until `until`; null brings it back."""
        by = await self.gate.principal(request)
        said = await body(request, SnoozeBody)
        question_id = path_id(request)
        await self.gate.commands.ask(
            SnoozeQuestion(command_id=command_id(request), by=by, question_id=question_id, until=said.until)
        )
        return present(await reads.get(self.gate.pool, by, question_id))

    @described(Results, body=AnswersBody, idempotent=True)
    async def answers(self, request: Request) -> Response:
        """Answer up to 100; one result each, in order.

        Each is a command of its own, with an id that follows from the request's: sent again it gets the same results.
        """
        by = await self.gate.principal(request)
        said = await body(request, AnswersBody)
        key = command_id(request)
        return present(Results(results=tuple([await self._answer(by, key, one) for one in said.answers])))

    async def _answer(self, by: Principal, key: UUID, one: OneAnswer) -> Result:
        command = AnswerQuestion(
            command_id=uuid5(key, one.question_id.hex), by=by, question_id=one.question_id, answer=one.answer
        )
        try:
            await self.gate.commands.ask(command)
            return Result(question_id=one.question_id, question=await reads.get(self.gate.pool, by, one.question_id))
        except AskbusError as error:
            return Result(question_id=one.question_id, error=error.body())
