"""A secret that no key opens: its webhook is listed and of no use, and nobody else notices."""

import pytest
from tests.webhooks.conftest import Stage

from askbus.testing.receiver import receiving

pytestmark = pytest.mark.requirement("I9")


async def test_a_secret_that_cannot_be_opened_breaks_nothing_else(stage: Stage) -> None:
    """Its attempts fail under a name of their own; the list shows it, the other webhook is told, and a new secret makes it work again."""
    async with receiving() as receiver, receiving() as other:
        lost, fine = await stage.hook(receiver.url), await stage.hook(other.url)
        key = lost["webhook"]["id"]
        sealed = await stage.pool.fetchval("SELECT secret FROM webhooks WHERE id = $1", key)
        await stage.pool.execute("UPDATE webhooks SET secret = $2 WHERE id = $1", key, sealed[:-1] + bytes([sealed[-1] ^ 1]))
        await stage.ask()
        assert (await stage.settled(fine, "delivered", 1))[0]["event"] == "question.asked"
        delivery = await stage.attempted(lost, 1)
        assert (delivery["state"], delivery["attempts"][0]["error"]) == ("pending", "secret_unreadable")
        assert {hook["id"] for hook in (await stage.admin("GET", "webhooks"))["webhooks"]} == {key, fine["webhook"]["id"]}
        assert (await stage.admin("GET", f"webhooks/{key}"))["state"] == "active"
        await stage.admin("POST", f"webhooks/{key}/rotate", {"overlap": 0})
        await stage.later()
        await stage.settled(lost, "delivered", 1)
