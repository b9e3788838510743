"""The services that webhooks need, composed in this process; and an admin's hand on them."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool, open_pool
from askbus.testing.composed import Composed, compose
from askbus.testing.people import Agent, Company, Person, found_company, give_token
from askbus.testing.servers import Server, TestDatabase
from askbus.testing.waiting import until
from askbus_expiry.app import make_app as make_expiry
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

KEY = base64.urlsafe_b64encode(b"a key that only these tests use.").decode()


class Stage:
    """Gateway, two question-brokers and expiry, with a person for each thing to do."""

    def __init__(self, running: Composed, pool: Pool, company: Company, agent: Agent) -> None:
        self.running = running
        self.pool = pool
        self.company = company
        self.agent = agent

    async def call(self, who: Person | Agent, method: str, path: str, said: object = None, *, status: int | None = None) -> Any:
        """What the API answers; with `status`, it must be that."""
        async with self.running.client(who) as client:
            response = await client.request(method, f"/v1/{path}", **({} if method == "GET" else {"json": said or {}}))  # type: ignore[arg-type]
        assert response.status_code == status if status else response.is_success, response.text
        return response.json() if response.content else None

    async def admin(self, method: str, path: str, said: object = None, *, status: int | None = None) -> Any:
        return await self.call(self.company["admin"], method, path, said, status=status)

    async def hook(self, url: str, **said: object) -> Any:
        """A new webhook, with its secret."""
        return await self.admin("POST", "webhooks", {"url": url, **said}, status=201)

    async def ask(self, **said: object) -> str:
        said = {"project_id": str(self.company.north), "text": "Ship the blue one?", **said}
        return str((await self.call(self.agent, "POST", "questions", said))["id"])

    async def answer(self, question_id: str, answer: str = "yes, the blue one") -> None:
        await self.call(self.company["max"], "POST", f"questions/{question_id}/answer", {"answer": answer})

    async def deliveries(self, hook: Any, **wanted: str) -> Any:
        return (await self.admin("GET", f"webhooks/{hook['webhook']['id']}/deliveries?{httpx2.QueryParams(wanted)}"))[
            "deliveries"
        ]

    async def settled(self, hook: Any, state: str, count: int) -> Any:
        """The webhook's deliveries in this state, once it is so many."""
        found: list[Any] = []

        async def there() -> bool:
            found[:] = await self.deliveries(hook, state=state)
            return len(found) == count

        await until(there)
        return found

    async def attempted(self, hook: Any, attempts: int) -> Any:
        """The webhook's one delivery, once so many attempts are over."""
        found: list[Any] = []

        async def there() -> bool:
            found[:] = await self.deliveries(hook)
            return [[a["duration_ms"] is not None for a in d["attempts"]] for d in found] == [[True] * attempts]

        await until(there)
        return found[0]

    async def later(self) -> None:
        """The pause before the next attempt is over."""
        await self.pool.execute("UPDATE webhook_deliveries SET due_at = now() WHERE state = 'pending' AND NOT leased")


@pytest.fixture
async def pool(database: TestDatabase) -> AsyncIterator[Pool]:
    """The administrator's connections, to set scenes and to look at rows."""
    async with open_pool(database.url, size=4, name="tests") as pool:
        yield pool


@pytest.fixture
async def company(pool: Pool) -> Company:
    """One workspace with a person of each kind, and a stranger."""
    return await found_company(pool)


@pytest.fixture
def timeout() -> float:
    """How long one attempt may take, in seconds."""
    return 1.0


@pytest.fixture
async def stage(
    database: TestDatabase, nats_server: Server, pool: Pool, company: Company, timeout: float
) -> AsyncIterator[Stage]:
    """Running; loopback is a host that the operator lists."""
    await provision(nats_server.url, ack_wait=1)
    services = [
        (Service.GATEWAY, make_gateway),
        (Service.QUESTION_BROKER, make_broker),
        (Service.QUESTION_BROKER, make_broker),
        (Service.EXPIRY, make_expiry),
    ]
    settings = {"sealing_keys": KEY, "outbound_hosts": "127.0.0.1", "webhook_timeout": timeout}
    async with compose(database, nats_server.url, services, **settings) as running:
        yield Stage(running, pool, company, await give_token(pool, company["mia"]))
