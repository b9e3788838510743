"""Questions, statement by statement."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from askbus.access import verbs as access
from askbus.access.model import Principal, Role, Scope
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.errors import AskbusError, Conflict, InvalidInput, NotFound, PermissionDenied
from askbus.questions import reads, verbs
from askbus.questions.model import MOST_NOTES, MOVES, Question, QuestionState, QuestionVerb
from askbus.testing.people import Company, give_token
from askbus.testing.questions import (
    answer_command,
    ask_back_command,
    ask_command,
    cancel_command,
    decline_command,
    open_question,
    question_in,
)
from askbus.testing.servers import TestDatabase
from askbus.testing.turns import RunningTurn


async def state_of(pool: Pool, question_id: UUID) -> QuestionState:
    return QuestionState(await pool.fetchval("SELECT state FROM questions WHERE id = $1", question_id))


async def audited(pool: Pool, question_id: UUID) -> list[str]:
    rows = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY id", question_id)
    return [row["event"] for row in rows]


async def facts(pool: Pool, question_id: UUID) -> list[str]:
    rows = await pool.fetch("SELECT fact FROM change_log WHERE entity_id = $1 ORDER BY seq", question_id)
    return [row["fact"] for row in rows]


async def do(pool: Pool, verb: QuestionVerb, question: Question, asker: Principal, answerer: Principal) -> object:
    """What each verb is called as. People's raise where they move nothing; expiry's returns nothing."""
    ways: Mapping[QuestionVerb, Callable[[], Awaitable[object]]] = {
        QuestionVerb.ANSWER: lambda: verbs.answer(pool, answer_command(answerer, question.id), trace=None),
        QuestionVerb.DECLINE: lambda: verbs.decline(pool, decline_command(answerer, question.id), trace=None),
        QuestionVerb.ASK_BACK: lambda: verbs.ask_back(pool, ask_back_command(answerer, question.id), trace=None),
        QuestionVerb.CANCEL: lambda: verbs.cancel(pool, cancel_command(asker, question.id), trace=None),
        QuestionVerb.EXPIRE: lambda: verbs.expire_due(pool, now=question.expires_at),
        QuestionVerb.SUPERSEDE: lambda: open_question(pool, asker, question.project_id, supersedes=question.id),
    }
    return await ways[verb]()


@pytest.mark.requirement("Q5")
@pytest.mark.parametrize("state", list(QuestionState))
async def test_every_verb_moves_what_the_table_of_moves_says_and_nothing_else(
    state: QuestionState, pool: Pool, company: Company
) -> None:
    """Each of the six verbs on a question in this state: moved with one fact and untold once more, or left as it was."""
    agent, max_ = (await give_token(pool, company["mia"])).principal, company["max"].principal
    for verb in QuestionVerb:
        question = await question_in(pool, state, agent, max_, company.north)
        before = await facts(pool, question.id)
        untold = await pool.fetchval("SELECT untold FROM questions WHERE id = $1", question.id)
        wanted = MOVES.get((state, verb))
        where = f"{verb.value} on {state.value}"
        moved = 1 if wanted else 0
        if wanted or verb is QuestionVerb.EXPIRE:
            await do(pool, verb, question, agent, max_)
        else:
            with pytest.raises(Conflict) as refused:
                await do(pool, verb, question, agent, max_)
            assert isinstance(shown := refused.value.details["question"], dict)
            assert shown["state"] == state, where
        assert await state_of(pool, question.id) is (wanted or state), where
        assert len(await facts(pool, question.id)) == len(before) + moved, where
        assert await pool.fetchval("SELECT untold FROM questions WHERE id = $1", question.id) == untold + moved, where


@pytest.mark.requirement("Q5")
async def test_past_its_expiry_a_question_reads_as_expired_and_cannot_be_moved(pool: Pool, company: Company) -> None:
    """Nothing relies on the sweep: at that very moment nobody can answer, decline, ask back, cancel or supersede any more."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    over, almost = question.expires_at, question.expires_at - timedelta(microseconds=1)
    attempts: list[Callable[[], Awaitable[object]]] = [
        lambda: verbs.answer(pool, answer_command(max_, question.id), trace=None, now=over),
        lambda: verbs.decline(pool, decline_command(max_, question.id), trace=None, now=over),
        lambda: verbs.ask_back(pool, ask_back_command(max_, question.id), trace=None, now=over),
        lambda: verbs.cancel(pool, cancel_command(mia, question.id), trace=None, now=over),
    ]
    for attempt in attempts:
        with pytest.raises(Conflict) as refused:
            await attempt()
        assert isinstance(shown := refused.value.details["question"], dict)
        assert (shown["state"], shown["settled_at"]) == ("expired", over.isoformat().replace("+00:00", "Z"))
    assert await state_of(pool, question.id) is QuestionState.OPEN
    answered = await verbs.answer(pool, answer_command(max_, question.id), trace=None, now=almost)
    assert answered.state is QuestionState.ANSWERED
    assert await verbs.expire_due(pool, now=over) == []


@pytest.mark.requirement("Q1")
async def test_a_dedupe_key_finds_its_question_in_any_state(pool: Pool, company: Company) -> None:
    """The same asker's key stands for one question; another asker's, or another project's, is its own."""
    owner, max_ = company["owner"].principal, company["max"].principal
    for state in QuestionState:
        question = await question_in(pool, state, owner, max_, company.north)
        await pool.execute("UPDATE questions SET dedupe_key = $2 WHERE id = $1", question.id, state.value)
        before = await facts(pool, question.id), await audited(pool, question.id)
        again = await verbs.ask(pool, ask_command(owner, company.north, dedupe_key=state.value, text="anything"), trace=None)
        assert (again.id, again.state) == (question.id, state)
        assert (await facts(pool, question.id), await audited(pool, question.id)) == before
        others = await verbs.ask(pool, ask_command(max_, company.north, dedupe_key=state.value), trace=None)
        elsewhere = await verbs.ask(pool, ask_command(owner, company.south, dedupe_key=state.value), trace=None)
        assert len({question.id, others.id, elsewhere.id}) == 3


@pytest.mark.requirement("Q1", "I3")
async def test_a_dedupe_key_opens_no_project_that_its_asker_has_left(pool: Pool, company: Company) -> None:
    """Access counts as it is now: nobody who lost the project, or the right to ask, is handed the question with its answer."""
    mia, max_ = company["mia"], company["max"].principal
    command = ask_command(mia.principal, company.north, dedupe_key="k")
    question = await verbs.ask(pool, command, trace=None)
    await verbs.answer(pool, answer_command(max_, question.id, "the secret"), trace=None)
    await access.remove_from_project(pool, company.workspace_id, company.north, mia.id)
    for again in (command, ask_command(mia.principal, company.north, dedupe_key="k")):
        with pytest.raises(NotFound):
            await verbs.ask(pool, again, trace=None)
    await access.add_to_project(pool, company.workspace_id, company.north, mia.id)
    await access.set_member(pool, company.workspace_id, mia.id, Role.VIEWER)
    with pytest.raises(NotFound):
        await verbs.ask(pool, command, trace=None)


@pytest.mark.requirement("Q1")
async def test_a_question_id_is_one_askers_and_one_projects(pool: Pool, company: Company) -> None:
    """The same id sent again finds the question; sent by somebody else, or for another project, it is refused."""
    owner, max_ = company["owner"].principal, company["max"].principal
    command = ask_command(owner, company.north)
    first = await verbs.ask(pool, command, trace=None)
    assert (await verbs.ask(pool, command, trace=None)).id == first.id
    assert await facts(pool, first.id) == ["question.asked"]
    for taken in (
        ask_command(max_, company.north, question_id=first.id),
        ask_command(owner, company.south, question_id=first.id),
    ):
        with pytest.raises(InvalidInput, match="taken"):
            await verbs.ask(pool, taken, trace=None)


@pytest.mark.requirement("Q1", "Q7")
async def test_a_call_of_a_turn_asks_once_whatever_its_second_run_calls_the_question(
    pool: Pool, company: Company, turn: RunningTurn
) -> None:
    """A tool that is run again finds the question of its first run."""
    mia = company["mia"].principal
    command = ask_command(mia, company.north, turn_id=turn.id)
    first = await verbs.ask(pool, command, trace=None)
    again = command.model_copy(update={"question_id": uuid4(), "command_id": uuid4()})
    assert (await verbs.ask(pool, again, trace=None)).id == first.id


@pytest.mark.requirement("Q1")
async def test_superseding_replaces_an_own_open_question_or_does_nothing(pool: Pool, company: Company) -> None:
    """What cannot be asked replaces nothing; what is settled, or somebody else's, is not replaced."""
    mia, max_ = company["mia"].principal, company["max"].principal
    old = await open_question(pool, mia, company.north)
    refused: list[tuple[Principal, UUID, UUID, UUID | None, type[AskbusError]]] = [
        (mia, company.south, old.id, None, NotFound),
        (mia, company.north, old.id, company["viewer"].id, InvalidInput),
        (max_, company.north, old.id, None, NotFound),
        (mia, company.north, uuid4(), None, NotFound),
    ]
    for by, project_id, supersedes, assignee, error in refused:
        with pytest.raises(error):
            await open_question(pool, by, project_id, supersedes=supersedes, assignee_id=assignee)
        assert await state_of(pool, old.id) is QuestionState.OPEN
    new = await open_question(pool, mia, company.north, supersedes=old.id)
    row = await pool.fetchrow("SELECT state, superseded_by FROM questions WHERE id = $1", old.id)
    assert row is not None
    assert tuple(row) == ("superseded", new.id)
    with pytest.raises(Conflict) as conflict:
        await open_question(pool, mia, company.north, supersedes=old.id)
    assert isinstance(shown := conflict.value.details["question"], dict)
    assert shown["state"] == "superseded"


@pytest.mark.requirement("Q1")
@pytest.mark.parametrize("who", ["viewer", "demo", "stranger"])
async def test_an_assignee_must_be_able_to_answer(who: str, pool: Pool, company: Company) -> None:
    """Nobody waits for somebody who cannot."""
    with pytest.raises(InvalidInput) as refused:
        await open_question(pool, company["mia"].principal, company.north, assignee_id=company[who].id)
    assert refused.value.details == {"field": "assignee_id"}


@pytest.mark.requirement("Q1", "Q4")
async def test_an_assigned_question_is_its_assignees_to_answer(pool: Pool, company: Company) -> None:
    """The others see it and may not settle it."""
    mia, max_, admin = (company[name].principal for name in ("mia", "max", "admin"))
    question = await open_question(pool, mia, company.north, assignee_id=max_.user_id)
    for verb in (
        verbs.answer(pool, answer_command(admin, question.id), trace=None),
        verbs.decline(pool, decline_command(admin, question.id), trace=None),
        verbs.ask_back(pool, ask_back_command(admin, question.id), trace=None),
    ):
        with pytest.raises(PermissionDenied):
            await verb
    assert (await verbs.answer(pool, answer_command(max_, question.id), trace=None)).settled_by == max_.user_id


@pytest.mark.requirement("Q3")
async def test_only_the_asker_cancels(pool: Pool, company: Company) -> None:
    """Not an admin, and not the person whose token asked."""
    agent, mia, admin = (await give_token(pool, company["mia"])).principal, company["mia"].principal, company["admin"].principal
    question = await open_question(pool, agent, company.north)
    for other in (mia, admin):
        with pytest.raises(PermissionDenied):
            await verbs.cancel(pool, cancel_command(other, question.id), trace=None)
    assert (await verbs.cancel(pool, cancel_command(agent, question.id), trace=None)).state is QuestionState.CANCELLED


@pytest.mark.requirement("Q4")
async def test_asking_back_leaves_the_question_open_and_ends_somewhere(pool: Pool, company: Company) -> None:
    """Each note is one of the question's, up to a number that no conversation needs."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    for number in range(MOST_NOTES):
        asked_back = await verbs.ask_back(pool, ask_back_command(max_, question.id, f"note {number}"), trace=None)
        assert asked_back.state is QuestionState.OPEN
    with pytest.raises(Conflict, match="answer or decline"):
        await verbs.ask_back(pool, ask_back_command(max_, question.id), trace=None)
    seen = await reads.get(pool, mia, question.id)
    assert [note.text for note in seen.notes] == [f"note {number}" for number in range(MOST_NOTES)]
    assert seen.note_count == MOST_NOTES


@pytest.mark.requirement("I6")
async def test_a_session_acts_in_its_own_workspace_alone(pool: Pool, company: Company) -> None:
    """Somebody who works in two workspaces: what they hold for one opens nothing in the other."""
    other = await access.create_workspace(pool, "Second")
    project = await access.create_project(pool, other, "north")
    here = company["mia"].principal
    await access.set_member(pool, other, here.user_id, Role.OWNER)
    there = here.model_copy(update={"workspace_id": other, "role": Role.OWNER})
    question = await open_question(pool, there, project)
    for verb in (
        verbs.answer(pool, answer_command(here, question.id), trace=None),
        verbs.decline(pool, decline_command(here, question.id), trace=None),
        verbs.ask_back(pool, ask_back_command(here, question.id), trace=None),
        verbs.cancel(pool, cancel_command(here, question.id), trace=None),
        reads.get(pool, here, question.id),
    ):
        with pytest.raises(NotFound):
            await verb
    assert (await verbs.answer(pool, answer_command(there, question.id), trace=None)).state is QuestionState.ANSWERED


@pytest.mark.requirement("Q9")
@pytest.mark.parametrize("who", ["viewer", "demo", "stranger"])
async def test_the_statement_itself_refuses_who_may_not_write(who: str, pool: Pool, company: Company) -> None:
    """Even a principal that claims every scope: what counts is the membership in the database."""
    claims = company[who].principal.model_copy(update={"scopes": frozenset(Scope), "workspace_id": company.workspace_id})
    question = await open_question(pool, company["mia"].principal, company.north)
    for verb in (
        verbs.ask(pool, ask_command(claims, company.north), trace=None),
        verbs.answer(pool, answer_command(claims, question.id), trace=None),
        verbs.decline(pool, decline_command(claims, question.id), trace=None),
        verbs.ask_back(pool, ask_back_command(claims, question.id), trace=None),
        verbs.cancel(pool, cancel_command(claims, question.id), trace=None),
    ):
        with pytest.raises((PermissionDenied, NotFound)):
            await verb
    assert await state_of(pool, question.id) is QuestionState.OPEN


@pytest.mark.requirement("I7")
async def test_expiry_may_expire_questions_and_nothing_else(database: TestDatabase, pool: Pool, company: Company) -> None:
    """The database itself holds each service to its own columns."""
    mia, max_ = company["mia"].principal, company["max"].principal
    question = await open_question(pool, mia, company.north)
    async with open_pool(database.role_url(Service.EXPIRY), size=1, name="expiry") as expiry:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await verbs.answer(expiry, answer_command(max_, question.id), trace=None)
        assert await verbs.expire_due(expiry, now=question.expires_at) == [question.id]
    async with open_pool(database.role_url(Service.GATEWAY), size=1, name="gateway") as gateway:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await open_question(gateway, mia, company.north)
