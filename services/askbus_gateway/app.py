"""How the gateway is put together: the hub over the feed, the HTTP doors, the console, agents' authorisation."""

from collections.abc import Callable
from functools import partial

import nats.errors
import structlog
from nats.aio.msg import Msg

from askbus.bus import faults, subjects
from askbus.bus.envelope import Service
from askbus.feed.bridge import Bridge, BusTail, Source
from askbus.feed.tail import Deliver, Tail
from askbus.limits.address import Proxies
from askbus.limits.limiter import Limiter
from askbus.outbound.client import Outbound
from askbus.outbound.policy import Policy
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.tools.model import ToolSpec
from askbus.tools.offered import offered
from askbus_gateway.agents import dismiss_agents, welcome_agents
from askbus_gateway.agui.door import AgUi
from askbus_gateway.aisdk.door import Chat
from askbus_gateway.console import Console
from askbus_gateway.http.access import Access
from askbus_gateway.http.actions import Actions
from askbus_gateway.http.api import make_api
from askbus_gateway.http.approvals import Approvals
from askbus_gateway.http.attachments import Attachments
from askbus_gateway.http.audit import Audit
from askbus_gateway.http.connected_apps import ConnectedApps
from askbus_gateway.http.cors import across_origins
from askbus_gateway.http.gate import Gate
from askbus_gateway.http.inbox import Inbox
from askbus_gateway.http.invitations import Invitations
from askbus_gateway.http.metrics import Metrics
from askbus_gateway.http.openapi import Document
from askbus_gateway.http.question_sets import QuestionSets
from askbus_gateway.http.questions import Questions
from askbus_gateway.http.signin import SignIn
from askbus_gateway.http.team import Team
from askbus_gateway.http.threads import Threads
from askbus_gateway.http.tools import LONGER, Tools
from askbus_gateway.http.turns import Turns
from askbus_gateway.http.usage import UsageSums
from askbus_gateway.http.waiting import Waiting
from askbus_gateway.http.webhooks import Webhooks
from askbus_gateway.http.workspace import Workspace
from askbus_gateway.mcp.toolbox import mcp_door
from askbus_gateway.oauth.app import oauth_routes
from askbus_gateway.signin.bearers import Bearers
from askbus_gateway.sse.events import Events
from askbus_gateway.sse.hub import Hub
from askbus_gateway.sse.turns import TurnStreams
from askbus_gateway.sse.waits import Waits
from askbus_gateway.sse.wheel import Wheel

log = structlog.get_logger()


def make_app(settings: Settings) -> App:
    """The gateway, not yet running. Raises SettingsError where a tool of the deployment's own cannot be used."""
    return App(Service.GATEWAY, settings, partial(wire, tools=offered(settings.tools)))


async def fed(ground: Ground) -> Callable[[Deliver], Source]:
    """Where the gateway's hub has its changes from: Postgres, or the bus (ASKBUS_FEED)."""
    url, pool, nc = ground.database_url, ground.pool, ground.nc
    if ground.settings.feed == "listen":
        return partial(Tail, url, pool)
    tail = BusTail(pool, connected=lambda: nc.is_connected)

    async def publish(page: bytes) -> None:
        try:
            await nc.publish(subjects.FEED, page)
        except nats.errors.Error as error:  # too large, or NATS is away: whoever misses it reads the log
            log.info("bridge.not_published", reason=faults.kind(error))

    async def heard(message: Msg) -> None:
        tail.heard(message.data)

    await nc.subscribe(subjects.FEED, cb=heard)
    ground.runs("bridge", Bridge(url, pool, publish).run)
    return tail.delivering


def _gate(ground: Ground, bearers: Bearers) -> Gate:
    settings = ground.settings
    limits = Limiter.of(ground.pool, settings)
    proxies = Proxies(settings.trusted_proxies, settings.forwarded_header)
    return Gate(ground.pool, ground.commands, settings.public_url, limits=limits, proxies=proxies, bearers=bearers)


async def wire(ground: Ground, tools: tuple[ToolSpec, ...]) -> None:
    """Everything that the gateway does."""
    settings = ground.settings
    outbound = Outbound(Policy(settings.outbound_hosts))
    bearers = Bearers(ground.pool, settings.jwt_issuers, outbound)
    gate = _gate(ground, bearers)
    signing_in = SignIn(gate, settings, outbound)
    waits = Waits()
    waiting = Waiting(gate, waits)
    workspace = Workspace(gate, seconds=settings.tool_seconds + LONGER)
    wheel = Wheel(settings.heartbeat, settings.stream_age)
    hub = Hub(await fed(ground), ground.pool, waits, wheel)
    ground.runs("feed", hub.tail.run)
    ground.runs("heartbeats", wheel.run)
    ground.ready_when("feed", hub.ready)

    turns = TurnStreams(ground.pool, ground.nc, hub, heartbeat=settings.heartbeat, age=settings.stream_age)
    routes = [
        *Access(gate).routes(),
        *Team(gate, settings.configured_models()).routes(),
        *Invitations(gate).routes(),
        *Audit(gate).routes(),
        *signing_in.routes(),
        *QuestionSets(gate, waiting).routes(),
        *Inbox(gate).routes(),
        *Questions(gate, waiting).routes(),
        *Actions(gate, waiting).routes(),
        *Approvals(gate, settings.standing_approval_days).routes(),
        *Threads(gate).routes(),
        *Attachments(gate, settings).routes(),
        *Turns(gate, turns).routes(),
        *AgUi(gate, turns, waiting).routes(),
        *Chat(gate, turns, waiting).routes(),
        *Tools(gate, tools, settings).routes(),
        *Metrics(gate, tools, settings).routes(),
        *UsageSums(gate).routes(),
        *Events(gate, hub).routes(),
        *Webhooks(gate).routes(),
        *workspace.routes(),
        *mcp_door(gate, waiting, workspace, settings).routes(),
        *ConnectedApps(gate).routes(),
        *oauth_routes(gate, settings, outbound),
        *Console().routes(),
    ]
    routes += Document(gate, routes).routes()
    ground.door.serve(across_origins(make_api(routes), settings.cors_origins))

    await welcome_agents(ground)
    dismiss_agents(ground, hub)

    async def let_go() -> None:
        turns.end_all()
        waits.stop()
        await hub.close()
        await bearers.close()
        await signing_in.close()
        await outbound.close()

    ground.at_end(let_go)
