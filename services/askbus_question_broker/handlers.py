"""The question-broker's handlers: each command's one handler, and what ended turns leave behind."""

from askbus.bus.fact import Fact
from askbus.db.pool import Pool
from askbus.questions import attending, verbs
from askbus.questions.attention import Marked, MarkSeen, SnoozeQuestion
from askbus.questions.model import AnswerQuestion, AskBack, AskQuestion, CancelQuestion, DeclineQuestion, Question
from askbus.questions.sets import AskedSet, AskQuestions
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus_question_broker.sets import ask_set


class Handlers:
    """Every change to questions, each one statement on `pool`, or one transaction."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def on_ask_question(self, command: AskQuestion) -> Question:
        crash.point("broker.ask.before_commit")
        question = await verbs.ask(self.pool, command, trace=traceparent())
        crash.point("broker.ask.after_commit")
        return question

    async def on_ask_questions(self, command: AskQuestions) -> AskedSet:
        crash.point("broker.ask_set.before_commit")
        asked = await ask_set(self.pool, command, trace=traceparent())
        crash.point("broker.ask_set.after_commit")
        return asked

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

    async def on_mark_seen(self, command: MarkSeen) -> Marked:
        return await attending.mark_seen(self.pool, command, trace=traceparent())

    async def on_snooze_question(self, command: SnoozeQuestion) -> Marked:
        return await attending.snooze(self.pool, command, trace=traceparent())

    async def on_turn_cancelled(self, fact: Fact) -> None:
        """What a cancelled turn still asked is settled; the turn's row says whether it was stopped or superseded."""
        await verbs.settle_of_turn(self.pool, fact.entity_id)
        crash.point("broker.turn_cancelled.after_commit")

    async def settle_ended_turns(self) -> None:
        """The same for turns whose fact was lost, and for those that failed while a question of theirs was open."""
        await verbs.settle_of_turn(self.pool, None)
