"""Numbers of an answer are looked up in what was read and said; what has no source is marked, or sent back once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from tests.loop.talk import Talk, spoken

from askbus.access import choices
from askbus.access.model import NumberCheck
from askbus.db.pool import Pool
from askbus.models.quoting import NOTE
from askbus.testing.people import Company

pytestmark = pytest.mark.requirement("R8")

STRANGERS = ["12.34 %", "8,765.43"]


@asynccontextmanager
async def asking_again(pool: Pool, company: Company) -> AsyncIterator[None]:
    """The workspace wants such answers to go back to the model."""
    await choices.set_number_check(pool, company.workspace_id, NumberCheck.ASK_AGAIN)
    try:
        yield
    finally:
        await choices.set_number_check(pool, company.workspace_id, NumberCheck.MARK)


async def test_a_number_that_nothing_returned_is_marked_where_it_stands(talk: Talk, mia: httpx2.AsyncClient) -> None:
    """In the turn, in the stored message and in every export, by its place; what the database computed is not, and no date."""
    done = await talk.ask("invent a sum")
    assert done["state"] == "completed"
    assert [number["text"] for number in done["ungrounded"]] == STRANGERS
    assert "700.75" in done["answer"]
    said = (await talk.messages())[-1]
    assert said["ungrounded"] == done["ungrounded"]
    assert [said["text"][number["start"] : number["end"]] for number in said["ungrounded"]] == STRANGERS
    assert not said["sent_back"]

    exported = {}
    for form in ("json", "markdown"):
        exported[form] = await mia.get(f"/v1/threads/{talk.thread_id}/export", params={"format": form})
    [exchange] = exported["json"].json()["exchanges"]
    assert exchange["messages"][-1]["ungrounded"] == done["ungrounded"]
    assert "No source was found for: 12.34 %, 8,765.43." in exported["markdown"].text


async def test_what_a_model_said_before_is_no_source(talk: Talk) -> None:
    """An invented number does not become true by being repeated; a result of an earlier answer may be quoted again."""
    await talk.ask("invent a sum")
    done = await talk.ask("say it again")
    assert [number["text"] for number in done["ungrounded"]] == ["8,765.43"]


async def test_a_workspace_may_have_such_an_answer_written_once_more(talk: Talk, pool: Pool, company: Company) -> None:
    """The model is told which numbers, reads, and answers; watchers are told that the first text does not count."""
    async with asking_again(pool, company):
        events = await talk.follow(await talk.say("correct itself"))
    done = events[-1].data
    assert (done["state"], done["model_calls"], done["ungrounded"]) == ("completed", 3, [])
    assert "700.75" in done["answer"]
    [again] = [event.data for event in events if event.name == "again"]
    assert again["step"] == 1
    told = spoken((await talk.requests("correct itself"))[1])[-1]
    assert told[0] == "user"
    assert told[1].startswith(NOTE)
    assert '["4,321.09"]' in told[1]
    answers = [message for message in await talk.messages() if message["role"] == "assistant"]
    assert [message["sent_back"] for message in answers] == [True, False, False]
    assert not any(NOTE in message["text"] for message in answers)


async def test_it_goes_back_once_and_is_marked_then(talk: Talk, pool: Pool, company: Company) -> None:
    """A model that insists is not asked a third time: the person decides what it is worth."""
    async with asking_again(pool, company):
        done = await talk.ask("insist on it")
    assert (done["state"], done["model_calls"], done["answer"]) == ("completed", 2, "It is 1,234.09 EUR.")
    assert [number["text"] for number in done["ungrounded"]] == ["1,234.09"]
