"""Waiting for an action's outcome over HTTP: it holds nothing that its caller has no right to any more."""

import asyncio

import pytest

from askbus.access import verbs as access
from askbus.db.pool import Pool
from askbus.testing.actions import proposed, update
from askbus.testing.composed import Composed
from askbus.testing.people import Company, give_token
from askbus.testing.waiting import until
from askbus_gateway import app
from askbus_gateway.sse.waits import Waits


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[Waits]:
    """Who waits, in each of the gateways that start from now on."""
    made: list[Waits] = []

    class Kept(Waits):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(app, "Waits", Kept)
    return made


@pytest.mark.requirement("I3")
async def test_a_token_that_is_revoked_while_it_waits_hears_nothing_more(
    waits: list[Waits], actions: Composed, company: Company, pool: Pool
) -> None:
    """What was decided after its end is not for it to read."""
    agent = await give_token(pool, company["mia"])
    async with actions.client(agent) as robot, actions.client(company["mia"]) as mia:
        action = await proposed(robot, company, update({"country": "IE"}))
        waiting = asyncio.create_task(robot.get(f"/v1/actions/{action['id']}", params={"wait": 20}))
        await until(lambda: _waiting(waits, 1))
        await access.revoke_token(pool, company["mia"].principal, agent.principal.id)
        await mia.post(f"/v1/actions/{action['id']}/reject", json={"reason": "not for the agent"})
        answer = await waiting
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert "not for the agent" not in answer.text


async def test_a_wait_ends_with_its_client(waits: list[Waits], actions: Composed, company: Company) -> None:
    """Whoever goes away leaves nobody waiting behind."""
    async with actions.client(company["mia"]) as mia:
        action = await proposed(mia, company, update({"country": "IE"}))
        waiting = asyncio.create_task(mia.get(f"/v1/actions/{action['id']}", params={"wait": 600}))
        await until(lambda: _waiting(waits, 1))
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    await until(lambda: _waiting(waits, 0), within=5)


async def _waiting(waits: list[Waits], number: int) -> bool:
    return sum(map(len, waits)) == number
