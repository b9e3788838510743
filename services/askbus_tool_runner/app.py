"""How the tool-runner is put together: its tools, facts, the signal to stop, the sweep, the relay."""

import asyncio
from collections.abc import Sequence
from functools import partial

from askbus.bus import signals
from askbus.bus.envelope import Service
from askbus.records.engine import Records, open_records
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus_tool_runner.handlers import Handlers
from askbus_tool_runner.runner import Runner
from askbus_tool_runner.tools.registry import BUILT_IN, Tool


def make_app(settings: Settings, tools: Sequence[Tool] = BUILT_IN) -> App:
    """The tool-runner, not yet running. A deployment may give it tools of its own beside the built-in ones."""
    return App(Service.TOOL_RUNNER, settings, partial(wire, tools=tools))


async def wire(ground: Ground, tools: Sequence[Tool]) -> None:
    """Everything that the tool-runner does."""
    settings = ground.settings
    records = None
    if settings.records_url is not None:
        records = open_records(settings.records_url, settings.records_policy, pool_size=settings.pool_size)
        ground.runs("records", partial(_kept_open, records))
    runner = Runner(ground.pool, ground.commands, records, tools, settings)
    handlers = Handlers(ground.pool, runner, ground.nudge, settings)

    ground.acts_on(
        {"tool_call.requested": handlers.on_tool_call_requested, "turn.cancelled": handlers.on_turn_cancelled},
        on_dead=handlers.on_dead,
    )
    await signals.on_stop(ground.nc, runner.stop)
    ground.relays()
    ground.every(settings.sweep_every, "run_stuck_calls", handlers.run_stuck_calls)
    ground.at_end(handlers.drain)


async def _kept_open(records: Records) -> None:
    """The team's database is closed last, when nothing reads it any more."""
    try:
        await asyncio.Event().wait()
    finally:
        await records.dispose()
