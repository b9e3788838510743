"""The tool-runner on a stage: which services run beside it, what its turn asks for, and a tool that does what it is told."""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from pydantic import BaseModel, JsonValue

from askbus.access.model import Scope
from askbus.bus import subjects
from askbus.bus.connection import Connection
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.publisher import publish_facts
from askbus.db.pool import Pool
from askbus.testing.composed import Composed, MakeApp, compose
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import TestDatabase
from askbus.testing.turns import RunningTurn, StoredRun, cancel_turn, finished_run, relay_alone, request_call
from askbus.testing.waiting import until
from askbus.tools.model import ToolSpec
from askbus_action_applier.app import make_app as make_applier
from askbus_question_broker.app import make_app as make_broker
from askbus_tool_runner.app import make_app as make_tool_runner
from askbus_tool_runner.context import Context
from askbus_tool_runner.tools.registry import BUILT_IN, Tool

RELAY: tuple[Service, MakeApp] = (Service.AGENT_LOOP, relay_alone)
BROKER: tuple[Service, MakeApp] = (Service.QUESTION_BROKER, make_broker)
APPLIER: tuple[Service, MakeApp] = (Service.ACTION_APPLIER, make_applier)
RUNNER: tuple[Service, MakeApp] = (Service.TOOL_RUNNER, make_tool_runner)


class Word(BaseModel):
    """What the tool takes and gives."""

    word: str = ""


@dataclass
class Knocker:
    """A tool that says when it was called, and waits until it is opened. A stubborn one does not let a stop end it."""

    says: str = ""
    opened: bool = False
    stubborn: bool = False
    error: Exception | None = None
    said: list[str] = field(default_factory=list)
    knocked: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def count(self) -> int:
        """How often it was called."""
        return len(self.said)

    async def knock(self, context: Context, given: Word) -> Word:
        self.said.append(given.word)
        self.knocked.set()
        if self.error is not None:
            raise self.error
        try:
            if not self.opened:
                await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            if not self.stubborn:
                raise
            await self.open.wait()
        return Word(word=self.says)


def runner_with(knocker: Knocker, *, repeatable: bool = True) -> tuple[Service, MakeApp]:
    """A tool-runner that has one more tool, as a deployment may give it."""
    spec = ToolSpec("knock", "Knocks.", Word, Word, Scope.CHAT, repeatable)
    return Service.TOOL_RUNNER, partial(make_tool_runner, tools=[*BUILT_IN, Tool(spec, knocker.knock)])


@dataclass(frozen=True)
class Stage:
    """Where a test's services run. `turn` is Mia's, at the step of its tools; `team` is the small shop."""

    database: TestDatabase
    nats_url: str
    nc: Connection
    pool: Pool
    turn: RunningTurn
    team: TeamDatabase

    def running(self, *services: tuple[Service, MakeApp], **settings: object) -> AbstractAsyncContextManager[Composed]:
        """These services, until the context ends. The sweep keeps out of it unless `stuck_after` says otherwise."""
        given = {"records_url": self.team.url, "stuck_after": 600.0, **settings}
        return compose(self.database, self.nats_url, services, **given)

    async def request(self, name: str, arguments: dict[str, JsonValue] | str = "{}") -> UUID:
        """One more call of the turn's step."""
        position = await self.pool.fetchval("SELECT count(*) FROM tool_calls WHERE turn_id = $1", self.turn.id)
        call_id = await request_call(self.pool, self.turn, name, arguments, position=position)
        await self._nudge()
        return call_id

    async def cancel(self) -> None:
        """The turn's person pressed Stop."""
        await cancel_turn(self.pool, self.turn)
        await self._nudge()

    async def _nudge(self) -> None:
        """The agent-loop's relay looks at once, as after a commit of its own."""
        await self.nc.publish(subjects.nudge(Service.AGENT_LOOP))

    async def call(self, name: str, arguments: dict[str, JsonValue] | str = "{}") -> StoredRun:
        """The outcome of one more call."""
        return await finished_run(self.pool, await self.request(name, arguments))

    async def publish(self, calls: Sequence[UUID]) -> None:
        """A wake-up for each, as the agent-loop's relay would send it."""
        facts = [
            Fact(
                fact="tool_call.requested",
                entity="tool_call",
                entity_id=call_id,
                status="requested",
                workspace_id=self.turn.workspace_id,
                parent_id=self.turn.id,
                traceparent=None,
                delivery=1,
            )
            for call_id in calls
        ]
        await publish_facts(self.nc.jetstream(), facts)

    async def acknowledged(self, messages: int) -> None:
        """The tool-runner has been given so many messages, and is done with all of them."""

        async def done() -> bool:
            info = await self.nc.jsm().consumer_info("FACTS", Service.TOOL_RUNNER.value)
            given = (info.delivered.consumer_seq or 0) if info.delivered is not None else 0
            return given >= messages and (info.num_pending or 0) + (info.num_ack_pending or 0) == 0

        await until(done)
