"""What tests of the bus need: a provisioned server with connections to it, handlers that keep what they saw, facts."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from nats.aio.msg import Msg
from nats.js.api import RawStreamMsg

from askbus.access.model import Principal, PrincipalKind, Role
from askbus.bus.accounts import ADMIN
from askbus.bus.connection import Connection, connect
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.provision import provision
from askbus.bus.publisher import publish_facts
from askbus.bus.streams import ACTS_ON, DLQ, FACTS
from askbus.bus.worker import Handler
from askbus.runtime.secrets import service_nats_url
from askbus.stack.nats import Nats
from askbus.testing.servers import SECRET, Server
from askbus.testing.waiting import until

ACK_WAIT = 0.5
"""Seconds until an unacknowledged fact comes again, in tests."""


@dataclass
class Bus:
    """A provisioned server, and connections to it that the test need not close."""

    server: Server
    guarded: bool
    stack: AsyncExitStack

    @property
    def nats(self) -> Nats:
        """The server as a process, to kill."""
        return cast("Nats", self.server)

    def url(self, user: str) -> str:
        return service_nats_url(self.server.url, user, SECRET) if self.guarded else self.server.url

    async def connect(self, user: str) -> Connection:
        """Connected as this user; on an open server the name is only a name."""
        nc = await connect(self.url(user), user)
        self.stack.push_async_callback(nc.close)
        return nc

    async def connect_agent(self, p: UUID, token: str | None = None) -> Connection:
        nc = await connect(self.server.url, f"agent {p}", f"_INBOX.agent.{p}", token=token)
        self.stack.push_async_callback(nc.close)
        return nc

    async def provision(self, *, ack_wait: float = ACK_WAIT, update: bool = False) -> None:
        await provision(self.url(ADMIN), ack_wait=ack_wait, update=update)

    async def publish(self, nc: Connection, *facts: Fact) -> None:
        await publish_facts(nc.jetstream(), facts)

    async def dead_letter(self, nc: Connection, consumer: Service = Service.QUESTION_BROKER) -> RawStreamMsg:
        """The consumer's newest dead letter, as soon as there is one."""
        subject, found = f"dlq.{consumer.value}", []

        async def there() -> bool:
            if (await nc.jsm().stream_info(DLQ)).state.messages == 0:
                return False
            found.append(await nc.jsm().get_last_msg(DLQ, subject))
            return True

        await until(there)
        return found[-1]

    async def settled(self, nc: Connection, consumer: Service = Service.QUESTION_BROKER) -> None:
        """Nothing waits to be delivered to the consumer, or to be acknowledged by it."""

        async def empty() -> bool:
            info = await nc.jsm().consumer_info(FACTS, consumer.value)
            return (info.num_pending or 0) + (info.num_ack_pending or 0) == 0

        await until(empty)


@dataclass
class Seen:
    """A handler that keeps what it was given. `then` is what it does after that."""

    then: Handler | None = None
    facts: list[Fact] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __call__(self, fact: Fact) -> None:
        async with self.came:
            self.facts.append(fact)
            self.times.append(asyncio.get_running_loop().time())
            self.came.notify_all()
        if self.then is not None:
            await self.then(fact)

    async def count(self, number: int, *, within: float = 15) -> list[Fact]:
        """Everything that came, once it is so many."""
        async with asyncio.timeout(within), self.came:
            await self.came.wait_for(lambda: len(self.facts) >= number)
        return self.facts


def handlers(handler: Handler, service: Service = Service.QUESTION_BROKER) -> Mapping[str, Handler]:
    return dict.fromkeys(ACTS_ON[service], handler)


def answered(seq: int | None = 1, *, traceparent: str | None = None) -> Fact:
    """A fact that the question-broker and the agent-loop act on."""
    return Fact(
        fact="question.answered",
        entity="question",
        entity_id=uuid4(),
        status="answered",
        workspace_id=uuid4(),
        project_id=uuid4(),
        seq=seq,
        traceparent=traceparent,
    )


def somebody() -> Principal:
    return Principal(
        kind=PrincipalKind.SESSION, id=uuid4(), user_id=uuid4(), workspace_id=uuid4(), role=Role.OWNER, scopes=frozenset()
    )


async def spy(nc: Connection, subject: str) -> list[Msg]:
    """Everything that travels on the subject from now on."""
    heard: list[Msg] = []

    async def keep(message: Msg) -> None:
        heard.append(message)

    await nc.subscribe(subject, cb=keep)
    await nc.flush()
    return heard


async def knock(url: str, **credentials: str) -> str:
    """The server's answer to a client that connects with these (`user` and `pass`, or `auth_token`): PONG lets it in.

    On the bare wire, since nats-py takes a closed door for an open one when the server is slow to refuse.
    """
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        options = json.dumps({"verbose": False, "pedantic": False, "protocol": 1, **credentials})
        writer.write(f"CONNECT {options}\r\nPING\r\n".encode())
        async with asyncio.timeout(20):
            async for line in reader:
                if line.startswith((b"PONG", b"-ERR")):
                    return line.decode().strip()
    finally:
        writer.close()
        await writer.wait_closed()
    return "closed"
