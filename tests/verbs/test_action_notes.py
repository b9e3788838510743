"""What the next turn of a thread is told of its actions."""

from uuid import uuid4

import pytest

from askbus.access.model import Principal
from askbus.actions import reads, verbs
from askbus.actions.model import Action, ActionFilter, ActionState, ConfirmAction, RejectAction, UndoAction
from askbus.actions.notes import ActionNote
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.records.changes import OutcomeState
from askbus.testing.actions import NEW, OLD, outcome_of, pending_action, prepared_action, propose_command
from askbus.testing.people import Company
from askbus.testing.turns import RunningTurn


async def from_chat(pool: Pool, turn: RunningTurn) -> Action:
    call = new_id()
    command = propose_command(turn.person.principal, turn.project_id, action_id=call).model_copy(
        update={"thread_id": turn.thread_id, "turn_id": turn.id, "call_id": call}
    )
    return await verbs.propose(pool, command, prepared_action(), trace=None)


async def confirm(pool: Pool, by: Principal, action: Action, outcome: OutcomeState) -> None:
    command = ConfirmAction(command_id=uuid4(), by=by, action_id=action.id, digest=action.digest)
    await verbs.confirm(pool, command, trace=None)
    await verbs.record_outcome(pool, action.id, outcome_of(action.id, outcome), trace=None)


@pytest.mark.requirement("R18")
async def test_the_next_turn_is_told_of_every_action_of_its_thread_in_order(
    pool: Pool, company: Company, turn: RunningTurn
) -> None:
    """State, reason and digest, a line for what was to change, and why it was not where it was not."""
    mia = company["mia"].principal
    pending, rejected, applied, failed, conflicted = [await from_chat(pool, turn) for _ in range(5)]
    await verbs.reject(pool, RejectAction(command_id=uuid4(), by=mia, action_id=rejected.id, reason="wrong Ada"), trace=None)
    await confirm(pool, mia, applied, OutcomeState.APPLIED)
    await confirm(pool, mia, failed, OutcomeState.FAILED)
    await confirm(pool, mia, conflicted, OutcomeState.CONFLICTED)
    notes = await reads.outcomes_of_thread(pool, turn.thread_id)
    assert [note.id for note in notes] == [pending.id, rejected.id, applied.id, failed.id, conflicted.id]
    assert [note.state.value for note in notes] == ["pending", "rejected", "applied", "failed", "conflicted"]
    assert notes[0].changes == (f"update customers Ada Lovelace (id 1): email {OLD} → {NEW}",)
    assert (notes[1].reason, notes[1].digest) == ("wrong Ada", rejected.digest)
    assert [note.problems for note in notes[2:]] == [(), ("a.email: taken",), ("customers Ada Lovelace email: email was edited",)]


@pytest.mark.requirement("R18")
async def test_an_undo_that_was_refused_is_told_when_it_was_refused(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """The action stays applied, and the note says why it could not be undone; once it is undone the note says that."""
    mia = company["mia"].principal
    action = await from_chat(pool, turn)
    await confirm(pool, mia, action, OutcomeState.APPLIED)

    async def undone(state: OutcomeState) -> ActionNote:
        command = UndoAction(command_id=uuid4(), by=mia, action_id=action.id, undo_id=uuid4())
        undo = await verbs.request_undo(pool, command, trace=None)
        await verbs.record_undo(pool, undo.id, outcome_of(action.id, state, row_id=undo.id), trace=None)
        (note,) = await reads.outcomes_of_thread(pool, turn.thread_id)
        return note

    (applied,) = await reads.outcomes_of_thread(pool, turn.thread_id)
    refused = await undone(OutcomeState.REFUSED)
    assert refused.state is ActionState.APPLIED
    assert refused.problems == ("undo refused: customers Ada Lovelace email: email was edited",)
    done = await undone(OutcomeState.UNDONE)
    assert done.state is ActionState.UNDONE
    moments = [note.settled_at for note in (applied, refused, done) if note.settled_at]
    assert len(set(moments)) == 3
    assert moments == sorted(moments)


@pytest.mark.requirement("R18")
async def test_other_threads_are_not_told(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """What one conversation proposed is no news in another; a list of its actions holds these and no others."""
    mia = company["mia"].principal
    action = await from_chat(pool, turn)
    await pending_action(pool, mia, company.north)
    assert await reads.outcomes_of_thread(pool, uuid4()) == ()
    listed = await reads.list_page(pool, mia, ActionFilter(thread_id=turn.thread_id))
    assert [one.id for one in listed.actions] == [action.id]
