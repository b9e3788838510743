"""What somebody is answered."""

from askbus.testing.composed import Composed
from askbus.testing.people import Company
from askbus.testing.streams import events


async def answer(running: Composed, company: Company, text: str) -> list[str]:
    """What Mia is answered, in its parts."""
    async with running.client(company["mia"]) as mia:
        thread = (await mia.post("/v1/threads", json={"project_id": str(company.north)})).json()
        turn = (await mia.post(f"/v1/threads/{thread['id']}/turns", json={"text": text})).json()
        async with mia.stream("GET", f"/v1/turns/{turn['id']}/events") as response:
            seen = [event async for event in events(response)]
    assert seen[-1].data["state"] == "completed"
    return str(seen[-1].data["answer"]).split(" | ")
