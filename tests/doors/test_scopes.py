"""What each scope lets do, over HTTP: by table, for every role and kind of credential."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from askbus.access import verbs
from askbus.access.model import TOKEN_SCOPES, Role, Scope, scopes_of
from askbus.bus.envelope import Service
from askbus.bus.provision import provision
from askbus.db.pool import Pool
from askbus.testing.actions import NEW, pending_action, update
from askbus.testing.composed import Composed, compose
from askbus.testing.people import KINDS, Agent, Company, Person, give_token
from askbus.testing.questions import open_question
from askbus.testing.records import TeamDatabase
from askbus.testing.servers import Server, TestDatabase
from askbus_action_applier.app import make_app as make_applier
from askbus_agent_loop.app import make_app as make_loop
from askbus_gateway.app import make_app as make_gateway
from askbus_question_broker.app import make_app as make_broker

GUARDED = (
    Scope.DATA_READ, Scope.QUESTIONS_ASK, Scope.QUESTIONS_ANSWER, Scope.ACTIONS_PROPOSE, Scope.ACTIONS_CONFIRM, Scope.CHAT,
)  # fmt: skip
"""The scopes that something exists for."""

Request = tuple[str, dict[str, Any]]


@pytest.fixture
async def askbus(database: TestDatabase, nats_server: Server, company: Company, shop: TeamDatabase) -> AsyncIterator[Composed]:
    """All who own what is asked for here; no tool-runner, so that a call of a tool that is let through finds nobody."""
    await provision(nats_server.url, ack_wait=1)
    services = [
        (Service.GATEWAY, make_gateway),
        (Service.QUESTION_BROKER, make_broker),
        (Service.ACTION_APPLIER, make_applier),
        (Service.AGENT_LOOP, make_loop),
    ]
    async with compose(database, nats_server.url, services, records_url=shop.url, command_patience=0) as running:
        yield running


@pytest.fixture
async def attempts(company: Company, pool: Pool) -> Callable[[Scope], Any]:
    """What to ask for under a scope: a new question of somebody else's agent for each answer, one change to confirm by a wrong digest."""
    agent = (await give_token(pool, company["max"])).principal
    north = {"project_id": str(company.north)}
    action = await pending_action(pool, agent, company.north)

    async def attempt(scope: Scope) -> Request:
        match scope:
            case Scope.DATA_READ:
                return "/v1/tools/describe_records", {**north, "arguments": {}}
            case Scope.QUESTIONS_ASK:
                return "/v1/questions", {**north, "text": "May I?"}
            case Scope.QUESTIONS_ANSWER:
                question = await open_question(pool, agent, company.north)
                return f"/v1/questions/{question.id}/answer", {"answer": "yes"}
            case Scope.ACTIONS_PROPOSE:
                return "/v1/actions", {**north, "operations": [update({"email": NEW})]}
            case Scope.ACTIONS_CONFIRM:
                return f"/v1/actions/{action.id}/confirm", {"digest": "0" * 64}
            case _:
                return "/v1/threads", north

    return attempt


async def credentials(pool: Pool, who: Person) -> list[tuple[Person | Agent, frozenset[Scope]]]:
    """What somebody comes with, and what it holds by itself: a session; a token with all that one can have; one as it is made, with reading
    alone; and of a member one without each of the scopes."""
    sets: list[frozenset[Scope]] = [TOKEN_SCOPES, frozenset({Scope.DATA_READ})]
    if who.name == "mia":
        sets += [TOKEN_SCOPES - {scope} for scope in GUARDED if scope in TOKEN_SCOPES]
    return [(who, frozenset(Scope)), *[(await give_token(pool, who, tuple(sorted(held))), held) for held in sets]]


@pytest.mark.requirement("I4", "I10")
async def test_a_scope_is_needed_and_the_role_is_the_bound(
    askbus: Composed, attempts: Callable[[Scope], Any], company: Company, pool: Pool
) -> None:
    """A token never exceeds its owner, whatever it was given; a session holds what the role allows; confirming takes a person. Each call of
    a tool that is let through is in the audit log."""
    called = 0
    let_through = {Scope.DATA_READ: 503, Scope.QUESTIONS_ANSWER: 200, Scope.ACTIONS_CONFIRM: 409}
    for name in ("owner", "admin", "mia", "viewer", "demo"):
        role, demo = KINDS[name]
        for who, held in await credentials(pool, company[name]):
            # One without a scope is tried with that one alone.
            tried = [scope for scope in GUARDED if len(held) < 2 or held >= TOKEN_SCOPES or scope not in held]
            async with askbus.client(who) as client:
                for scope in tried:
                    path, said = await attempts(scope)
                    answered = await client.post(path, json=said)
                    allowed = scope in held and scope in scopes_of(role, demo=demo, demo_chat=False)
                    expected = let_through.get(scope, 201) if allowed else 403
                    assert answered.status_code == expected, (name, held, scope, answered.text)
                    called += expected == let_through[Scope.DATA_READ]
    assert called
    audited = "SELECT count(*) FROM audit_log WHERE event = 'tool.called' AND entity = 'describe_records'"
    assert await pool.fetchval(audited) == called


@pytest.mark.requirement("I4", "I3")
async def test_a_role_that_is_lost_takes_its_tokens_scopes_along(
    askbus: Composed, attempts: Callable[[Scope], Any], company: Company, pool: Pool
) -> None:
    """At the next call, one by one and in bulk: what a viewer's token sends changes nothing, and what comes back comes back."""
    robot = await give_token(pool, company["mia"], tuple(TOKEN_SCOPES))
    agent = (await give_token(pool, company["max"])).principal
    question = await open_question(pool, agent, company.north)
    answers = {"answers": [{"question_id": str(question.id), "answer": "yes"}]}

    async def tried(client: httpx2.AsyncClient) -> list[bool]:
        return [(await client.post(path, json=said)).status_code != 403 for path, said in [await attempts(s) for s in GUARDED]]

    async with askbus.client(robot) as client, askbus.client(company["viewer"]) as viewer:
        before = [scope in TOKEN_SCOPES for scope in GUARDED]
        assert await tried(client) == before
        for role, demo in ((Role.VIEWER, False), (Role.MEMBER, True)):
            await verbs.set_member(pool, company.workspace_id, company["mia"].id, role, demo=demo)
            assert await tried(client) == [scope is Scope.DATA_READ for scope in GUARDED]
            for who in (client, viewer):
                bulk = await who.post("/v1/questions/answers", json=answers)
                assert bulk.status_code == 403 or bulk.json()["results"][0]["error"]["code"] == "permission_denied"
        assert await pool.fetchval("SELECT state FROM questions WHERE id = $1", question.id) == "open"
        await verbs.set_member(pool, company.workspace_id, company["mia"].id, Role.MEMBER)
        assert await tried(client) == before
        bulk = await client.post("/v1/questions/answers", json=answers)
        assert (bulk.status_code, bulk.json()["results"][0]["error"]) == (200, None)

        # An agent does not answer itself through another of its owner's tokens.
        other = await give_token(pool, company["mia"])
        question = await open_question(pool, other.principal, company.north)
        own = await client.post(f"/v1/questions/{question.id}/answer", json={"answer": "yes"})
        assert own.status_code == 403
