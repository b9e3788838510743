"""What people and agents do while processes die around them: each scene ends only when its whole story has come true."""

from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any
from uuid import uuid4

from tests.faults.conftest import World

from askbus.access import choices
from askbus.access.model import NumberCheck
from askbus.testing.invariants import AT_REST, broken
from askbus.testing.patient import Patient
from askbus.testing.waiting import until

RECORDS = cycle(range(10, 40))
"""A customer of its own for each story: two that change the same field would conflict, as they should."""

UNATTENDED = 20.0
"""Seconds for what must come true by itself. One process that dies may take ten of them; here up to four start anew at once, beside the
other tests, on two cores."""

WITHIN = 120.0
"""Seconds for a whole scene with its restarts."""


async def once(look: Callable[[], Awaitable[Any]], *states: str, on_the_way: set[str], within: float = UNATTENDED) -> Any:
    """What `look` returns as soon as it is in one of the states; it may pass through those on the way and no others."""
    seen: list[Any] = []

    async def there() -> bool:
        seen[:] = [await look()]
        assert seen[0]["state"] in on_the_way | set(states), seen[0]
        return seen[0]["state"] in states

    await until(there, within=within)
    return seen[0]


async def turn_once(client: Patient, turn_id: str, *states: str, within: float = UNATTENDED) -> Any:
    """The turn as soon as it is in one of the states."""
    return await once(
        lambda: client.get(f"/v1/turns/{turn_id}"), *states, on_the_way={"queued", "running", "waiting"}, within=within
    )


async def action_once(client: Patient, action_id: str, *states: str) -> Any:
    """The action as soon as it is in one of the states."""
    return await once(lambda: client.get(f"/v1/actions/{action_id}"), *states, on_the_way={"pending", "confirmed", "applied"})


async def rests(world: World) -> bool:
    """Whether nothing is left to do."""
    return not await broken(world.db, AT_REST)


async def at_rest(world: World, within: float = UNATTENDED) -> None:
    """Returns once nothing is left to do."""
    await until(lambda: rests(world), within=within)


async def start_turn(world: World, client: Patient, text: str) -> str:
    thread = await client.post("/v1/threads", {"project_id": str(world.company.north)})
    sent = await client.post(f"/v1/threads/{thread['id']}/turns", {"text": text, "client_message_id": str(uuid4())})
    return str(sent["id"])


async def a_turn_changes_a_record(world: World) -> None:
    """Read, ask, answer, propose, confirm, apply, undo: every service has its part."""
    customer = next(RECORDS)
    before = await world.record("SELECT row_to_json(c)::text FROM customers c WHERE id = $1", customer)
    async with world.browser(world.company["mia"]) as mia:
        action_id = (await changed_by_a_turn(world, mia, customer))["actions"][0]
        await mia.post(f"/v1/actions/{action_id}/undo")
        await action_once(mia, action_id, "undone")
    assert await world.record("SELECT row_to_json(c)::text FROM customers c WHERE id = $1", customer) == before
    entries = await world.record("SELECT count(*) FROM askbus_ledger.outcomes WHERE action_id = $1", action_id)
    assert entries == 2


async def changed_by_a_turn(world: World, mia: Patient, customer: int) -> Any:
    """The turn whose one action is applied."""
    note = f"n{uuid4().hex[:8]}"
    turn_id = await start_turn(world, mia, f"note {customer} {note}")
    [question_id] = (await turn_once(mia, turn_id, "waiting"))["questions"]
    await mia.post(f"/v1/questions/{question_id}/answer", {"answer": "yes"})
    turn = await turn_once(mia, turn_id, "completed")
    assert turn["answer"] == "I have proposed it, and it waits for you."
    [action_id] = turn["actions"]
    digest = (await mia.get(f"/v1/actions/{action_id}"))["digest"]
    await mia.post(f"/v1/actions/{action_id}/confirm", {"digest": digest})
    await action_once(mia, action_id, "applied")
    assert await world.record("SELECT note FROM customers WHERE id = $1", customer) == note
    return turn


async def a_turn_is_undone(world: World) -> None:
    """Two changes of one turn are taken back together, the last one first, and proposed anew; nobody confirms that."""
    customer = next(RECORDS)
    before = await world.record("SELECT row_to_json(c)::text FROM customers c WHERE id = $1", customer)
    async with world.browser(world.company["mia"]) as mia:
        turn = await changed_by_a_turn(world, mia, customer)
        operation = {"id": "a", "kind": "update", "collection": "customers", "record": customer, "values": {"note": "later"}}
        later = await mia.post("/v1/actions", {"project_id": str(world.company.north), "operations": [operation]})
        await mia.post(f"/v1/actions/{later['id']}/confirm", {"digest": later["digest"]})
        await action_once(mia, later["id"], "applied")
        await world.db.execute(
            "UPDATE actions SET thread_id = $2, turn_id = $3 WHERE id = $1", later["id"], turn["thread_id"], turn["id"]
        )
        asked = await mia.post(f"/v1/turns/{turn['id']}/undo")
        undone = await once(lambda: mia.get(f"/v1/undos/{asked['id']}"), "done", on_the_way={"requested"})
        assert [one["action_id"] for one in undone["undos"]] == [later["id"], turn["actions"][0]]
        assert await world.record("SELECT row_to_json(c)::text FROM customers c WHERE id = $1", customer) == before
        again = await mia.post(f"/v1/actions/{later['id']}/propose-again")
        await mia.post(f"/v1/actions/{again['id']}/reject")


async def an_agent_asks(world: World) -> None:
    """Asked, asked back, answered; another declined; a third cancelled; a fourth expires. The asker learns each outcome."""
    async with world.robot() as robot, world.browser(world.company["max"]) as max_:
        question = {"project_id": str(world.company.north), "text": "Ship it?"}
        answered = (await robot.post("/v1/questions", question))["id"]
        declined = (await robot.post("/v1/questions", question))["id"]
        cancelled = (await robot.post("/v1/questions", question))["id"]
        expired = (await robot.post("/v1/questions", {**question, "expires_in": 1}))["id"]
        await max_.post(f"/v1/questions/{answered}/ask-back", {"text": "Which one?"})
        await max_.post(f"/v1/questions/{answered}/answer", {"answer": "the blue one"})
        await max_.post(f"/v1/questions/{declined}/decline", {"reason": "not mine"})
        await robot.post(f"/v1/questions/{cancelled}/cancel")
        outcomes = {
            name: (await robot.get(f"/v1/questions/{question_id}?wait=5"))
            for name, question_id in (
                ("answered", answered),
                ("declined", declined),
                ("cancelled", cancelled),
                ("expired", expired),
            )
        }
    assert {name: question["state"] for name, question in outcomes.items()} == {name: name for name in outcomes}
    assert len(outcomes["answered"]["notes"]) == 1

    async def swept() -> bool:
        return bool(await world.db.fetchval("SELECT state = 'expired' FROM questions WHERE id = $1", expired))

    await until(swept, within=UNATTENDED)


async def a_turn_is_stopped(world: World) -> None:
    """The model never ends its sentence; the person stops it, and what was said is kept."""
    async with world.browser(world.company["mia"]) as mia:
        turn_id = await start_turn(world, mia, "go on for ever")
        await turn_once(mia, turn_id, "running")
        await mia.post(f"/v1/turns/{turn_id}/cancel")
        assert (await turn_once(mia, turn_id, "cancelled"))["cancel_reason"] == "stopped"


async def a_temporary_chat_is_closed(world: World) -> None:
    """The model never ends its sentence; the person closes the chat, and nothing of it is left."""
    async with world.browser(world.company["mia"]) as mia:
        thread = await mia.post("/v1/threads", {"project_id": str(world.company.north), "temporary": True})
        turn = await mia.post(f"/v1/threads/{thread['id']}/turns", {"text": "go on for ever", "client_message_id": str(uuid4())})
        await turn_once(mia, turn["id"], "running")
        await mia.post(f"/v1/threads/{thread['id']}/close")
        assert (await mia.http.get(f"/v1/threads/{thread['id']}")).status_code == 404
    assert await world.db.fetchval("SELECT count(*) FROM turns WHERE id = $1", turn["id"]) == 0


async def small_decisions(world: World) -> None:
    """Proposed over HTTP: one rejected, one withdrawn, one whose value somebody else takes first, so that applying it fails;
    and one of which a part is confirmed."""
    taken = f"{uuid4().hex[:8]}@example.com"
    async with world.browser(world.company["mia"]) as mia:

        async def propose(values: dict[str, str]) -> Any:
            operation = {"id": "a", "kind": "update", "collection": "customers", "record": 4, "values": values}
            return await mia.post("/v1/actions", {"project_id": str(world.company.north), "operations": [operation]})

        rejected = await propose({"note": "no"})
        await mia.post(f"/v1/actions/{rejected['id']}/reject", {"reason": "wrong customer"})
        withdrawn = await propose({"note": "never mind"})
        await mia.post(f"/v1/actions/{withdrawn['id']}/withdraw")
        note = uuid4().hex[:8]
        partly = [
            {"id": f"r{record}", "kind": "update", "collection": "customers", "record": record, "values": {"note": note}}
            for record in (8, 9)
        ]
        shown = await mia.post("/v1/actions", {"project_id": str(world.company.north), "operations": partly})
        said = [{"operation": "r8", "confirm": True}, {"operation": "r9", "confirm": False, "reason": "not this one"}]
        await mia.post(f"/v1/actions/{shown['id']}/decide", {"digest": shown["digest"], "decisions": said})
        decided = await action_once(mia, shown["id"], "applied")
        assert [operation["decision"] for operation in decided["card"]] == ["confirmed", "rejected"]
        assert await world.record("SELECT array_agg(id) FROM customers WHERE note = $1", note) == [8]
        failing = await propose({"email": taken})
        await world.record("UPDATE customers SET email = $1 WHERE id = 5 RETURNING id", taken)
        await mia.post(f"/v1/actions/{failing['id']}/confirm", {"digest": failing["digest"]})
        failed = await action_once(mia, failing["id"], "failed")
        assert failed["outcome"]
        assert (await mia.get(f"/v1/actions/{rejected['id']}"))["state"] == "rejected"
        assert (await mia.get(f"/v1/actions/{withdrawn['id']}"))["state"] == "withdrawn"


async def an_agent_proposes(world: World) -> None:
    """Over HTTP with its token: one proposal is rejected, and one that nobody decides on expires. It learns both."""
    operation = {"id": "a", "kind": "update", "collection": "customers", "record": 7, "values": {"note": "from an agent"}}
    body = {"project_id": str(world.company.north), "operations": [operation]}
    async with world.robot() as robot, world.browser(world.company["mia"]) as mia:
        rejected = await robot.post("/v1/actions", body)
        expired = await robot.post("/v1/actions", {**body, "expires_in": 1})
        await mia.post(f"/v1/actions/{rejected['id']}/reject", {"reason": "not now"})
        assert (await robot.get(f"/v1/actions/{rejected['id']}"))["state"] == "rejected"

        async def swept() -> bool:
            return bool(await world.db.fetchval("SELECT state = 'expired' FROM actions WHERE id = $1", expired["id"]))

        await until(swept, within=UNATTENDED)
        assert (await robot.get(f"/v1/actions/{expired['id']}"))["state"] == "expired"


async def a_turn_is_answered(world: World) -> None:
    """A message, a question back to its user, an answer, a proposal."""
    async with world.browser(world.company["mia"]) as mia:
        mia.patience = 60
        turn_id = await start_turn(world, mia, f"note 6 n{uuid4().hex[:8]}")
        [question_id] = (await turn_once(mia, turn_id, "waiting", within=60))["questions"]
        await mia.post(f"/v1/questions/{question_id}/answer", {"answer": "yes"})
        assert len((await turn_once(mia, turn_id, "completed", within=60))["actions"]) == 1


async def a_question_is_answered(world: World) -> None:
    """An agent asks and waits; a person answers; the agent learns it."""
    async with world.robot() as robot, world.browser(world.company["max"]) as max_:
        robot.patience = max_.patience = 60
        asked = await robot.post("/v1/questions", {"project_id": str(world.company.north), "text": "Ship it?"})
        await max_.post(f"/v1/questions/{asked['id']}/answer", {"answer": "yes"})
        await once(lambda: robot.get(f"/v1/questions/{asked['id']}?wait=2"), "answered", on_the_way={"open"}, within=60)


async def a_turn_is_repeated(world: World) -> None:
    """The model announces and does nothing, is asked once more and answers; the person has it answer anew. And it states a number from
    nowhere, is asked once more, and insists."""
    async with world.browser(world.company["mia"]) as mia:
        turn_id = await start_turn(world, mia, "announce")
        turn = await turn_once(mia, turn_id, "completed")
        assert (turn["answer"], turn["model_calls"]) == ("There is nothing, I looked.", 2)
        again = await mia.post(f"/v1/turns/{turn_id}/retry")
        assert (await turn_once(mia, str(again["id"]), "completed"))["answer"] == turn["answer"]
        assert (await mia.get(f"/v1/turns/{turn_id}"))["replaced_by"] == again["id"]
        nudged = await world.db.fetchval("SELECT count(*) FROM messages WHERE thread_id = $1 AND nudged", turn["thread_id"])
        assert nudged == 2
        await choices.set_number_check(world.db, world.company.workspace_id, NumberCheck.ASK_AGAIN)
        guess = await turn_once(mia, await start_turn(world, mia, "guess"), "completed")
        assert (guess["answer"], guess["model_calls"], len(guess["ungrounded"])) == ("Then 1,234.09.", 2, 1)
        assert await world.db.fetchval("SELECT count(*) FROM messages WHERE turn_id = $1::uuid AND nudged", guess["id"]) == 1


async def a_picture_is_made(world: World) -> None:
    """However often its tool is begun, one is kept and shown."""
    async with world.browser(world.company["mia"]) as mia:
        turn = await turn_once(mia, await start_turn(world, mia, "paint a dot"), "completed")
        messages = (await mia.get(f"/v1/threads/{turn['thread_id']}"))["messages"]
        [shown] = [file for message in messages for file in message["attachments"]]
        assert await world.db.fetchval("SELECT count(*) FROM pictures WHERE id = $1::uuid", shown["id"]) == 1


async def a_turn_fails(world: World) -> None:
    """The model makes one failing call again and again, until that ends the turn."""
    async with world.browser(world.company["mia"]) as mia:
        turn = await turn_once(mia, await start_turn(world, mia, "stubborn"), "failed")
        assert (turn["error"]["code"], turn["model_calls"]) == ("repeated_failure", 3)


async def a_standing_approval_confirms(world: World) -> None:
    """For an agent's token, two uses: two changes are confirmed by it and applied, once each; a third waits and is rejected, and after a
    revocation so is a fourth."""
    one, two = next(RECORDS), next(RECORDS)
    allow = {"collection": "customers", "kinds": ["update"], "fields": [{"field": "note"}]}
    body = {"project_id": str(world.company.north), "token_id": str(world.agent.id), "allow": allow, "expires_in": 600}
    async with world.robot() as robot, world.browser(world.company["admin"]) as admin:

        async def propose(record: int, note: str) -> Any:
            operation = {"id": "a", "kind": "update", "collection": "customers", "record": record, "values": {"note": note}}
            return await robot.post("/v1/actions", {"project_id": str(world.company.north), "operations": [operation]})

        approval = await admin.post("/v1/standing-approvals", {**body, "most_uses": 2})
        note = f"s{uuid4().hex[:8]}"
        covered = [await propose(record, note) for record in (one, two)]
        for action in covered:
            done = await action_once(admin, action["id"], "applied")
            assert done["approval_id"] == approval["id"]
        assert await world.record("SELECT count(*) FROM customers WHERE note = $1", note) == 2
        assert (await admin.get(f"/v1/standing-approvals/{approval['id']}"))["state"] == "used_up"
        third = await propose(one, f"{note}x")
        another = await admin.post("/v1/standing-approvals", {**body, "most_uses": 9})
        await admin.post(f"/v1/standing-approvals/{another['id']}/revoke")
        fourth = await propose(two, f"{note}x")
        for action in (third, fourth):
            assert (await admin.post(f"/v1/actions/{action['id']}/reject"))["approval_id"] is None
