"""What happens to turns: one function, one statement each. Only the agent-loop may import this.

`start` needs a transaction with the thread locked first, which its caller opens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg
from pydantic import JsonValue

from askbus.access.model import Principal, Scope
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, NotFound
from askbus.grounding.model import Ungrounded
from askbus.turns.model import CancelTurn, Claim, NewCall, RetryTurn, StartTurn, Turn
from askbus.usage.model import Spent

LOCK_THREAD = Statement("askbus.turns", "sql/lock_thread.sql")
START = Statement("askbus.turns", "sql/start.sql")
LOCK_THREAD_OF = Statement("askbus.turns", "sql/lock_thread_of.sql")
RETRY = Statement("askbus.turns", "sql/retry.sql")
CANCEL = Statement("askbus.turns", "sql/cancel.sql")
CLAIM = Statement("askbus.turns", "sql/claim.sql")
RENEW = Statement("askbus.turns", "sql/renew.sql")
RELEASE = Statement("askbus.turns", "sql/release.sql")
FINISH_MODEL_STEP = Statement("askbus.turns", "sql/finish_model_step.sql")
RECORD_CUT = Statement("askbus.turns", "sql/record_cut.sql")
WAIT = Statement("askbus.turns", "sql/wait.sql")
FAIL = Statement("askbus.turns", "sql/fail.sql")
NEXT_IN_THREAD = Statement("askbus.turns", "sql/next_in_thread.sql")
RESTING = Statement("askbus.turns", "sql/resting.sql")


@dataclass(frozen=True)
class Started:
    """The turn of a message, and the turns that the message ended: whoever works on those is to be told. `unmeasured` messages of the
    thread were appended since what is kept of it was last measured."""

    turn: Turn
    ended: tuple[UUID, ...]
    unmeasured: int


@dataclass(frozen=True)
class Claimed:
    """A claimed step, or why there is none: `holder` has it for `lease_left` seconds more, or zero where there is nothing to do."""

    claim: Claim | None
    holder: UUID | None
    lease_left: float
    active_ms: int


@dataclass(frozen=True)
class ModelStep:
    """What a model call came to, to be recorded. `nudged`: the model is asked once more, because it said nothing or because
    of its numbers; `error` ends the turn; `claims`: it says that a change is done; `ungrounded`: its numbers without a source."""

    text: str
    calls: Sequence[NewCall]
    provider_data: JsonValue
    cut: str | None
    spent: Spent
    nudged: bool = False
    error: str | None = None
    claims: bool = False
    ungrounded: Sequence[Ungrounded] = ()


BUSY = "A turn of this conversation is at work. Wait for it, or send the message with overlap enqueue or interrupt."
NO_RETRY = {
    "at_work": "This turn is at work still. Wait for it, or stop it first.",
    "not_last": "Only the last answer of a conversation can be made anew. Send the message again instead.",
    "busy": BUSY,
}
"""Why a turn is not repeated, by the statement's verdict."""


def _projects(by: Principal) -> list[UUID] | None:
    return None if by.projects is None else list(by.projects)


async def start(db: Executor, command: StartTurn, *, title: str, trace: str | None) -> Started:
    """Appends the message and queues its turn, or finds the turn of the same client message id.

    Runs in the caller's transaction, which holds the thread's lock until its end. Raises NotFound for a thread that is not theirs, Conflict
    where the thread is busy and the message asked to be rejected then.
    """
    by = command.by
    by.require(Scope.CHAT)
    thread = await LOCK_THREAD.row(
        db, id=command.thread_id, user_id=by.user_id, workspace_id=by.workspace_id, projects=_projects(by)
    )
    if thread is None:
        raise NotFound("There is no such conversation.")
    row = await START.row(
        db,
        id=command.turn_id,
        thread_id=command.thread_id,
        client_message_id=command.client_message_id,
        message_id=new_id(),
        text=command.text,
        title=title,
        overlap=command.overlap.value,
        attachments=list(command.attachments),
        context=[item.model_dump(mode="json") for item in command.context],
        instructions=command.instructions,
        principal=by.model_dump(mode="json"),
        trace=trace,
    )
    if row is None:
        raise Conflict(BUSY)
    return Started(Turn.model_validate(row), tuple(row["ended"]), row["unmeasured"])


async def retry(db: Executor, command: RetryTurn, *, trace: str | None) -> Started:
    """Queues a turn that answers an earlier turn's message anew, or finds the one that does already: two at once make one.

    Runs in the caller's transaction, which holds the thread's lock until its end. Raises NotFound for a turn that is not theirs, Conflict
    where it is still at work or its answer is not the last one, or where the thread is busy and this was to be rejected then.
    """
    by = command.by
    by.require(Scope.CHAT)
    thread = await LOCK_THREAD_OF.row(
        db, turn_id=command.again, user_id=by.user_id, workspace_id=by.workspace_id, projects=_projects(by)
    )
    if thread is None:
        raise NotFound("There is no such turn.")
    row = await RETRY.one(
        db,
        id=command.turn_id,
        again=command.again,
        thread_id=thread["id"],
        client_message_id=command.client_message_id,
        overlap=command.overlap.value,
        principal=by.model_dump(mode="json"),
        trace=trace,
    )
    if (refusal := NO_RETRY.get(row["verdict"])) is not None:
        raise Conflict(refusal, {"state": row["state"]})
    return Started(Turn.model_validate(row), tuple(row["ended"]), 0)


async def cancel(db: Executor, command: CancelTurn, *, trace: str | None) -> Turn:
    """Stops a turn. Raises NotFound, Conflict where it is over already."""
    by = command.by
    by.require(Scope.CHAT)
    row = await CANCEL.row(
        db,
        id=command.turn_id,
        user_id=by.user_id,
        workspace_id=by.workspace_id,
        projects=_projects(by),
        command_id=command.command_id,
        trace=trace,
    )
    if row is None:
        raise NotFound("There is no such turn.")
    turn = Turn.model_validate(row)
    if not (row["moved"] or row["repeated"]):
        raise Conflict(f"This turn is {turn.state.value} already.", {"state": turn.state.value})
    return turn


async def claim(db: Executor, turn_id: UUID, *, from_step: int, step: int, holder: UUID, lease: float) -> Claimed:
    """Takes the step for `lease` seconds, if it is still the next one and nobody holds it."""
    try:
        row = await CLAIM.row(db, id=turn_id, from_step=from_step, step=step, holder=holder, lease=lease)
    except asyncpg.UniqueViolationError:
        return Claimed(None, None, 0, 0)  # another turn of the thread is at work; its end wakes this one
    if row is None:
        return Claimed(None, None, 0, 0)
    claim = Claim(turn_id, row["step"], row["attempt"]) if row["moved"] else None
    return Claimed(claim, row["holder"], row["lease_left"], row["active_ms"])


def _of(claim: Claim) -> dict[str, object]:
    return {"id": claim.turn_id, "step": claim.step, "attempt": claim.attempt}


async def renew(db: Executor, claim: Claim, *, holder: UUID, lease: float) -> bool:
    """Whether the step is still this worker's; if so it is for `lease` seconds more."""
    return await RENEW.row(db, **_of(claim), holder=holder, lease=lease) is not None


async def release(db: Executor, claim: Claim, *, holder: UUID) -> None:
    """Hands the step back without having done it."""
    await RELEASE.row(db, **_of(claim), holder=holder)


async def finish_model_step(db: Executor, claim: Claim, done: ModelStep, *, trace: str | None) -> Row | None:
    """Records a finished model call. None where the step is no longer this worker's: nothing was recorded."""
    return await FINISH_MODEL_STEP.row(
        db,
        **_of(claim),
        message_id=new_id(),
        text=done.text,
        calls=[vars(call) for call in done.calls],
        provider_data=done.provider_data,
        cut=done.cut,
        nudged=done.nudged,
        claims=done.claims,
        ungrounded=[number.model_dump() for number in done.ungrounded] or None,
        error=done.error,
        **done.spent.parameters(),
        trace=trace,
    )


async def record_cut(db: Executor, claim: Claim, *, text: str, model: str, cut: str) -> None:
    """Keeps what an ended model call had said, if anything and if it is not kept yet."""
    if text:
        await RECORD_CUT.run(db, **_of(claim), message_id=new_id(), text=text, model=model, cut=cut)


async def wait(db: Executor, claim: Claim) -> bool:
    """Parks the turn until a person answers; false where it moved on meanwhile."""
    return await WAIT.row(db, **_of(claim)) is not None


async def fail(db: Executor, turn_id: UUID, code: str, *, claim: Claim | None = None, trace: str | None = None) -> bool:
    """Ends the turn as failed; with a claim, only while it stands there. False where it was over or elsewhere."""
    row = await FAIL.row(
        db,
        id=turn_id,
        code=code,
        step=claim.step if claim else None,
        attempt=claim.attempt if claim else None,
        trace=trace,
    )
    return row is not None


async def next_in_thread(db: Executor, turn_id: UUID) -> UUID | None:
    """The queued turn that follows this one in its thread."""
    row = await NEXT_IN_THREAD.row(db, id=turn_id)
    return None if row is None else row["id"]


async def resting(db: Executor, *, stuck: float, turn_ms: int, batch: int = 100) -> Sequence[Row]:
    """Turns that wait for a machine and did not move for `stuck` seconds, or whose tools are at work past `turn_ms` of active time."""
    return await RESTING.rows(db, stuck=stuck, turn_ms=turn_ms, batch=batch)
