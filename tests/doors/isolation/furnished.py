"""The scene of the isolation table: what Mia made in the project north, one of everything, made by the doors themselves."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx2
from tests.webhooks.conftest import KEY

from askbus.access import verbs as access
from askbus.access.model import TOKEN_SCOPES, Role, Scope
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.testing.actions import at_rest, confirmed, create, undone
from askbus.testing.apps import connect, register_app
from askbus.testing.composed import Composed
from askbus.testing.people import Agent, Company, Person, give_token, hire

Clients = Mapping[str, httpx2.AsyncClient]

MODEL: list[Any] = [
    {
        "matching": "and ask",
        "steps": [{"tool_calls": [{"name": "ask_user", "arguments": {"text": "Which one?"}}]}, {"text": "kestrel"}],
    },
    {"matching": "(?s).*", "steps": [{"text": "kestrel"}]},
]
SETTINGS: dict[str, object] = {
    "standing_approval_days": 30,
    "sealing_keys": KEY,
    "stream_age": 0.3,
    "heartbeat": 0.1,
    "limit_chat": 0,
    "limit_ask": 0,
    "limit_tools": 0,
    "limit_sign_in_address": 0,
    "tools": "tests.doors.isolation.metrics",
}

NO_SECRETS = frozenset({"north", "user", "digest", "word", "new", "code"})
"""Things whose ids others may come across."""


class Furnished:
    """Who calls, and a fresh thing of any kind. What is secret is in every text: the word kestrel, and every id that was made."""

    def __init__(
        self,
        services: Composed,
        company: Company,
        pool: Pool,
        callers: Mapping[str, Person | Agent],
        agent: Agent,
        clients: Clients,
    ) -> None:
        self.services = services
        self.company = company
        self.pool = pool
        self.callers = callers
        self.agent = agent
        self.people = {name: who for name, who in callers.items() if isinstance(who, Person)}
        self.clients = clients
        self.north = str(company.north)
        self.made: list[str] = ["kestrel"]
        self.emails = 0

    def secrets(self, caller: str) -> Sequence[str]:
        """What this caller must not read, where they get nothing: who sees north knows of its project."""
        return self.made if caller in {"viewer", "demo", "reader", "narrow"} else [*self.made, self.north]

    async def ids(self, things: Sequence[str]) -> dict[str, str]:
        """The ids of fresh things by these names."""
        found: dict[str, str] = {}
        for thing in things:
            if thing not in found and thing != "digest":
                made: Callable[[dict[str, str]], Awaitable[str]] = getattr(self, f"a_{thing}")
                found[thing] = await made(found)
        self.made += [value for thing, value in found.items() if thing not in NO_SECRETS]
        return found

    async def changed(self) -> set[str]:
        """The ids of all that ever changed in this workspace."""
        rows = await self.pool.fetch("SELECT entity_id FROM change_log WHERE workspace_id = $1", self.company.workspace_id)
        return {str(row["entity_id"]) for row in rows}

    async def post(self, path: str, body: Any, who: str = "mia", **more: Any) -> Any:
        client = self.clients[who]
        response = await client.post(path, json=body, **more)
        assert response.is_success, response.text
        return response.json() if response.content else None

    async def a_north(self, _found: dict[str, str]) -> str:
        return self.north

    async def a_user(self, _found: dict[str, str]) -> str:
        """Somebody new, who sees north."""
        projects = (self.company.north,)
        return str((await hire(self.pool, self.company.workspace_id, f"kestrel{uuid4().hex}", Role.MEMBER, projects=projects)).id)

    async def a_token(self, _found: dict[str, str]) -> str:
        return str((await self.post("/v1/tokens", {"name": "kestrel"}))["token"]["id"])

    async def a_question(self, _found: dict[str, str]) -> str:
        return str((await self.post("/v1/questions", {"project_id": self.north, "text": "kestrel?"}))["id"])

    async def a_own_question(self, _found: dict[str, str]) -> str:
        """What her agent asked."""
        return str((await self.post("/v1/questions", {"project_id": self.north, "text": "kestrel?"}, "agent"))["id"])

    async def a_own_action(self, _found: dict[str, str]) -> str:
        """What her agent proposed."""
        return str((await self._proposed("agent"))["id"])

    async def _proposed(self, who: str = "mia") -> Any:
        self.emails += 1
        operation = create({"name": "Grace", "email": f"kestrel{self.emails}@new.example"})
        return await self.post("/v1/actions", {"project_id": self.north, "operations": [operation]}, who)

    async def a_action(self, found: dict[str, str]) -> str:
        action = await self._proposed()
        found["digest"] = action["digest"]
        return str(action["id"])

    async def a_applied(self, _found: dict[str, str]) -> str:
        mia = self.clients["mia"]
        action = await confirmed(mia, await self._proposed())
        assert action["state"] == "applied", action
        return str(action["id"])

    async def a_undone(self, found: dict[str, str]) -> str:
        action = await self.a_applied(found)
        mia = self.clients["mia"]
        assert (await undone(mia, action))["state"] == "undone"
        return action

    async def a_undo_turn(self, found: dict[str, str]) -> str:
        """A turn that changed something."""
        action, turn = await self.a_applied(found), uuid4()
        await self.pool.execute("UPDATE actions SET turn_id = $2, thread_id = $2 WHERE id = $1", UUID(action), turn)
        return str(turn)

    async def a_undo(self, found: dict[str, str]) -> str:
        undo = await self.post(f"/v1/turns/{await self.a_undo_turn(found)}/undo", {})
        mia = self.clients["mia"]
        for one in undo["undos"]:
            await at_rest(mia, one["action_id"])
        return str(undo["id"])

    async def a_thread(self, _found: dict[str, str]) -> str:
        return str((await self.post("/v1/threads", {"project_id": self.north, "title": "kestrel"}))["id"])

    async def a_temporary(self, _found: dict[str, str]) -> str:
        return str((await self.post("/v1/threads", {"project_id": self.north, "title": "kestrel", "temporary": True}))["id"])

    async def a_open_turn(self, found: dict[str, str], words: str = "kestrel, and ask") -> str:
        """One that waits for an answer."""
        turn = await self.post(f"/v1/threads/{await self.a_thread(found)}/turns", {"text": words})
        return str(turn["id"])

    async def a_turn(self, found: dict[str, str]) -> str:
        """One that is over."""
        turn = await self.a_open_turn(found, "kestrel")
        mia = self.clients["mia"]
        while "event: done" not in (await mia.get(f"/v1/turns/{turn}/events")).text:
            pass  # the stream was over before the turn was
        return turn

    async def a_file(self, _found: dict[str, str]) -> str:
        mia = self.clients["mia"]
        query = {"project_id": self.north, "name": "kestrel.txt"}
        headers = {"content-type": "text/plain", "x-askbus": "1"}
        made = await mia.post("/v1/attachments", params=query, content=b"kestrel", headers=headers)
        return str(made.raise_for_status().json()["id"])

    async def a_approval(self, found: dict[str, str]) -> str:
        allow = {"collection": "customers", "kinds": ["update"], "fields": [{"field": "email"}]}
        terms = {"project_id": self.north, "thread_id": await self.a_thread(found), "allow": allow}
        return str((await self.post("/v1/standing-approvals", {**terms, "most_uses": 1, "expires_in": 3600}))["id"])

    async def a_webhook(self, _found: dict[str, str]) -> str:
        made = await self.post("/v1/webhooks", {"url": "https://example.com/kestrel", "project_id": self.north}, "admin")
        await self.post(f"/v1/webhooks/{made['webhook']['id']}/ping", {}, "admin")
        return str(made["webhook"]["id"])

    async def a_delivery(self, found: dict[str, str]) -> str:
        return str((await self.post(f"/v1/webhooks/{found['webhook']}/ping", {}, "admin"))["id"])

    async def a_invitation(self, _found: dict[str, str]) -> str:
        self.emails += 1
        made = await self.post("/v1/invitations", {"email": f"kestrel{self.emails}@there.example"}, "admin")
        return str(made["invitation"]["id"])

    async def a_app(self, _found: dict[str, str]) -> str:
        """A grant of Mia's."""
        made = await register_app(self.pool, "kestrel")
        await connect(self.pool, self.company["mia"], made.client, projects=(self.company.north,))
        return str((await self.clients["mia"].get("/v1/connected-apps")).json()["apps"][0]["id"])

    async def a_code(self, _found: dict[str, str]) -> str:
        """Of an invitation's link: whoever has it may look."""
        self.emails += 1
        made = await self.post("/v1/invitations", {"email": f"kestrel{self.emails}@there.example"}, "admin")
        return str(made["link"]).partition("=")[2]

    async def a_workspace(self, _found: dict[str, str]) -> str:
        """Another one of somebody who moves."""
        made = await access.create_workspace(self.pool, "kestrel")
        await access.set_member(self.pool, made, self.people["mover"].id, Role.MEMBER)
        return str(made)

    async def a_new(self, _found: dict[str, str]) -> str:
        """The id of what is yet to be made."""
        return str(new_id())

    async def a_word(self, _found: dict[str, str]) -> str:
        """A name that nobody has yet. It is no secret."""
        return f"word{uuid4().hex}"


@asynccontextmanager
async def furnish(services: Composed, company: Company, pool: Pool) -> AsyncIterator[Furnished]:
    """The callers of the table, beside the company's own people."""
    mia, owner = company["mia"], company["owner"]
    other = await hire(pool, company.workspace_id, "other", Role.MEMBER, projects=(company.south,))
    agent = await give_token(pool, mia, tuple(TOKEN_SCOPES))
    callers: dict[str, Person | Agent] = {
        **company.people,
        "other": other,
        "agent": agent,
        "mover": await hire(pool, company.workspace_id, "mover", Role.MEMBER),
        "reader": await give_token(pool, mia, (Scope.DATA_READ,)),
        "south": await give_token(pool, owner, tuple(TOKEN_SCOPES), (company.south,)),
    }
    async with AsyncExitStack() as opened:
        clients = {name: await opened.enter_async_context(services.client(who)) for name, who in callers.items()}
        yield Furnished(services, company, pool, callers, agent, clients)
