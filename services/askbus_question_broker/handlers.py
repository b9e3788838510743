"""The question-broker's handlers: each command's one handler, and what ended turns leave behind."""

from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.questions import verbs
from askbus.questions.model import AnswerQuestion, AskBack, AskQuestion, CancelQuestion, DeclineQuestion, Question
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent


class Handlers:
    """Every change to questions, each one statement on `pool`."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def on_ask_question(self, command: AskQuestion) -> Question:
        crash.point("broker.ask.before_commit")
        question = await verbs.ask(self.pool, command, trace=traceparent())
        crash.point("broker.ask.after_commit")
        return question

    async def on_answer_question(self, command: AnswerQuestion) -> Question:
        crash.point("broker.answer.before_commit")
        question = await verbs.answer(self.pool, command, trace=traceparent())
        crash.point("broker.answer.after_commit")
        return question

    async def on_decline_question(self, command: DeclineQuestion) -> Question:
        crash.point("broker.decline.before_commit")
        question = await verbs.decline(self.pool, command, trace=traceparent())
        crash.point("broker.decline.after_commit")
        return question

    async def on_ask_back(self, command: AskBack) -> Question:
        crash.point("broker.ask_back.before_commit")
        question = await verbs.ask_back(self.pool, command, trace=traceparent())
        crash.point("broker.ask_back.after_commit")
        return question

    async def on_cancel_question(self, command: CancelQuestion) -> Question:
        crash.point("broker.cancel.before_commit")
        question = await verbs.cancel(self.pool, command, trace=traceparent())
        crash.point("broker.cancel.after_commit")
        return question

    async def on_turn_cancelled(self, fact: Fact) -> None:
        """What a cancelled turn still asked is settled; the turn's row says whether it was stopped or superseded."""
        await verbs.settle_of_turn(self.pool, fact.entity_id)
        crash.point("broker.turn_cancelled.after_commit")

    async def settle_ended_turns(self) -> None:
        """The same for turns whose fact was lost, and for those that failed while a question of theirs was open."""
        await verbs.settle_of_turn(self.pool, None)
