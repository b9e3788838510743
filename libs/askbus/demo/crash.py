"""The process that streams an answer is killed in the middle of a sentence, and the turn completes all the same."""

import time
from uuid import UUID

from askbus.bus.envelope import Service
from askbus.demo.browser import Browser
from askbus.demo.conversation import text_of
from askbus.demo.ground import Ground
from askbus.demo.transcript import brief
from askbus.threads.model import Thread, ThreadDetail
from askbus.turns.model import Turn, TurnDetail, TurnState

ASKS = "Tell me about the harbour."
WORDS = 20
"""After so many the script holds its breath, for the kill."""


async def the_agent_loop_is_killed(ground: Ground, person: Browser, project: UUID) -> None:
    """kill -9 while the model speaks; nobody does anything; the answer is whole, and stands there once."""
    t = ground.transcript
    agent_loop = ground.stack.services[Service.AGENT_LOOP.value]
    thread = await person.post("/v1/threads", Thread, project_id=str(project))
    t.said(person.name, ASKS, quoted=True)
    turn = await person.post(f"/v1/threads/{thread.id}/turns", Turn, text=ASKS)
    async with person.follow(f"/v1/turns/{turn.id}/events") as stream:
        pieces = [await stream.next()]
        while len((so_far := text_of(pieces, 1)).split()) < WORDS:
            pieces.append(await stream.next())
    t.said("assistant", f"{so_far.strip()} …", quoted=True)
    before = agent_loop.pid
    await agent_loop.kill()
    killed = time.monotonic()
    t.said("operator", f"kill -9 {before}: the agent-loop is gone in mid-sentence, and {person.name}'s stream was dropped too")
    async with person.follow(f"/v1/turns/{turn.id}/events", after=stream.last_id) as stream:
        t.said(person.name, f"comes back to the turn's stream with Last-Event-ID {stream.last_id or pieces[-1].id}")
        rest = await stream.until(lambda event: event.name == "done")
    done = TurnDetail.model_validate(rest[-1].data)
    t.said("assistant", done.answer or "", quoted=True)
    t.holds(
        done.state is TurnState.COMPLETED,
        f"turn {brief(turn.id)} completed unattended, {time.monotonic() - killed:.1f} s after the kill",
    )
    t.holds(agent_loop.pid != before, f"by process {agent_loop.pid}, which was started in its place")
    again = text_of(rest, 1, done.attempt)
    t.holds(again == done.answer and text_of(rest, 1) == again, "the resumed stream brought the second attempt alone, whole")
    said = (await person.get(f"/v1/threads/{thread.id}", ThreadDetail)).messages
    t.holds([message.role for message in said] == ["user", "assistant"], "the thread holds one message and one answer")
