"""A conversation over HTTP, and what the model was sent for it."""

from dataclasses import dataclass
from typing import Any

import httpx2

from askbus.models.quoting import NOTE
from askbus.testing.model_process import ScriptedModel
from askbus.testing.streams import Event, events


@dataclass(frozen=True)
class Talk:
    """One thread of one person's. What is sent to the model is looked up by what they said last."""

    client: httpx2.AsyncClient
    model: ScriptedModel
    thread_id: str

    async def say(self, text: str, **more: object) -> str:
        """Sends a message and returns its turn."""
        sent = await self.client.post(f"/v1/threads/{self.thread_id}/turns", json={"text": text, **more})
        assert sent.status_code == 201, sent.text
        return str(sent.json()["id"])

    async def ask(self, text: str, **more: object) -> Any:
        """Sends a message and returns its turn once that is over."""
        return await self.over(await self.say(text, **more))

    async def over(self, turn_id: str) -> Any:
        """The turn once it is over, as its stream tells it."""
        return (await self.follow(turn_id))[-1].data

    async def follow(self, turn_id: str, until: str = "done") -> list[Event]:
        """The turn's stream up to its end, or up to an event of this name, or to where it comes to this state."""
        seen: list[Event] = []
        async with self.client.stream("GET", f"/v1/turns/{turn_id}/events") as response:
            async for event in events(response):
                seen.append(event)
                if event.name == until or (event.name == "turn" and event.data["state"] == until):
                    break
        return seen

    async def retry(self, turn_id: str, **more: str) -> httpx2.Response:
        return await self.client.post(f"/v1/turns/{turn_id}/retry", json=more)

    async def stop(self, turn_id: str) -> httpx2.Response:
        return await self.client.post(f"/v1/turns/{turn_id}/cancel", json={})

    async def turn(self, turn_id: str) -> Any:
        """The turn as it stands."""
        return (await self.client.get(f"/v1/turns/{turn_id}")).json()

    async def messages(self) -> list[Any]:
        """The thread's messages."""
        return list((await self.client.get(f"/v1/threads/{self.thread_id}")).json()["messages"])

    async def requests(self, said: str) -> list[Any]:
        """The bodies of the requests whose last words of a person are these, oldest first."""
        bodies: list[Any] = [request.body for request in await self.model.requests()]
        return [body for body in bodies if any(words.endswith(said) for words in words_of(body)[-1:])]


def words_of(body: Any) -> list[str]:
    """What people said in a request."""
    users = [str(message["content"]) for message in body["messages"] if message["role"] == "user"]
    return [text for text in users if not text.startswith(NOTE)]


def spoken(body: Any) -> list[tuple[str, str]]:
    """Roles and texts of a request, without the system's."""
    return [(message["role"], message["content"] or "") for message in body["messages"] if message["role"] != "system"]


def system_of(body: Any) -> str:
    return str(body["messages"][0]["content"])


def results_of(body: Any) -> list[str]:
    """What came of the calls, as the model is told, oldest first."""
    return [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]
