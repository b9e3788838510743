"""What actions change in a database of the team's own is told on the feed, wherever that database is."""

from typing import Any

import pytest

from askbus.testing.actions import NEW, confirmed, create, proposed, undone, update
from askbus.testing.composed import Composed
from askbus.testing.events import EventClient, following
from askbus.testing.people import Company
from askbus.testing.records import TeamDatabase


async def told(client: EventClient) -> list[tuple[Any, ...]]:
    return [(change["collection"], change["key"], change["status"]) for change in await client.changes()]


@pytest.mark.requirement("S12", "R18")
async def test_what_an_action_wrote_and_what_its_undo_took_back_are_told(
    actions: Composed, company: Company, shop: TeamDatabase
) -> None:
    """Collection and key of each record, in the action's project, and no value of it."""
    async with (
        actions.client(company["mia"]) as mia,
        following(actions.http, company["max"], query={"entities": "record"}) as max_,
    ):
        await max_.next()
        made, changed = create({"name": "Grace"}), update({"email": NEW}, id="b")
        action = await confirmed(mia, await proposed(mia, company, made, changed))
        (new,) = [row[0] for row in await shop.rows("SELECT id FROM customers WHERE name = 'Grace'")]
        assert await told(max_) == [("customers", {"id": str(new)}, "created"), ("customers", {"id": "1"}, "updated")]
        await undone(mia, action["id"])
        assert await told(max_) == [("customers", {"id": "1"}, "updated"), ("customers", {"id": str(new)}, "deleted")]
    assert b"Grace" not in max_.raw
    assert NEW.encode() not in max_.raw
