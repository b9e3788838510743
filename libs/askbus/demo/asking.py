"""An agent asks and goes away; people answer, ask back, decline, or let it pass; the agent hears what became of each question."""

import asyncio
import time
from contextlib import aclosing

from askbus.client import BusClient, Question, QuestionDetail, QuestionState
from askbus.demo.arrival import Cast
from askbus.demo.browser import WITHIN, Following
from askbus.demo.ground import Ground
from askbus.demo.transcript import brief, milliseconds
from askbus.testing.streams import Event

PRICES = ("27.40 from Tauwerk Lindau", "26.90 from Nordhav Beslag")

Seen = tuple[str, str, str]
"""Entity, id and status of a change."""


async def question_is_answered_while_the_agent_is_away(ground: Ground, cast: Cast, inbox: Following) -> None:
    """Asked on the bus, seen on a stream, answered over HTTP, heard at the next connect and until acknowledged."""
    t = ground.transcript
    async with BusClient(ground.stack.nats_url, cast.token) as agent:
        began = time.monotonic()
        asked = await agent.ask(
            cast.project, "Two suppliers sent a price for HAL-022. Which one counts?", options=PRICES, free_text=False
        )
        t.said("agent", f"asks on the bus, {brief(asked.id)}: {asked.text}  [{' | '.join(asked.options)}]")
    news = await inbox.until(lambda event: seen(event, asked, QuestionState.OPEN))
    t.holds(news[-1].name == "changes", f"Mia's stream shows it {milliseconds(began)} after the agent began to ask")
    t.said("agent", "disconnects")
    shown = await cast.mia.get(f"/v1/questions/{asked.id}", QuestionDetail)
    began = time.monotonic()
    answered = await cast.mia.post(f"/v1/questions/{asked.id}/answer", QuestionDetail, answer=shown.options[1])
    t.said("Mia", f"answers: {answered.answer}")
    news = await inbox.until(lambda event: seen(event, asked, QuestionState.ANSWERED))
    t.holds(news[-1].name == "changes", f"it is answered on her stream too, {milliseconds(began)} after the click")
    late = await cast.owner.status("POST", f"/v1/questions/{asked.id}/answer", answer=PRICES[0])
    t.holds(late == 409, f"a second answer by the owner is too late ({late})")

    began = time.monotonic()
    heard = await next_outcome(ground, cast)
    t.said("agent", f"connects again, and hears {milliseconds(began)} later: {heard.state.value}, {heard.answer}")
    t.holds((heard.id, heard.answer) == (asked.id, PRICES[1]), f"it is Mia's answer, and {heard.settled_by_name} is named")
    t.said("agent", "is gone again before it has acknowledged that")
    again = await next_outcome(ground, cast, acknowledge=True)
    t.holds(again == heard, "at the next connect it is told the same once more, and acknowledges it")


async def next_outcome(ground: Ground, cast: Cast, *, acknowledge: bool = False) -> QuestionDetail:
    """What an agent that connects now is told first."""
    async with BusClient(ground.stack.nats_url, cast.token) as agent, aclosing(agent.outcomes()) as outcomes:
        async with asyncio.timeout(WITHIN):
            heard = await anext(outcomes)
        if acknowledge:
            await agent.heard(heard)
        return heard


async def other_outcomes(ground: Ground, cast: Cast) -> list[Question]:
    """One question is asked back and then declined, one expires. Returns them."""
    t = ground.transcript
    async with BusClient(ground.stack.nats_url, cast.token) as agent, aclosing(agent.outcomes()) as outcomes:
        wish = await agent.ask(cast.project, "May I archive the 14 duplicates?")
        t.said("agent", f"asks {brief(wish.id)}: {wish.text}")
        await cast.owner.post(f"/v1/questions/{wish.id}/ask-back", QuestionDetail, text="Duplicates of what?")
        t.said("Owner", "asks back: Duplicates of what?")
        async with asyncio.timeout(WITHIN):
            heard = await anext(outcomes)
        t.holds(heard.id == wish.id, "the agent hears nothing of the first question any more: it was acknowledged")
        told = [note.text for note in heard.notes]
        t.holds(
            (heard.state, told) == (QuestionState.OPEN, ["Duplicates of what?"]),
            "it hears what was asked back; the question stays open",
        )
        await cast.owner.post(f"/v1/questions/{wish.id}/decline", QuestionDetail, reason="I will look on Monday.")
        t.said("Owner", "declines: I will look on Monday.")
        async with asyncio.timeout(WITHIN):
            heard = await anext(outcomes)
        t.holds(
            (heard.id, heard.state, heard.reason) == (wish.id, QuestionState.DECLINED, "I will look on Monday."),
            "the agent hears the refusal and its reason",
        )
        passing = await agent.ask(cast.project, "Anyone there? I go on in a second.", expires_in=1)
        t.said("agent", f"asks {brief(passing.id)}: {passing.text}")
        async with asyncio.timeout(WITHIN):
            heard = await anext(outcomes)
        t.holds(
            (heard.id, heard.state) == (passing.id, QuestionState.EXPIRED),
            "nobody answers, and it hears that the question expired",
        )
    return [wish, passing]


async def streams_are_resumed(ground: Ground, cast: Cast) -> None:
    """Mia's stream drops while all of this goes on; it comes back with its last id and misses nothing that the owner's showed."""
    t = ground.transcript
    async with cast.owner.follow("/v1/events?entities=question") as witness:
        await witness.next()
        async with cast.mia.follow("/v1/events?entities=question") as inbox:
            await inbox.next()
            await question_is_answered_while_the_agent_is_away(ground, cast, inbox)
        t.said("Mia", "loses her connection")
        questions = await other_outcomes(ground, cast)
        last = questions[-1]
        there = await witness.until(lambda event: seen(event, last, QuestionState.EXPIRED))
        t.said("Mia", f"comes back with Last-Event-ID {inbox.last_id}")
        async with cast.mia.follow("/v1/events?entities=question", after=inbox.last_id) as resumed:
            missed = await resumed.until(lambda event: seen(event, last, QuestionState.EXPIRED))
    t.holds(all(event.name == "changes" for event in missed), "her stream goes on where it ended, without a reset")
    ids = {str(question.id) for question in questions}
    mine, theirs = changes_of(missed), [change for change in changes_of(there) if change[1] in ids]
    t.holds(
        mine == theirs,
        f"she gets the {len(mine)} changes that she missed, each once and in the order in which the owner's stream showed them",
    )


def seen(event: Event, question: Question, state: QuestionState) -> bool:
    """Whether the event shows the question in this state."""
    return ("question", str(question.id), state.value) in changes_of([event])


def changes_of(stream: list[Event]) -> list[Seen]:
    """The changes on a stream, one after the other."""
    return [
        (change["entity"], change["id"], change["status"]) for event in stream if event.name == "changes" for change in event.data
    ]
