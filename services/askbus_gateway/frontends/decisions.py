"""What a person decided in a front end: each thing is matched to a stored row of theirs, which is the authority, and sent to its owner.

Everything is looked up before anything is sent, so a decision on something that is not there changes nothing.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from pydantic import JsonValue, ValidationError

from askbus.access.model import Principal
from askbus.actions import reads as actions
from askbus.actions.model import ActionDetail, ActionState, ConfirmAction, RejectAction
from askbus.errors import Conflict, InvalidInput, NotFound
from askbus.questions import reads as questions
from askbus.questions.model import AnswerQuestion, DeclineQuestion, QuestionState
from askbus.turns import reads as turns
from askbus.turns.model import TurnDetail
from askbus_gateway.frontends.cards import approved_action
from askbus_gateway.http.gate import Gate, invalid, require_person
from askbus_gateway.http.waiting import Waiting

SETTLE = 10.0
"""Seconds that a confirmed change may take to be applied before its card is shown as it stands."""


@dataclass(frozen=True)
class Answer:
    """To a question. `given` False: they will not answer."""

    question_id: UUID
    given: bool
    value: JsonValue = None


@dataclass(frozen=True)
class Verdict:
    """On a pending change, by the id under which it was shown. `approved` None: left undecided."""

    approval_id: str
    approved: bool | None
    reason: str | None = None


class Decisions:
    """The decisions of one request, in one thread."""

    def __init__(self, gate: Gate, waiting: Waiting, by: Principal, thread_id: UUID) -> None:
        self.gate = gate
        self.waiting = waiting
        self.by = by
        self.thread_id = thread_id

    async def take(self, answers: Sequence[Answer], verdicts: Sequence[Verdict]) -> list[ActionDetail]:
        """Sends them. What was settled before, here or in another tab, is left as it is. Returns the changes that were decided on, as they
        stand afterwards.

        Raises NotFound for what is not in this thread, Conflict for a change that is not what was shown, InvalidInput for an answer that
        its question does not take, PermissionDenied where no person is there to confirm.
        """
        open_questions = [answer for answer in answers if await self._is_open(answer.question_id)]
        pending = [(verdict, *await self._shown(verdict)) for verdict in verdicts]
        for answer in open_questions:
            await self._answer(answer)
        for verdict, action, digest in pending:
            if verdict.approved is not None and action.state is ActionState.PENDING:
                await self._decide(verdict, action.id, digest)
        return list(await asyncio.gather(*(self._at_rest(action.id) for _verdict, action, _digest in pending)))

    async def _is_open(self, question_id: UUID) -> bool:
        question = await questions.get(self.gate.pool, self.by, question_id)
        if question.turn_id is None or (await self._turn(question.turn_id)).thread_id != self.thread_id:
            raise NotFound("There is no such question here.")
        return question.state is QuestionState.OPEN

    async def _turn(self, turn_id: UUID) -> TurnDetail:
        return await turns.get(self.gate.pool, self.by, turn_id)

    async def _shown(self, verdict: Verdict) -> tuple[ActionDetail, str]:
        named = approved_action(verdict.approval_id)
        if named is None:
            raise NotFound("There is no such thing to approve.")
        if verdict.approved is not None:
            require_person(self.by)
        action = await actions.get(self.gate.pool, self.by, named[0])
        if action.thread_id != self.thread_id:
            raise NotFound("There is no such thing to approve here.")
        if action.digest != named[1]:
            raise Conflict("This is not what was shown. Look at the change again.", {"digest": action.digest})
        return action, named[1]

    async def _answer(self, answer: Answer) -> None:
        key = uuid4()
        if answer.given:
            command = AnswerQuestion(command_id=key, by=self.by, question_id=answer.question_id, answer=answer.value)
            await self.gate.commands.ask(command)
            return
        reason = answer.value if isinstance(answer.value, str) else None
        try:
            declined = DeclineQuestion(command_id=key, by=self.by, question_id=answer.question_id, reason=reason)
        except ValidationError as error:
            raise invalid(error) from None
        await self.gate.commands.ask(declined)

    async def _decide(self, verdict: Verdict, action_id: UUID, digest: str) -> None:
        key = uuid4()
        if verdict.approved is True:
            await self.gate.commands.ask(ConfirmAction(command_id=key, by=self.by, action_id=action_id, digest=digest))
            return
        try:
            rejected = RejectAction(command_id=key, by=self.by, action_id=action_id, reason=verdict.reason)
        except ValidationError as error:
            raise invalid(error) from None
        await self.gate.commands.ask(rejected)

    async def _at_rest(self, action_id: UUID) -> ActionDetail:
        action = await actions.get(self.gate.pool, self.by, action_id)
        if action.resting or action.state is ActionState.PENDING:
            return action
        return await self.waiting.at_rest(self.by, action_id, SETTLE)


def question_id_of(text: str) -> UUID | None:
    """The question that an id names, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None


def require_all(expected: Sequence[str], given: Sequence[str]) -> None:
    """Raises InvalidInput where something that is open has no decision (AG-UI: a resume covers every open interrupt)."""
    missing: list[JsonValue] = [name for name in expected if name not in given]
    if missing:
        raise InvalidInput(f"resume has to cover every open interrupt; {len(missing)} are missing.", {"missing": missing})
