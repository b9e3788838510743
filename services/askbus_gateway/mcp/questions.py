"""The four question tools. They take an action's id too: who proposed outside of a chat learns its outcome the same way (R22)."""

from collections.abc import Awaitable
from typing import Annotated, TypeVar
from uuid import UUID, uuid4

from pydantic import BaseModel, ConfigDict, Field

from askbus.access.model import Principal, Scope
from askbus.actions import reads as actions
from askbus.actions.model import ActionDetail, ActionFilter, ActionState, WithdrawAction
from askbus.db.ids import new_id
from askbus.errors import InvalidInput, NotFound, PermissionDenied
from askbus.limits.model import Limited
from askbus.questions import reads
from askbus.questions.model import LONGEST_WAIT, Ask, AskQuestion, CancelQuestion, QuestionFilter, QuestionState
from askbus.questions.sets import MOST_IN_SET, AskQuestions, AskSet
from askbus_gateway.http.question_sets import AskSetBody
from askbus_gateway.http.questions import AskBody
from askbus_gateway.http.waiting import Asked
from askbus_gateway.mcp.elicitation import AnswerPage
from askbus_gateway.mcp.holding import Holding
from askbus_gateway.mcp.places import in_a_project
from askbus_gateway.mcp.protocol import Object
from askbus_gateway.mcp.results import SHAPE, Pages, outcome
from askbus_gateway.mcp.shapes import Schema, having, optional, shape
from askbus_gateway.mcp.tool import Call, Outcome, Reply, Tool, read

T = TypeVar("T")

MOST_LISTED = 50
EITHER = (Scope.QUESTIONS_ASK, Scope.ACTIONS_PROPOSE)


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GetAnswer(_Arguments):
    """Which questions or actions, and how long to wait until all of them are settled."""

    ids: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MOST_IN_SET)]
    wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT)] = 0


class ListOpen(_Arguments):
    """How many of the caller's own, after which."""

    project_id: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 20
    before: UUID | None = None
    actions_before: UUID | None = None


class Cancel(_Arguments):
    id: UUID


class QuestionTools:
    """Asking people, and learning what they said."""

    def __init__(self, holding: Holding, pages: Pages) -> None:
        self.holding = holding
        self.gate = holding.waiting.gate
        self.waiting = holding.waiting
        self.pages = pages
        self.page = AnswerPage(holding.waiting.gate.pool, pages)

    def tools(self) -> list[Tool]:
        return [
            Tool(
                name="ask_user_question",
                description="Asks people a question, or several with `questions`, and waits up to wait_seconds for the answer; the same "
                "dedupe_key finds the same question again.",
                arguments=_ask_shape(),
                output=SHAPE,
                run=self.ask,
                scopes=(Scope.QUESTIONS_ASK,),
                waits=True,
            ),
            Tool(
                name="get_question_answer",
                description="Tells what became of questions or proposed changes by their ids, waiting up to wait_seconds.",
                arguments=shape(GetAnswer),
                output=SHAPE,
                run=self.get,
                scopes=EITHER,
                reads=True,
                waits=True,
            ),
            Tool(
                name="list_open_questions",
                description="Lists your own questions and proposed changes that people have not settled yet.",
                arguments=shape(ListOpen),
                output=SHAPE,
                run=self.list_open,
                scopes=EITHER,
                reads=True,
            ),
            Tool(
                name="cancel_question",
                description="Takes back an open question or a pending proposal of yours by its id.",
                arguments=shape(Cancel),
                output=SHAPE,
                run=self.cancel,
                scopes=EITHER,
            ),
        ]

    async def ask(self, call: Call) -> Outcome:
        """One question, or a set: all of it or none. A call that comes back from a question's page asks nothing."""
        back = await self.page.back(call)
        if back is not None:
            question_id, seconds = back
            return await self._told(call, (question_id,), seconds)
        if call.arguments.get("questions") is None:
            said = read(AskBody, await in_a_project(self.gate.pool, call.by, call.arguments))
            await self.gate.limits.take(Limited.ASK, call.by)
            ask = Ask.model_validate(said.model_dump(exclude={"wait_seconds"}, exclude_unset=True))
            asked = await self.gate.commands.ask(AskQuestion(command_id=uuid4(), by=call.by, question_id=new_id(), ask=ask))
            if said.wait_seconds and self.page.opens(call, asked):
                return await self.page.send(call, asked)
            return await self._told(call, (asked.id,), said.wait_seconds)
        several = read(AskSetBody, await self._placed(call))
        await self.gate.limits.take(Limited.ASK, call.by, len(several.questions))
        set_id = uuid4()
        asks = AskQuestions(command_id=set_id, by=call.by, set_id=set_id, said=AskSet(questions=several.questions))
        together = await self.gate.commands.ask(asks)
        return await self._told(call, tuple(one.id for one in together.questions), several.wait_seconds)

    async def _placed(self, call: Call) -> Object:
        """The arguments of a set, each question in its project: its own, or the one that is named for all."""
        rest = {name: value for name, value in call.arguments.items() if name not in {"project_id", "questions"}}
        listed = call.arguments["questions"]
        if not isinstance(listed, list):
            return call.arguments
        if len(listed) > MOST_IN_SET:
            raise InvalidInput(f"questions: at most {MOST_IN_SET} are asked at once.")
        shared = {"project_id": call.arguments.get("project_id")}
        placed = [
            await in_a_project(self.gate.pool, call.by, {**shared, **one}) if isinstance(one, dict) else one for one in listed
        ]
        return {**rest, "questions": placed}

    async def get(self, call: Call) -> Outcome:
        wanted = read(GetAnswer, call.arguments)
        return await self._told(call, wanted.ids, wanted.wait_seconds)

    async def _told(self, call: Call, ids: tuple[UUID, ...], seconds: float) -> Outcome:
        """The questions and actions once all are settled, or as they stand after the time that this client is held."""
        found = await self.holding.hold(call, seconds, lambda left: self._each(call.by, ids, left))
        questions = [one for one in found if isinstance(one, Asked)]
        return outcome(self.pages, call.by, questions, [one for one in found if isinstance(one, ActionDetail)])

    async def _each(self, by: Principal, ids: tuple[UUID, ...], seconds: float) -> list[Asked | ActionDetail]:
        return await self.waiting.each(self._one(by, one, seconds) for one in ids)

    async def _one(self, by: Principal, one: UUID, seconds: float) -> Asked | ActionDetail:
        """The question of this id, or else the action. Raises NotFound for what is neither, or not for this caller."""
        question = await _unless_refused(reads.get(self.gate.pool, by, one))
        if question is not None:
            return Asked.of(question) if question.settled or not seconds else await self.waiting.question(by, one, seconds)
        action = await _unless_refused(actions.get(self.gate.pool, by, one))
        if action is None:
            raise NotFound("There is no such question or action.")
        return action if action.resting or not seconds else await self.waiting.action(by, one, seconds)

    async def list_open(self, call: Call) -> Outcome:
        wanted = read(ListOpen, call.arguments)
        questions = await _unless_refused(
            reads.list_page(
                self.gate.pool,
                call.by,
                QuestionFilter(
                    state=QuestionState.OPEN, mine=True, project_id=wanted.project_id, limit=wanted.limit, before=wanted.before
                ),
            )
        )
        pending = await _unless_refused(
            actions.list_page(
                self.gate.pool,
                call.by,
                ActionFilter(
                    state=ActionState.PENDING,
                    mine=True,
                    project_id=wanted.project_id,
                    limit=wanted.limit,
                    before=wanted.actions_before,
                ),
            )
        )
        more: Object = {}
        if questions is not None and questions.next is not None:
            more["next"] = str(questions.next)
        if pending is not None and pending.next is not None:
            more["next_action"] = str(pending.next)
        shown = () if questions is None else questions.questions
        return outcome(self.pages, call.by, shown, () if pending is None else pending.actions, more)

    async def cancel(self, call: Call) -> Reply:
        wanted = read(Cancel, call.arguments)
        question = await _unless_refused(reads.get(self.gate.pool, call.by, wanted.id))
        if question is not None:
            await self.gate.commands.ask(CancelQuestion(command_id=uuid4(), by=call.by, question_id=wanted.id))
            return outcome(self.pages, call.by, [Asked.of(await reads.get(self.gate.pool, call.by, wanted.id))])
        await self.gate.commands.ask(WithdrawAction(command_id=uuid4(), by=call.by, action_id=wanted.id))
        return outcome(self.pages, call.by, actions=[await actions.get(self.gate.pool, call.by, wanted.id)])


async def _unless_refused(found: Awaitable[T]) -> T | None:
    """What was read; None where it is not this caller's to see."""
    try:
        return await found
    except (NotFound, PermissionDenied):
        return None


def _ask_shape() -> Schema:
    """One question's parameters and a list of such; which project may be left out."""
    one = optional(shape(AskBody), "project_id", "text")
    return having(one, questions={"type": "array", "items": {"type": "object"}})
