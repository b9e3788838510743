"""Names of threads, what goes with one that is deleted, and what stays."""

from uuid import uuid4

import pytest
from tests.verbs.thread_rows import (
    OWNED,
    begin,
    close_command,
    confirmed,
    delete_command,
    ended,
    left_of,
    message,
    proposal_of,
    rename_command,
    thread_of,
)
from tests.verbs.tool_runs import DONE, started

from askbus.actions import verbs as actions
from askbus.actions.model import ActionState, RejectAction
from askbus.db.pool import Pool
from askbus.errors import Conflict, NotFound
from askbus.questions import verbs as questions
from askbus.records.changes import OutcomeState
from askbus.testing.people import Company, give_token
from askbus.testing.questions import ask_back_command, ask_command, open_question
from askbus.testing.turns import RunningTurn, request_call
from askbus.threads import reads, verbs
from askbus.tools.model import Over
from askbus.tools.verbs import finish_run, renew, start_run
from askbus.turns import verbs as turns
from askbus.turns.model import Claim


@pytest.mark.requirement("C9")
async def test_a_name_that_a_person_gave_is_never_replaced(loop: Pool, company: Company) -> None:
    """Neither the first message nor a later one changes it, whenever it was given; white space in it is collapsed."""
    mia = company["mia"].principal
    named = await thread_of(loop, company, title="  The\n big   plan ")
    unnamed = await thread_of(loop, company)
    renamed = await thread_of(loop, company)
    await verbs.rename(loop, rename_command(mia, renamed.id, "Mine"), trace=None)
    for thread in (named, unnamed, renamed):
        async with loop.acquire() as db, db.transaction():
            await begin(db, message(mia, thread.id))
    titles = [(await reads.get(loop, mia, thread.id)).title for thread in (named, unnamed, renamed)]
    assert titles == ["The big plan", "A thread", "Mine"]


@pytest.mark.requirement("C9")
async def test_only_its_user_renames_or_deletes_a_thread(loop: Pool, pool: Pool, company: Company) -> None:
    """For anybody else it does not exist: a colleague, an admin, a stranger, and an agent of the user's that sees no such project."""
    thread = await thread_of(loop, company)
    agent = (await give_token(pool, company["mia"], projects=(company.north,))).principal
    agent = agent.model_copy(update={"projects": (company.south,)})
    for by in (*(company[name].principal for name in ("max", "admin", "stranger")), agent):
        with pytest.raises(NotFound):
            await verbs.rename(loop, rename_command(by, thread.id), trace=None)
        with pytest.raises(NotFound):
            await ended(loop, delete_command(by, thread.id))
    assert (await reads.get(loop, company["mia"].principal, thread.id)).title == ""


@pytest.mark.requirement("C9")
async def test_a_deleted_thread_goes_with_all_that_it_owns_but_for_confirmed_actions(
    loop: Pool, pool: Pool, runner: Pool, company: Company, turn: RunningTurn
) -> None:
    """Questions, notes, calls and runs go, answered or not; what was confirmed stays with its snapshots and its audit trail."""
    mia = company["mia"].principal
    async with loop.acquire() as db, db.transaction():
        queued = await begin(db, message(mia, turn.thread_id))
    await pool.execute("INSERT INTO steps (turn_id, number, attempt, kind) VALUES ($1, 1, 1, 'model')", turn.id)
    question = await open_question(pool, mia, company.north, turn_id=turn.id)
    await questions.ask_back(pool, ask_back_command(mia, question.id), trace=None)
    await finish_run(runner, await started(runner, await request_call(pool, turn, "resolve")), DONE, trace=None)
    applied, undecided, rejected = [await proposal_of(pool, turn) for _ in range(3)]
    await confirmed(pool, mia, applied, OutcomeState.APPLIED)
    await actions.reject(pool, RejectAction(command_id=uuid4(), by=mia, action_id=rejected.id), trace=None)
    assert set(await left_of(pool)) == set(OWNED)

    gone = await ended(loop, delete_command(mia, turn.thread_id))

    assert set(gone.ended) == {turn.id, queued}
    assert await left_of(pool, ("threads", *OWNED)) == {"actions": 1}
    kept = await pool.fetchrow("SELECT state, thread_id, outcome, operations FROM actions WHERE id = $1", applied.id)
    assert kept is not None
    assert (kept["state"], kept["thread_id"]) == (ActionState.APPLIED, turn.thread_id)
    assert kept["outcome"]["images"]
    trail = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY at, id", applied.id)
    assert [entry["event"] for entry in trail] == ["action.proposed", "action.confirmed", "action.applied"]
    assert (
        await pool.fetchval("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY at DESC", undecided.id)
        == "action.withdrawn"
    )
    assert await pool.fetchval("SELECT user_id FROM audit_log WHERE event = 'thread.deleted'") == company["mia"].id


@pytest.mark.requirement("C9", "S1")
async def test_everybody_who_saw_something_of_a_deleted_thread_is_told_by_id_and_state(
    loop: Pool, pool: Pool, company: Company, turn: RunningTurn
) -> None:
    """The turn ends before its thread; the question is its user's alone, the proposal everybody's in the project."""
    mia = company["mia"].principal
    question = await open_question(pool, mia, company.north, turn_id=turn.id)
    action = await proposal_of(pool, turn)
    before = await pool.fetchval("SELECT max(seq) FROM change_log")
    await ended(loop, delete_command(mia, turn.thread_id))
    told = await pool.fetch("SELECT fact, entity_id, status, user_id FROM change_log WHERE seq > $1 ORDER BY seq", before)
    assert [tuple(row) for row in told if row["fact"] == "turn.cancelled"] == [
        ("turn.cancelled", turn.id, "cancelled", mia.user_id)
    ]
    assert {tuple(row) for row in told} == {
        ("turn.cancelled", turn.id, "cancelled", mia.user_id),
        ("action.withdrawn", action.id, "withdrawn", None),
        ("question.cancelled", question.id, "cancelled", mia.user_id),
        ("thread.deleted", turn.thread_id, "deleted", mia.user_id),
    }
    assert told[0]["fact"] == "turn.cancelled"


@pytest.mark.requirement("C9")
async def test_whoever_still_works_for_a_deleted_thread_changes_nothing(
    loop: Pool, pool: Pool, runner: Pool, company: Company, turn: RunningTurn
) -> None:
    """A model's answer, what a tool came to, a call that nobody ran yet, a question on its way: each finds nothing, and nothing is back."""
    mia = company["mia"].principal
    run = await started(runner, await request_call(pool, turn, "resolve"))
    waiting = await request_call(pool, turn, "resolve", position=1)
    await ended(loop, delete_command(mia, turn.thread_id))

    claim = Claim(turn.id, 2, 0)
    assert (await turns.claim(loop, turn.id, from_step=2, step=3, holder=uuid4(), lease=5)).claim is None
    assert not await turns.renew(loop, claim, holder=uuid4(), lease=5)
    await turns.record_cut(loop, claim, text="half a sentence", model="scripted", cut="stopped")
    assert not await turns.fail(loop, turn.id, "internal")
    assert await renew(runner, run, 5) is None
    assert not await finish_run(runner, run, DONE, trace=None)
    assert await start_run(runner, waiting, claim=uuid4(), lease=5, repeatable=["resolve"], trace=None) == Over("ended")
    with pytest.raises(NotFound):
        await questions.ask(pool, ask_command(mia, company.north, turn_id=turn.id), trace=None)
    with pytest.raises(NotFound):
        await proposal_of(pool, turn)
    with pytest.raises(NotFound):
        async with loop.acquire() as db, db.transaction():
            await begin(db, message(mia, turn.thread_id))
    assert await left_of(pool, ("threads", *OWNED)) == {}


@pytest.mark.requirement("C9")
async def test_the_command_that_deleted_a_thread_succeeds_again_and_another_finds_none(loop: Pool, company: Company) -> None:
    """A reply that was lost costs nothing."""
    mia = company["mia"].principal
    command = delete_command(mia, (await thread_of(loop, company)).id)
    await ended(loop, command)
    assert (await ended(loop, command)).id == command.thread_id
    with pytest.raises(NotFound):
        await ended(loop, delete_command(mia, command.thread_id))
    with pytest.raises(NotFound):
        await ended(loop, command.model_copy(update={"thread_id": uuid4()}))


@pytest.mark.requirement("C35")
async def test_only_a_temporary_thread_ends_when_it_is_closed(loop: Pool, company: Company) -> None:
    """A front end that closes whatever it showed deletes nothing that its user means to keep."""
    mia = company["mia"].principal
    kept, passing = await thread_of(loop, company), await thread_of(loop, company, temporary=True)
    with pytest.raises(Conflict):
        await ended(loop, close_command(mia, kept.id))
    await ended(loop, close_command(mia, passing.id))
    assert (await reads.get(loop, mia, kept.id)).id == kept.id
    with pytest.raises(NotFound):
        await reads.get(loop, mia, passing.id)
