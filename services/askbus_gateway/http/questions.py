"""/v1/questions."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, Scope
from askbus.db.ids import new_id
from askbus.errors import NotFound, PermissionDenied, TimedOut
from askbus.limits.model import Limited
from askbus.questions import reads
from askbus.questions.model import (
    LONGEST_WAIT,
    AnswerQuestion,
    Ask,
    AskBack,
    AskQuestion,
    CancelQuestion,
    DeclineQuestion,
    Question,
    QuestionCounts,
    QuestionDetail,
    QuestionFilter,
    QuestionPage,
    Remark,
)
from askbus_gateway.http.described import described, route
from askbus_gateway.http.gate import Gate, NoBody, body, command_id, path_id, present, query, while_connected
from askbus_gateway.http.waiting import Asked, Waiting

Seconds = Annotated[float, Field(ge=0, le=LONGEST_WAIT)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AskBody(Ask):
    """What to ask, and how many seconds this request may wait for the outcome."""

    wait_seconds: Seconds = 0


class WaitQuery(_Body):
    wait: Seconds = 0


class AnswerBody(_Body):
    answer: JsonValue


class DeclineBody(_Body):
    reason: Remark | None = None


class AskBackBody(_Body):
    text: Annotated[Remark, Field(min_length=1)]


class Questions:
    """The routes of questions."""

    def __init__(self, gate: Gate, waiting: Waiting) -> None:
        self.gate = gate
        self.waiting = waiting

    def routes(self) -> list[Route]:
        return [
            route("GET", "/v1/questions", self.list),
            route("POST", "/v1/questions", self.ask),
            route("GET", "/v1/questions/counts", self.counts),
            route("GET", "/v1/questions/{id}", self.get),
            route("POST", "/v1/questions/{id}/answer", self.answer),
            route("POST", "/v1/questions/{id}/decline", self.decline),
            route("POST", "/v1/questions/{id}/ask-back", self.ask_back),
            route("POST", "/v1/questions/{id}/cancel", self.cancel),
        ]

    @described(QuestionPage, query=QuestionFilter, refuses=(PermissionDenied,))
    async def list(self, request: Request) -> Response:
        """A page of questions, newest first, open ones by priority first."""
        by = await self.gate.principal(request)
        return present(await reads.list_page(self.gate.pool, by, query(request, QuestionFilter)))

    @described(QuestionCounts, refuses=(PermissionDenied,))
    async def counts(self, request: Request) -> Response:
        """The inbox in numbers."""
        by = await self.gate.principal(request)
        return present(await reads.counts(self.gate.pool, by))

    @described(
        {200: Asked, 201: Asked}, body=AskBody, refuses=(NotFound,), scope=Scope.QUESTIONS_ASK, idempotent=True, limited=True
    )
    async def ask(self, request: Request) -> Response:
        """Ask; `wait_seconds` waits for the outcome."""
        by = await self.gate.principal(request)
        said = await body(request, AskBody)
        key = command_id(request)
        question_id = key if "idempotency-key" in request.headers else new_id()
        ask = Ask.model_validate(said.model_dump(exclude={"wait_seconds"}, exclude_unset=True))
        await self.gate.limits.take(Limited.ASK, by)
        question = await self.gate.commands.ask(AskQuestion(command_id=key, by=by, question_id=question_id, ask=ask))
        asked = await self._asked(request, by, question.id, said.wait_seconds)
        return present(asked, 201 if question.id == question_id else 200)

    @described(Asked, query=WaitQuery, refuses=(PermissionDenied, TimedOut))
    async def get(self, request: Request) -> Response:
        """One; `wait` waits up to so many seconds until it is settled."""
        by = await self.gate.principal(request)
        seconds = query(request, WaitQuery).wait
        await body(request, NoBody)
        return present(await self._asked(request, by, path_id(request), seconds))

    async def _asked(self, request: Request, by: Principal, question_id: UUID, seconds: float) -> Asked:
        work = self.waiting.question(by, question_id, seconds)
        return await (while_connected(request, work) if seconds else work)

    @described(QuestionDetail, body=AnswerBody, scope=Scope.QUESTIONS_ANSWER, idempotent=True)
    async def answer(self, request: Request) -> Response:
        """Answer it."""
        by = await self.gate.principal(request)
        said = await body(request, AnswerBody)
        return await self._told(
            by, AnswerQuestion(command_id=command_id(request), by=by, question_id=path_id(request), answer=said.answer)
        )

    @described(QuestionDetail, body=DeclineBody, scope=Scope.QUESTIONS_ANSWER, idempotent=True)
    async def decline(self, request: Request) -> Response:
        """Decline it, with a `reason` if there is one."""
        by = await self.gate.principal(request)
        said = await body(request, DeclineBody)
        return await self._told(
            by, DeclineQuestion(command_id=command_id(request), by=by, question_id=path_id(request), reason=said.reason)
        )

    @described(QuestionDetail, body=AskBackBody, scope=Scope.QUESTIONS_ANSWER, idempotent=True)
    async def ask_back(self, request: Request) -> Response:
        """Ask back with a `text`; it stays open."""
        by = await self.gate.principal(request)
        said = await body(request, AskBackBody)
        return await self._told(by, AskBack(command_id=command_id(request), by=by, question_id=path_id(request), text=said.text))

    @described(QuestionDetail, body=NoBody, scope=Scope.QUESTIONS_ASK, idempotent=True)
    async def cancel(self, request: Request) -> Response:
        """The asker takes it back."""
        by = await self.gate.principal(request)
        await body(request, NoBody)
        return await self._told(by, CancelQuestion(command_id=command_id(request), by=by, question_id=path_id(request)))

    async def _told(self, by: Principal, command: AnswerQuestion | DeclineQuestion | AskBack | CancelQuestion) -> Response:
        question: Question = await self.gate.commands.ask(command)
        return present(await reads.get(self.gate.pool, by, question.id))
