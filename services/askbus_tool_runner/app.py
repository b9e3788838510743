"""How the tool-runner is put together: its tools, facts, direct calls, the signal to stop, the sweep, the relay."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from askbus.bus import signals
from askbus.bus.envelope import Service
from askbus.models.config import ModelConfig
from askbus.models.images import ImageMaker, image_config
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.runtime.team import check_catalogue, team_records
from askbus.tools.finding import FindByName
from askbus.tools.model import CallTool
from askbus.tools.offered import own_tools
from askbus_tool_runner.direct import Direct
from askbus_tool_runner.finding import Finding
from askbus_tool_runner.handlers import Handlers
from askbus_tool_runner.runner import Runner
from askbus_tool_runner.tools.own import Aside
from askbus_tool_runner.tools.registry import BUILT_IN, PICTURES, Tool
from askbus_tool_runner.work import Work


def make_app(settings: Settings, tools: Sequence[Tool] = BUILT_IN) -> App:
    """The tool-runner, not yet running, with these tools and the deployment's own. Raises SettingsError or BadTool for those."""
    aside = Aside()
    own = [aside.tool(tool) for tool in own_tools(settings.tools)]
    pictures = image_config(settings.configured_models())
    offered = [*tools, *([PICTURES] if pictures is not None else []), *own]
    return App(Service.TOOL_RUNNER, settings, partial(wire, tools=offered, aside=aside, pictures=pictures))


async def wire(ground: Ground, tools: Sequence[Tool], aside: Aside, pictures: ModelConfig | None) -> None:
    """Everything that the tool-runner does."""
    settings = ground.settings
    records = None
    if settings.records_url is not None:
        records = team_records(settings, settings.records_url)
        await check_catalogue(records)
        ground.runs("records", partial(_kept_open, records.dispose))
    ground.runs("own tools", partial(_kept_open, aside.close))
    maker = None
    if pictures is not None:
        maker = ImageMaker(pictures, timeout=settings.tool_seconds)
        ground.runs("pictures", partial(_kept_open, maker.close))
    work = Work(ground.pool, ground.commands, records, tools, settings, pictures=maker)
    runner = Runner(ground.pool, work, settings)
    handlers = Handlers(ground.pool, runner, ground.nudge, settings)

    ground.answers(CallTool, Direct(ground.pool, work).on_call_tool)
    ground.answers(FindByName, Finding(ground.pool, records).on_find_by_name)
    ground.acts_on(
        {"tool_call.requested": handlers.on_tool_call_requested, "turn.cancelled": handlers.on_turn_cancelled},
        on_dead=handlers.on_dead,
    )
    await signals.on_stop(ground.nc, runner.stop)
    ground.relays()
    ground.every(settings.sweep_every, "run_stuck_calls", handlers.run_stuck_calls)
    ground.at_end(handlers.drain)


async def _kept_open(close: Callable[[], Awaitable[None]]) -> None:
    """What is closed last, when nothing uses it any more."""
    try:
        await asyncio.Event().wait()
    finally:
        await close()
