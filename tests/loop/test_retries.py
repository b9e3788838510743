"""Answering a message once more: what failed or was stopped, and the last answer."""

import asyncio
from typing import Any

import pytest
from tests.loop.talk import Talk, spoken

from askbus.db.pool import Pool
from askbus.testing.composed import Composed
from askbus.testing.people import Company
from askbus.testing.streams import events

pytestmark = pytest.mark.requirement("C10")


def shown(messages: list[Any]) -> list[tuple[str, str, bool]]:
    return [(message["role"], message["text"], message["replaced"]) for message in messages]


async def test_a_failed_turn_is_answered_by_a_new_one_and_kept(talk: Talk) -> None:
    """The model is asked as if for the first time; people see both answers to the one message, the old one as replaced."""
    failed = await talk.ask("moody")
    assert (failed["state"], failed["cut"], failed["replaced_by"], failed["retry"]) == ("failed", "failed", None, True)
    made = await talk.retry(failed["id"])
    assert made.status_code == 201, made.text
    done = await talk.over(made.json()["id"])
    assert (done["state"], done["answer"], done["retry_of"]) == ("completed", "Some of it.", failed["id"])
    assert [spoken(body) for body in await talk.requests("moody")] == [[("user", "moody")]] * 2
    replaced = await talk.turn(failed["id"])
    assert (replaced["replaced_by"], replaced["retry"]) == (done["id"], False)
    assert shown(await talk.messages()) == [
        ("user", "moody", False),
        ("assistant", failed["answer"], True),
        ("assistant", "Some of it.", False),
    ]


async def test_the_last_answer_is_made_anew_and_an_earlier_one_is_not(talk: Talk) -> None:
    """Again and again: each time over the same message. What was replaced is in no later prompt."""
    first = await talk.ask("plain words")
    second = await talk.over((await talk.retry(first["id"])).json()["id"])
    third = await talk.over((await talk.retry(second["id"])).json()["id"])
    assert third["retry_of"] == first["id"]
    assert [replaced for _role, _text, replaced in shown(await talk.messages())] == [False, True, True, False]
    assert third["retry"]
    more = await talk.ask("one more, after three")
    assert not (await talk.turn(third["id"]))["retry"]
    [body] = await talk.requests("one more, after three")
    assert spoken(body) == [("user", "plain words"), ("assistant", "Hello to you."), ("user", "one more, after three")]
    refused = await talk.retry(third["id"])
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert (await talk.over((await talk.retry(more["id"])).json()["id"]))["answer"] == "There is no more."


async def test_a_failed_turn_is_repeated_in_its_place_also_after_others(talk: Talk) -> None:
    """The model sees what stood before the message, and no more; a later turn sees the answer where the message is."""
    await talk.ask("plain beginning")
    failed = await talk.ask("sulky")
    await talk.ask("one more, in between")
    await talk.over((await talk.retry(failed["id"])).json()["id"])
    before = [("user", "plain beginning"), ("assistant", "Hello to you."), ("user", "sulky")]
    assert [spoken(body) for body in await talk.requests("sulky")] == [before] * 2
    await talk.ask("plain end")
    [body] = await talk.requests("plain end")
    said = [
        "plain beginning",
        "Hello to you.",
        "sulky",
        "Some more of it.",
        "one more, in between",
        "There is no more.",
        "plain end",
    ]
    assert [text for _role, text in spoken(body)] == said
    assert [text for _role, text, replaced in shown(await talk.messages()) if not replaced] == [*said, "Hello to you."]


async def test_many_retries_at_once_make_one(talk: Talk, pool: Pool) -> None:
    """Each is told of the one turn that there is, also once that is over, and by whatever id it is sent."""
    first = await talk.ask("plain, many times")
    made = await asyncio.gather(*(talk.retry(first["id"], client_message_id=f"again {n % 4}") for n in range(8)))
    assert [each.status_code for each in made] == [201] * 8
    [turn_id] = {each.json()["id"] for each in made}
    await talk.over(turn_id)
    assert (await talk.retry(first["id"], client_message_id="again 1")).json()["id"] == turn_id
    assert (await talk.retry(first["id"])).json()["id"] == turn_id
    assert await pool.fetchval("SELECT count(*) FROM turns WHERE retry_of = $1", first["id"]) == 1


async def test_a_turn_at_work_is_stopped_before_it_is_repeated(talk: Talk) -> None:
    """While it is at work there is nothing to repeat; a stopped one is repeated, and the stream may come with the request."""
    turn_id = await talk.say("endless")
    assert (await talk.retry(turn_id)).status_code == 409
    await talk.stop(turn_id)
    path = f"/v1/turns/{turn_id}/retry"
    async with talk.client.stream("POST", path, json={}, headers={"accept": "text/event-stream"}) as response:
        first = await anext(events(response))
    assert first.name == "turn"
    assert (await talk.turn(first.data["id"]))["retry_of"] == turn_id
    assert (await talk.stop(first.data["id"])).status_code == 200


async def test_a_retry_beside_a_turn_at_work_waits_is_rejected_or_interrupts(talk: Talk) -> None:
    """As a message does."""
    turn_id = await talk.say("endless, first")
    await talk.stop(turn_id)
    at_work = await talk.say("endless, second")
    assert (await talk.retry(turn_id, overlap="reject")).status_code == 409
    waiting = (await talk.retry(turn_id)).json()
    assert waiting["state"] == "queued"
    assert (await talk.stop(waiting["id"])).status_code == 200
    again = (await talk.retry(waiting["id"], overlap="interrupt")).json()
    ended = await talk.turn(at_work)
    assert (ended["state"], ended["cancel_reason"], ended["superseded_by"]) == ("cancelled", "interrupted", again["id"])
    await talk.stop(again["id"])


async def test_nobody_else_repeats_a_turn(talk: Talk, whole: Composed, company: Company, pool: Pool) -> None:
    """It is not there for them; and what is no body of a retry is refused."""
    turn_id = (await talk.ask("plain"))["id"]
    for who in ("max", "admin", "stranger"):
        async with whole.client(company[who]) as other:
            assert (await other.post(f"/v1/turns/{turn_id}/retry", json={})).status_code == 404
    assert (await talk.retry(turn_id, text="another")).status_code == 400
    assert await pool.fetchval("SELECT count(*) FROM turns WHERE retry_of = $1", turn_id) == 0
