"""/v1/questions/batch: several questions asked as one, and waited for as one."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from askbus.access.model import Principal, Scope
from askbus.errors import NotFound, PermissionDenied, TimedOut
from askbus.limits.model import Limited
from askbus.questions.sets import MOST_IN_SET, AskQuestions, AskSet
from askbus_gateway.http.described import described, route
from askbus_gateway.http.gate import Gate, NoBody, body, command_id, present, query, while_connected
from askbus_gateway.http.questions import Seconds
from askbus_gateway.http.waiting import Asked, Waiting


class AskSetBody(AskSet):
    """What to ask, and how many seconds this request may wait until all of it is settled."""

    wait_seconds: Seconds = 0


def _listed(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


class SetQuery(BaseModel):
    """`ids` are comma-separated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ids: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MOST_IN_SET), BeforeValidator(_listed)]
    wait: Seconds = 0


class AskedTogether(BaseModel):
    """The questions in the order in which they were said. `status` is `pending` until each of them has an outcome, then `settled`."""

    status: Literal["pending", "settled"]
    questions: tuple[Asked, ...]


class QuestionSets:
    """The routes of sets of questions."""

    def __init__(self, gate: Gate, waiting: Waiting) -> None:
        self.gate = gate
        self.waiting = waiting

    def routes(self) -> list[Route]:
        return [
            route("POST", "/v1/questions/batch", self.ask),
            route("GET", "/v1/questions/batch", self.get),
        ]

    @described(
        {200: AskedTogether, 201: AskedTogether},
        body=AskSetBody,
        refuses=(NotFound,),
        scope=Scope.QUESTIONS_ASK,
        idempotent=True,
        limited=True,
    )
    async def ask(self, request: Request) -> Response:
        """Ask up to 20 as one, all or none; `wait_seconds` waits until each has an outcome."""
        by = await self.gate.principal(request)
        said = await body(request, AskSetBody)
        key = command_id(request)
        asks = AskSet(questions=said.questions)
        await self.gate.limits.take(Limited.ASK, by, len(said.questions))
        asked = await self.gate.commands.ask(AskQuestions(command_id=key, by=by, set_id=key, said=asks))
        together = await self._together(request, by, tuple(one.id for one in asked.questions), said.wait_seconds)
        return present(together, 201 if any(one.asked for one in asked.questions) else 200)

    @described(AskedTogether, query=SetQuery, refuses=(NotFound, PermissionDenied, TimedOut))
    async def get(self, request: Request) -> Response:
        """Several, in the order of `ids`; `wait` waits until all are settled."""
        by = await self.gate.principal(request)
        wanted = query(request, SetQuery)
        await body(request, NoBody)
        return present(await self._together(request, by, wanted.ids, wanted.wait))

    async def _together(self, request: Request, by: Principal, ids: tuple[UUID, ...], seconds: float) -> AskedTogether:
        """All of them once all are settled, or as they stand after `seconds`."""
        work = self.waiting.each(self.waiting.question(by, question_id, seconds) for question_id in ids)
        questions = tuple(await (while_connected(request, work) if seconds else work))
        return AskedTogether(status="settled" if all(one.settled for one in questions) else "pending", questions=questions)
