"""How the agent-loop is put together: commands, the facts that move turns, the model, the sweep, the relay."""

from collections.abc import Sequence
from functools import partial

from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.publisher import publish_facts
from askbus.bus.streams import SETTLED
from askbus.models.adapters import Models
from askbus.models.images import image_config
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.threads.model import CloseThread, CreateThread, DeleteThread, RenameThread, SaveThread
from askbus.tools.model import ToolSpec
from askbus.tools.offered import offered
from askbus.turns.model import CancelTurn, RetryTurn, StartTurn
from askbus_agent_loop.handlers import Handlers
from askbus_agent_loop.pieces import Stops
from askbus_agent_loop.resting import Resting
from askbus_agent_loop.stepper import Stepper
from askbus_agent_loop.threads import Threads


def make_app(settings: Settings) -> App:
    """The agent-loop, not yet running. Raises SettingsError where a tool of the deployment's own cannot be used."""
    return App(Service.AGENT_LOOP, settings, partial(wire, tools=offered(settings.tools, pictures=_makes_pictures(settings))))


def _makes_pictures(settings: Settings) -> bool:
    return image_config(settings.configured_models()) is not None


async def wire(ground: Ground, tools: tuple[ToolSpec, ...]) -> None:
    """Everything that the agent-loop does."""
    models = Models(ground.settings)
    ground.at_end(models.close)
    stops = Stops(ground.nc)
    await stops.listen()

    async def repeat(facts: Sequence[Fact]) -> None:
        await publish_facts(ground.js, facts)

    stepper = Stepper(ground.pool, ground.nc, models, ground.settings, holder=ground.holder, tools=tools)
    handlers = Handlers(ground.pool, stepper, stops, ground.settings, holder=ground.holder)
    threads = Threads(ground.pool, stops)
    ground.answers(CreateThread, handlers.on_create_thread)
    ground.answers(RenameThread, threads.on_rename_thread)
    ground.answers(SaveThread, threads.on_save_thread)
    ground.answers(DeleteThread, threads.on_delete_thread)
    ground.answers(CloseThread, threads.on_close_thread)
    ground.answers(StartTurn, handlers.on_start_turn)
    ground.answers(RetryTurn, handlers.on_retry_turn)
    ground.answers(CancelTurn, handlers.on_cancel_turn)
    ground.acts_on(
        {
            "turn.queued": handlers.on_turn_queued,
            "turn.completed": handlers.on_turn_settled,
            "turn.failed": handlers.on_turn_settled,
            "turn.cancelled": handlers.on_turn_settled,
            "tool_run.finished": handlers.on_tool_run_finished,
            **{f"question.{state}": handlers.on_question_settled for state in SETTLED},
        },
        on_dead=handlers.on_dead,
    )
    ground.relays()
    resting = Resting(
        ground.pool,
        rested=ground.settings.stuck_after,
        turn_ms=handlers.budgets.turn_ms,
        repeat=repeat,
        behind=ground.behind,
    )
    ground.every(ground.settings.sweep_every, "wake_resting_turns", resting.wake)
