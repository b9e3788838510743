"""Turns of Mia's in each of their states, brought there by the agent-loop's own verbs."""

from uuid import UUID, uuid4

from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.db.statements import Row
from askbus.models.model import Usage
from askbus.testing.people import Company
from askbus.threads.model import CreateThread
from askbus.threads.verbs import create
from askbus.turns import verbs
from askbus.turns.model import CancelTurn, Claim, NewCall, StartTurn, TurnState
from askbus.turns.verbs import Claimed, ModelStep
from askbus.usage.model import Outcome, Spent

HOLDER = UUID(int=7)


async def new_thread(loop: Pool, company: Company) -> UUID:
    """A conversation."""
    by = company["mia"].principal
    command = CreateThread(command_id=uuid4(), by=by, thread_id=new_id(), project_id=company.north)
    return (await create(loop, command, trace=None)).id


async def queued_turn(loop: Pool, company: Company, thread_id: UUID) -> UUID:
    """A turn that its message just made."""
    command = StartTurn(
        command_id=uuid4(),
        by=company["mia"].principal,
        turn_id=new_id(),
        thread_id=thread_id,
        client_message_id=str(uuid4()),
        text="hello",
    )
    async with loop.acquire() as db, db.transaction():
        return (await verbs.start(db, command, title="A thread", trace=None)).turn.id


async def take(loop: Pool, turn_id: UUID, *, step: int = 1, lease: float = 60, holder: UUID = HOLDER) -> Claimed:
    """Claims this step; a negative lease is over at once."""
    return await verbs.claim(loop, turn_id, from_step=step, step=step, holder=holder, lease=lease)


async def taken(loop: Pool, turn_id: UUID, *, lease: float = 60) -> Claim:
    """The claim of the turn's first step."""
    claim = (await take(loop, turn_id, lease=lease)).claim
    assert claim is not None
    return claim


def said(*calls: NewCall) -> ModelStep:
    """What a model came to: these calls, or an answer."""
    return ModelStep("words", calls, None, None, Spent(Outcome.DONE, "scripted", Usage(input_tokens=1, output_tokens=1), 1))


def call() -> NewCall:
    return NewCall(new_id(), 0, "call-0", "ask_user", "{}", None, None)


async def at_tools(loop: Pool, turn_id: UUID) -> UUID:
    """Brings a queued turn to the step of its one call, and returns that."""
    asked = call()
    assert await verbs.finish_model_step(loop, await taken(loop, turn_id), said(asked), trace=None)
    return asked.id


async def turn_in(loop: Pool, company: Company, state: TurnState) -> UUID:
    """A turn in this state, alone in its thread. A running one is at the step of its tools."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    match state:
        case TurnState.RUNNING:
            await at_tools(loop, turn_id)
        case TurnState.WAITING:
            await at_tools(loop, turn_id)
            assert await verbs.wait(loop, await standing(loop, turn_id))
        case TurnState.COMPLETED:
            assert await verbs.finish_model_step(loop, await taken(loop, turn_id), said(), trace=None)
        case TurnState.FAILED:
            assert await verbs.fail(loop, turn_id, "internal")
        case TurnState.CANCELLED:
            await verbs.cancel(loop, cancel_command(company, turn_id), trace=None)
        case TurnState.QUEUED:
            pass
    return turn_id


async def row_of(loop: Pool, turn_id: UUID) -> Row:
    """The turn's row as it stands."""
    row = await loop.fetchrow("SELECT * FROM turns WHERE id = $1", turn_id)
    assert row is not None
    return dict(row)


async def standing(loop: Pool, turn_id: UUID) -> Claim:
    """The claim of whoever came last."""
    row = await row_of(loop, turn_id)
    return Claim(turn_id, row["step"], row["attempt"])


def cancel_command(company: Company, turn_id: UUID) -> CancelTurn:
    return CancelTurn(command_id=uuid4(), by=company["mia"].principal, turn_id=turn_id)
