"""A person's turns: a figure that is exact, and a change that is proposed, confirmed, applied and undone."""

import re
import time
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

import asyncpg
from pydantic import JsonValue

from askbus.actions.model import ActionDetail, ActionState, UndoState
from askbus.db.pool import SETTINGS, prepare
from askbus.db.statements import Statement
from askbus.demo.browser import Browser, Following
from askbus.demo.business import Customer
from askbus.demo.ground import Ground
from askbus.demo.transcript import brief, milliseconds
from askbus.questions.model import QuestionDetail
from askbus.testing.streams import Event
from askbus.threads.model import Thread
from askbus.tools.model import RunState, ToolResult
from askbus.turns.model import Turn, TurnDetail, TurnState

CALLS = Statement("askbus.demo", "sql/calls.sql")
FIGURE = re.compile(r"\d[\d,]*\.\d+")


@dataclass(frozen=True)
class Call:
    """A tool call that was run, and what the model was given for it."""

    name: str
    state: RunState
    attempt: int
    result: ToolResult | None


async def a_figure(ground: Ground, person: Browser, project: UUID) -> None:
    """One question, one tool call, one exact decimal, held against SQL of the demo's own."""
    t = ground.transcript
    thread = await person.post("/v1/threads", Thread, project_id=str(project))
    t.said(person.name, ground.business.asks, quoted=True)
    began = time.monotonic()
    async with person.follow(f"/v1/threads/{thread.id}/turns", send={"text": ground.business.asks}) as stream:
        first = await stream.until(lambda event: event.name == "delta")
        t.more(f"first word after {milliseconds(began)}")
        pieces = first + await stream.until(lambda event: event.name == "done")
    turn = TurnDetail.model_validate(pieces[-1].data)
    t.said("assistant", turn.answer or "", quoted=True)
    t.holds(
        turn.state is TurnState.COMPLETED,
        f"turn {brief(turn.id)} is completed, {turn.model_calls} model calls, {milliseconds(began)}",
    )
    t.holds(text_of(pieces, turn.step - 1, turn.attempt) == turn.answer, "what was streamed is what is stored, to the letter")
    calls = await calls_of(ground, turn.id)
    names = [(call.name, call.state) for call in calls]
    t.holds(names == [("query_records", RunState.SUCCEEDED)], "it took exactly one tool call, query_records")
    truth = await ground.truth.figure()
    t.holds(cells(calls[0].result) == [[str(truth)]], f"the tool gave one exact decimal, {truth}, which SQL of our own confirms")
    quoted = [Decimal(figure.replace(",", "")) for figure in FIGURE.findall(turn.answer or "")]
    t.holds(quoted == [truth], "and the answer quotes just that figure")


async def a_change(ground: Ground, person: Browser, project: UUID) -> list[str]:
    """Proposed by the assistant, confirmed by the person, applied, undone. Returns the traces' ids: message, answer, confirmation."""
    t = ground.transcript
    before = await ground.truth.customer()
    thread = await person.post("/v1/threads", Thread, project_id=str(project))
    async with person.follow("/v1/events?entities=action") as inbox:
        await inbox.next()
        t.said(person.name, ground.business.wish, quoted=True)
        turn = await person.post(f"/v1/threads/{thread.id}/turns", Turn, text=ground.business.wish)
        traces = [person.trace_id]
        async with person.follow(f"/v1/turns/{turn.id}/events") as stream:
            if ground.business.choice is not None:
                await _the_turn_asks(ground, person, stream, ground.business.choice)
                traces.append(person.trace_id)
            done = TurnDetail.model_validate((await stream.until(lambda event: event.name == "done"))[-1].data)
        t.said("assistant", done.answer or "", quoted=True)
        t.holds(
            (done.state, len(done.actions)) == (TurnState.COMPLETED, 1),
            f"turn {brief(turn.id)} is completed and has proposed one change",
        )
        [action_id] = done.actions
        shown = await inbox.until(lambda event: _shows(event, action_id, ActionState.PENDING))
        t.holds(shown[-1].name == "changes", f"action {brief(action_id)} is pending on {person.name}'s stream")
    action = await person.get(f"/v1/actions/{action_id}", ActionDetail)
    t.said("askbus", f"shows a card made from the stored change: {action.headline}")
    field = action.card[0].changes[0]
    t.changed(field.before or "", field.after or "")
    t.holds(await ground.truth.customer() == before, "the record is untouched while it is pending")
    await _confirm(ground, person, action)
    traces.append(person.trace_id)
    await _undo(ground, person, action, before)
    return traces


async def _the_turn_asks(ground: Ground, person: Browser, stream: Following, choice: str) -> None:
    """Several records may be meant: the assistant asks, the turn waits as a row, the answer wakes it."""
    t = ground.transcript
    waiting = (await stream.until(lambda event: event.name == "turn" and event.data["state"] == TurnState.WAITING))[-1].data
    [question_id] = waiting["questions"]
    question = await person.get(f"/v1/questions/{question_id}", QuestionDetail)
    t.said("assistant", f"{question.text}  [{' | '.join(question.options)}]", quoted=True)
    t.holds(
        choice in question.options and len(question.options) == 2,
        "two could be meant: it asks instead of guessing, and the turn waits",
    )
    await person.post(f"/v1/questions/{question_id}/answer", QuestionDetail, answer=choice)
    t.said(person.name, choice, quoted=True)


async def _confirm(ground: Ground, person: Browser, action: ActionDetail) -> None:
    t = ground.transcript
    before = await ground.truth.customer()
    began = time.monotonic()
    await person.post(f"/v1/actions/{action.id}/confirm", ActionDetail, digest=action.digest)
    t.said(person.name, "confirms")
    applied = await person.get(f"/v1/actions/{action.id}?wait=60", ActionDetail)
    t.holds(applied.state is ActionState.APPLIED, f"applied {milliseconds(began)} after the click")
    after = await ground.truth.customer()
    t.more("the record's e-mail, by SQL of our own:")
    t.changed(before.email, after.email)
    t.holds((before.email == after.email, after.email) == (False, ground.business.email), "the record has the new address")


async def _undo(ground: Ground, person: Browser, action: ActionDetail, original: Customer) -> None:
    t = ground.transcript
    changed = await ground.truth.customer()
    began = time.monotonic()
    await person.post(f"/v1/actions/{action.id}/undo", ActionDetail)
    t.said(person.name, "thinks better of it: undo")
    undone = await person.get(f"/v1/actions/{action.id}?wait=60", ActionDetail)
    states = [undo.state for undo in undone.undos]
    t.holds((undone.state, states) == (ActionState.UNDONE, [UndoState.DONE]), f"undone {milliseconds(began)} after the click")
    restored = await ground.truth.customer()
    t.changed(changed.email, restored.email)
    t.holds(restored == original, "the whole row is, byte for byte, what it was before")
    t.holds(
        await ground.truth.ledger(action.id) == "applied, undone", "the ledger beside the records holds one apply and one undo"
    )


async def calls_of(ground: Ground, turn_id: UUID) -> list[Call]:
    """The turn's tool calls, oldest first."""
    db = await asyncpg.connect(ground.stack.database_url, server_settings=SETTINGS)
    try:
        await prepare(db)
        rows = await CALLS.rows(db, turn_id=turn_id)
    finally:
        await db.close()
    return [
        Call(row["name"], RunState(row["state"]), row["attempt"], row["result"] and ToolResult.model_validate(row["result"]))
        for row in rows
    ]


def cells(result: ToolResult | None) -> JsonValue:
    """The rows of a query's result."""
    return result.content.get("rows") if result is not None and isinstance(result.content, dict) else None


def text_of(pieces: list[Event], step: int, attempt: int | None = None) -> str:
    """The text that was streamed of one step."""
    said = [piece.data for piece in pieces if piece.name in {"delta", "reset"} and "text" in piece.data]
    return "".join(one["text"] for one in said if one["step"] == step and attempt in {None, one["attempt"]})


def _shows(event: Event, action_id: UUID, state: ActionState) -> bool:
    wanted = ("action", str(action_id), state.value)
    return event.name == "changes" and any((one["entity"], one["id"], one["status"]) == wanted for one in event.data)
