"""Threads of Mia's with something of everything in them, and the commands that end them."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from tests.verbs.turn_rows import queued_turn, said, taken

from askbus.access.model import Principal
from askbus.actions.model import Action, ConfirmAction
from askbus.actions.verbs import confirm, propose, record_outcome
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.db.statements import Executor
from askbus.records.changes import OutcomeState
from askbus.testing.actions import outcome_of, prepared_action, propose_command
from askbus.testing.people import Company
from askbus.testing.turns import RunningTurn
from askbus.threads import verbs
from askbus.threads.model import CloseThread, CreateThread, DeleteThread, Gone, RenameThread, SaveThread, Thread
from askbus.turns.model import StartTurn
from askbus.turns.verbs import finish_model_step, start

OWNED = ("turns", "steps", "messages", "tool_calls", "tool_runs", "questions", "question_notes", "actions")


async def thread_of(loop: Pool, company: Company, **said: object) -> Thread:
    """A conversation of Mia's."""
    command = CreateThread.model_validate(
        {"command_id": uuid4(), "by": company["mia"].principal, "thread_id": new_id(), "project_id": company.north} | said
    )
    return await verbs.create(loop, command, trace=None)


def message(by: Principal, thread_id: UUID, text: str = "hello") -> StartTurn:
    return StartTurn(command_id=uuid4(), by=by, turn_id=new_id(), thread_id=thread_id, client_message_id=str(uuid4()), text=text)


async def exchange(loop: Pool, company: Company, thread_id: UUID) -> UUID:
    """A question and its answer; the turn's id."""
    turn_id = await queued_turn(loop, company, thread_id)
    assert await finish_model_step(loop, await taken(loop, turn_id), said(), trace=None)
    return turn_id


def rename_command(by: Principal, thread_id: UUID, title: str = "My own name") -> RenameThread:
    return RenameThread(command_id=uuid4(), by=by, thread_id=thread_id, title=title)


def save_command(by: Principal, thread_id: UUID) -> SaveThread:
    return SaveThread(command_id=uuid4(), by=by, thread_id=thread_id)


def close_command(by: Principal, thread_id: UUID) -> CloseThread:
    return CloseThread(command_id=uuid4(), by=by, thread_id=thread_id)


def delete_command(by: Principal, thread_id: UUID) -> DeleteThread:
    return DeleteThread(command_id=uuid4(), by=by, thread_id=thread_id)


async def ended(loop: Pool, command: DeleteThread | CloseThread) -> Gone:
    """Carries the command out as the agent-loop does."""
    async with loop.acquire() as db, db.transaction():
        return await verbs.delete(db, command, trace=None)


async def proposal_of(db: Executor, turn: RunningTurn) -> Action:
    """An action that the turn's model proposed."""
    call = new_id()
    command = propose_command(turn.person.principal, turn.project_id, action_id=call).model_copy(
        update={"thread_id": turn.thread_id, "turn_id": turn.id, "call_id": call}
    )
    return await propose(db, command, prepared_action(), trace=None)


async def confirmed(db: Executor, by: Principal, action: Action, outcome: OutcomeState | None = None) -> None:
    """Confirms it, and copies what the ledger says where there is something."""
    await confirm(db, ConfirmAction(command_id=uuid4(), by=by, action_id=action.id, digest=action.digest), trace=None)
    if outcome is not None:
        await record_outcome(db, action.id, outcome_of(action.id, outcome), trace=None)


async def begin(db: Executor, command: StartTurn) -> UUID:
    """Appends the message; the transaction is the caller's."""
    return (await start(db, command, title="A thread", trace=None)).turn.id


async def left_of(pool: Pool, names: Sequence[str] = OWNED) -> dict[str, int]:
    """How many rows there are in each table that has any."""
    counts = {name: await pool.fetchval(f"SELECT count(*) FROM {name}") for name in names}
    return {name: count for name, count in counts.items() if count}
