"""How the question-broker is put together: commands, agents' doors, facts, the relay."""

from askbus.bus.app import agent_door
from askbus.bus.envelope import Service
from askbus.bus.streams import SETTLED
from askbus.questions.attention import MarkSeen, SnoozeQuestion
from askbus.questions.model import AnswerQuestion, AskBack, AskQuestion, CancelQuestion, DeclineQuestion
from askbus.questions.sets import AskQuestions
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus_question_broker.doors import Doors
from askbus_question_broker.handlers import Handlers
from askbus_question_broker.told import Teller


def make_app(settings: Settings) -> App:
    """The question-broker, not yet running."""
    return App(Service.QUESTION_BROKER, settings, wire)


async def wire(ground: Ground) -> None:
    """Everything that the question-broker does."""
    handlers = Handlers(ground.pool)
    ground.answers(AskQuestion, handlers.on_ask_question)
    ground.answers(AskQuestions, handlers.on_ask_questions)
    ground.answers(AnswerQuestion, handlers.on_answer_question)
    ground.answers(DeclineQuestion, handlers.on_decline_question)
    ground.answers(AskBack, handlers.on_ask_back)
    ground.answers(CancelQuestion, handlers.on_cancel_question)
    ground.answers(MarkSeen, handlers.on_mark_seen)
    ground.answers(SnoozeQuestion, handlers.on_snooze_question)

    doors = Doors(ground.pool, handlers, ground.nudge)
    for verb, door in doors.table().items():
        agent_door(ground.broker, Service.QUESTION_BROKER, "question", verb)(door)

    teller = Teller(ground.pool, ground.nc)
    told = dict.fromkeys([f"question.{state}" for state in SETTLED] + ["question.asked_back"], teller.on_question_moved)
    ground.acts_on({**told, "turn.cancelled": handlers.on_turn_cancelled})
    ground.relays()
    ground.every(ground.settings.sweep_every, "settle_ended_turns", handlers.settle_ended_turns)
