"""What a webhook's receiver hears while the process that sends to it dies."""

from typing import Any

from tests.faults import scenes
from tests.faults.conftest import World

from askbus.testing.receiver import receiving
from askbus.testing.waiting import until


async def a_webhook_is_told(world: World) -> None:
    """A question is answered: its one delivery arrives, perhaps more than once, each time signed and with the same id."""
    company = world.company
    async with (
        receiving() as receiver,
        world.robot() as robot,
        world.browser(company["max"]) as max_,
        world.browser(company["admin"]) as admin,
    ):
        hook = await admin.post("/v1/webhooks", {"url": receiver.url, "events": ["question.answered"]})
        path = f"/v1/webhooks/{hook['webhook']['id']}"
        asked = await robot.post("/v1/questions", {"project_id": str(company.north), "text": "Ship it?"})
        await max_.post(f"/v1/questions/{asked['id']}/answer", {"answer": "yes"})
        delivered: list[Any] = []

        async def told() -> bool:
            delivered[:] = (await admin.get(f"{path}/deliveries"))["deliveries"]
            return [one["state"] for one in delivered] == ["delivered"]

        await until(told, within=scenes.UNATTENDED)
        heard = {(one.id, one.checked(hook["secret"])["data"]["id"]) for one in receiver.received}
        assert heard == {(delivered[0]["id"], asked["id"])}
        await admin.delete(path)
