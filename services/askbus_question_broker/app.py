"""How the question-broker is put together: commands, agents' doors, facts, webhooks, the relay."""

from functools import partial

from pydantic import SecretStr

from askbus.bus.app import agent_door
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.streams import SETTLED
from askbus.bus.worker import Handler
from askbus.limits.limiter import Limiter
from askbus.outbound.client import Outbound
from askbus.outbound.policy import Policy
from askbus.questions.attention import MarkSeen, SnoozeQuestion
from askbus.questions.model import AnswerQuestion, AskBack, AskQuestion, CancelQuestion, DeclineQuestion
from askbus.questions.sets import AskQuestions
from askbus.runtime.ground import Ground
from askbus.runtime.sealing import Sealer
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.webhooks.model import (
    EVENTS,
    ChangeWebhook,
    CreateWebhook,
    DeleteWebhook,
    PingWebhook,
    ReplayDeliveries,
    RotateWebhook,
)
from askbus_question_broker.doors import Doors
from askbus_question_broker.handlers import Handlers
from askbus_question_broker.sender import Sender
from askbus_question_broker.told import Teller
from askbus_question_broker.webhooks import Webhooks


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

    doors = Doors(ground.pool, handlers, Limiter.of(ground.pool, ground.settings), ground.nudge)
    for verb, door in doors.table().items():
        agent_door(ground.broker, Service.QUESTION_BROKER, "question", verb)(door)

    teller = Teller(ground.pool, ground.nc)
    webhooks = _webhooks(ground)
    told = [f"question.{state}" for state in SETTLED] + ["question.asked_back"]
    news: dict[str, Handler] = dict.fromkeys(EVENTS, webhooks.on_news)
    moves: dict[str, Handler] = {word: _both(teller.on_question_moved, webhooks.on_news) for word in told}
    ground.acts_on({**news, **moves, "turn.cancelled": handlers.on_turn_cancelled})
    ground.relays()
    ground.every(ground.settings.sweep_every, "settle_ended_turns", handlers.settle_ended_turns)


def _webhooks(ground: Ground) -> Webhooks:
    """Commands, and the sender beside them."""
    settings = ground.settings
    sealer = Sealer.of(_said(settings.sealing_keys), _said(settings.secret))
    policy = Policy(settings.outbound_hosts)
    outbound = Outbound(policy)
    sender = Sender(
        ground.pool,
        sealer,
        outbound,
        timeout=settings.webhook_timeout,
        slots=settings.webhook_slots,
        drain=settings.drain,
    )
    webhooks = Webhooks(ground.pool, sealer, policy, sender.wake)
    ground.answers(CreateWebhook, webhooks.on_create_webhook)
    ground.answers(ChangeWebhook, webhooks.on_change_webhook)
    ground.answers(RotateWebhook, webhooks.on_rotate_webhook)
    ground.answers(DeleteWebhook, webhooks.on_delete_webhook)
    ground.answers(PingWebhook, webhooks.on_ping_webhook)
    ground.answers(ReplayDeliveries, webhooks.on_replay_deliveries)
    ground.runs("webhooks", sender.run)
    ground.at_end(sender.stop)
    ground.every(10 * settings.sweep_every, "missed_webhooks", partial(webhooks.record_missed, settings.stuck_after))
    return webhooks


def _said(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def _both(first: Handler, second: Handler) -> Handler:
    async def handle(fact: Fact) -> None:
        await first(fact)
        await second(fact)

    return handle
