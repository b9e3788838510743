"""What an agent does that asks several questions at once, while processes die around it."""

from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.waiting import until

COUNT_TOLD = """
    SELECT count(*) FROM change_log
     WHERE entity_id = ANY ($1::text[]::uuid[]) AND fact IN ('question.reminded', 'question.escalated')"""


async def an_agent_asks_several(world: World) -> None:
    """A set of three: two are answered once people were reminded and they were escalated, one expires; each is told once."""
    async with world.robot() as robot, world.browser(world.company["owner"]) as owner:
        ask = {"project_id": str(world.company.north), "text": "Ship it?", "assignee_id": str(world.company["max"].id)}
        later = {"remind": {"after": 1}, "escalate": {"after": 1, "role": "owner"}}
        asked = await robot.post(
            "/v1/questions/batch", {"questions": [{**ask, **later}, {**ask, **later}, {**ask, "expires_in": 1}]}
        )
        ids = [one["id"] for one in asked["questions"]]

        async def told() -> bool:
            return bool(await world.db.fetchval(COUNT_TOLD, ids) == 4)

        await until(told, within=scenes.UNATTENDED)
        for question_id in ids[:2]:
            await owner.post(f"/v1/questions/{question_id}/answer", {"answer": "yes"})
        settled = await robot.get(f"/v1/questions/batch?ids={','.join(ids)}&wait=10")
    assert [one["state"] for one in settled["questions"]] == ["answered", "answered", "expired"]
    assert await world.db.fetchval(COUNT_TOLD, ids) == 4
