"""An agent on a person's machine while the gateway it talks to is killed."""

import pytest
from tests.faults.conftest import World
from tests.mcp_clients.wire import GREETING, question, started

from askbus.testing.waiting import until


@pytest.mark.requirement("M12", "Q2", "O2")
async def test_one_call_waits_through_the_death_of_the_gateway(world: World) -> None:
    """kill -9 while the call waits, answered when the gateway is there again: the call returns the answer, to one question."""
    await world.stack.wait_ready()
    async with started(world.stack.http_url, world.agent.token) as wire, world.browser(world.company["max"]) as max_:
        wire.ask("initialize", GREETING)
        await wire.hear()
        call = wire.call("ask_user_question", {"text": "Killed?", "project_id": str(world.company.north), "wait_seconds": 600})

        async def asked() -> bool:
            return bool(await world.db.fetchval("SELECT count(*) = 1 FROM questions WHERE text = 'Killed?'"))

        await until(asked)
        await world.service("gateway").kill()
        await world.stack.wait_ready()
        question_id = await world.db.fetchval("SELECT id FROM questions WHERE text = 'Killed?'")
        await max_.post(f"/v1/questions/{question_id}/answer", {"answer": "and back"})
        heard = await wire.hear()
        assert (heard["id"], question(heard)["answer"]) == (call, "and back")
        assert await asked()
        assert await wire.end() == 0
