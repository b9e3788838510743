"""What people and agents are shown of questions: lists, counts, names, and what an agent has still to hear."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from askbus.access import verbs as access
from askbus.access.model import Principal, Scope
from askbus.db.pool import Pool
from askbus.errors import NotFound, PermissionDenied
from askbus.questions import reads, verbs
from askbus.questions.model import QuestionFilter, QuestionState
from askbus.testing.people import Company, give_token
from askbus.testing.questions import answer_command, ask_back_command, decline_command, open_question, question_in
from askbus.testing.turns import running_turn


async def listed(pool: Pool, by: Principal, **wanted: object) -> list[UUID]:
    page = await reads.list_page(pool, by, QuestionFilter.model_validate(wanted))
    return [question.id for question in page.questions]


async def counted(pool: Pool, by: Principal) -> tuple[int, int]:
    counts = await reads.counts(pool, by)
    return counts.open, counts.for_me


@pytest.mark.requirement("Q3")
async def test_pages_are_newest_first_and_complete_whatever_ids_the_askers_chose(pool: Pool, company: Company) -> None:
    """An asker's own ids need not be in any order; the cursor goes by the time of asking."""
    mia = company["mia"].principal
    start = datetime.now(UTC) - timedelta(hours=1)
    asked = [
        (await open_question(pool, mia, company.north, question_id=uuid4(), now=start + timedelta(seconds=n // 2))).id
        for n in range(11)
    ]
    seen: list[UUID] = []
    before: UUID | None = None
    for _ in range(4):
        page = await reads.list_page(pool, mia, QuestionFilter(limit=3, before=before))
        seen += [question.id for question in page.questions]
        before = page.next
    assert before is None
    assert len(seen) == len(set(seen)) == 11
    times = {question_id: n // 2 for n, question_id in enumerate(asked)}
    assert [times[question_id] for question_id in seen] == sorted(times.values(), reverse=True)


@pytest.mark.requirement("Q3", "Q11")
async def test_filters_keep_what_they_say(pool: Pool, company: Company) -> None:
    """By state, by project, mine, and for me."""
    owner, max_ = company["owner"].principal, company["max"].principal
    by_state = {state: (await question_in(pool, state, owner, max_, company.north)).id for state in QuestionState}
    replacing = set(await listed(pool, owner)) - set(by_state.values())
    assert len(replacing) == 1
    for state, question_id in by_state.items():
        assert set(await listed(pool, owner, state=state)) - replacing == {question_id}
    south = (await open_question(pool, owner, company.south)).id
    assert await listed(pool, owner, project_id=company.south) == [south]
    assert await listed(pool, max_, project_id=company.south) == []
    assert await listed(pool, max_, mine=True) == []
    assert len(await listed(pool, owner, mine=True)) == 8
    to_max = (await open_question(pool, owner, company.north, assignee_id=max_.user_id)).id
    assert to_max in await listed(pool, max_, for_me=True, state="open")
    assert to_max not in await listed(pool, owner, for_me=True, state="open")
    assert to_max in await listed(pool, owner, state="open")


@pytest.mark.requirement("Q5", "Q11")
async def test_what_is_past_its_time_is_listed_as_expired_and_not_counted(pool: Pool, company: Company) -> None:
    """No sweep runs here."""
    mia = company["mia"].principal
    over = await open_question(pool, mia, company.north, now=datetime.now(UTC) - timedelta(hours=2), expires_in=3600)
    still = await open_question(pool, mia, company.north)
    assert await listed(pool, mia, state="open") == [still.id]
    assert await listed(pool, mia, state="expired") == [over.id]
    shown = await reads.get(pool, mia, over.id)
    assert (shown.state, shown.settled_at) == (QuestionState.EXPIRED, over.expires_at)
    assert await counted(pool, mia) == (1, 1)


@pytest.mark.requirement("Q11", "I3")
async def test_counts_are_each_persons_own(pool: Pool, company: Company) -> None:
    """Open ones that they see; for them, those that they may answer now."""
    owner, mia, max_ = (company[name].principal for name in ("owner", "mia", "max"))
    agent = (await give_token(pool, company["mia"])).principal
    assigned = await open_question(pool, agent, company.north, assignee_id=max_.user_id)
    await open_question(pool, agent, company.north)
    await open_question(pool, owner, company.south)
    await open_question(pool, mia, company.north, turn_id=(await running_turn(pool, company)).id)
    counts = {name: await counted(pool, company[name].principal) for name in company.people}
    assert counts == {
        "owner": (3, 2),
        "admin": (3, 2),
        "mia": (3, 2),
        "max": (2, 2),
        "viewer": (2, 0),
        "demo": (2, 0),
        "stranger": (0, 0),
    }
    # What the token asked is not for another token of the same owner to answer.
    assert await counted(pool, (await give_token(pool, company["mia"])).principal) == (3, 1)
    await verbs.answer(pool, answer_command(max_, assigned.id), trace=None)
    assert await counted(pool, max_) == (1, 1)
    await access.remove_from_project(pool, company.workspace_id, company.north, max_.user_id)
    assert await counted(pool, max_) == (0, 0)


@pytest.mark.requirement("Q14")
async def test_people_see_which_agent_asks_and_the_asker_who_answered(pool: Pool, company: Company) -> None:
    """By name, in lists and alone, with both times."""
    agent, max_ = await give_token(pool, company["mia"]), company["max"].principal
    question = await open_question(pool, agent.principal, company.north)
    waiting = (await reads.list_page(pool, max_, QuestionFilter())).questions[0]
    assert (waiting.asked_by, waiting.asked_with, waiting.settled_by_name) == ("mia", "mia's agent", None)
    await verbs.answer(pool, answer_command(max_, question.id), trace=None)
    for seen in (
        (await reads.list_page(pool, agent.principal, QuestionFilter(mine=True))).questions[0],
        await reads.get(pool, agent.principal, question.id),
    ):
        assert (seen.settled_by_name, seen.settled_by, seen.asked_at) == ("max", max_.user_id, question.asked_at)
        assert seen.settled_at is not None
        assert seen.settled_at > seen.asked_at


@pytest.mark.requirement("I6", "Q7")
async def test_a_chats_own_question_is_its_users_alone(pool: Pool, company: Company) -> None:
    """Not even the owner of the workspace sees it."""
    mia = company["mia"].principal
    question = await open_question(pool, mia, company.north, turn_id=(await running_turn(pool, company)).id)
    assert (await reads.get(pool, mia, question.id)).id == question.id
    for name in ("owner", "admin", "max", "viewer", "demo", "stranger"):
        other = company[name].principal
        assert question.id not in await listed(pool, other)
        with pytest.raises(NotFound):
            await reads.get(pool, other, question.id)
        with pytest.raises((NotFound, PermissionDenied)):
            await verbs.answer(pool, answer_command(other, question.id), trace=None)


@pytest.mark.requirement("I4")
async def test_a_token_reads_questions_only_with_a_scope_that_concerns_them(pool: Pool, company: Company) -> None:
    """`data:read` is not one of them."""
    await open_question(pool, company["max"].principal, company.north)
    for scope in Scope:
        if scope is Scope.ACTIONS_CONFIRM:
            continue
        agent = (await give_token(pool, company["mia"], (scope,))).principal
        if scope in {Scope.QUESTIONS_ASK, Scope.QUESTIONS_ANSWER}:
            assert len(await listed(pool, agent)) == 1
            continue
        for read in (reads.list_page(pool, agent, QuestionFilter()), reads.counts(pool, agent), reads.get(pool, agent, uuid4())):
            with pytest.raises(PermissionDenied):
                await read


@pytest.mark.requirement("I1")
async def test_a_token_for_some_projects_sees_and_asks_in_no_other(pool: Pool, company: Company) -> None:
    """Though its owner may."""
    owner = company["owner"]
    north_only = (await give_token(pool, owner, projects=(company.north,))).principal
    in_south = await open_question(pool, owner.principal, company.south)
    in_north = await open_question(pool, owner.principal, company.north)
    assert await listed(pool, north_only) == [in_north.id]
    assert await counted(pool, north_only) == (1, 1)
    for attempt in (
        open_question(pool, north_only, company.south),
        verbs.answer(pool, answer_command(north_only, in_south.id), trace=None),
        reads.get(pool, north_only, in_south.id),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert (await verbs.answer(pool, answer_command(north_only, in_north.id), trace=None)).answer == "yes"


@pytest.mark.requirement("Q6")
async def test_what_an_agent_has_not_heard_stays_untold_until_it_says_so(pool: Pool, company: Company) -> None:
    """Notes and outcomes count one each; what it has heard is named by how far it is, so saying it twice hides nothing."""
    agent, max_ = (await give_token(pool, company["mia"])).principal, company["max"].principal
    assert agent.token_id is not None
    question = await open_question(pool, agent, company.north)
    assert (await reads.untold(pool, agent)).told == ()
    await verbs.ask_back(pool, ask_back_command(max_, question.id, "which?"), trace=None)
    told = (await reads.untold(pool, agent)).told[0]
    assert (told.untold, told.question.state, told.question.notes[0].text) == (1, QuestionState.OPEN, "which?")
    await verbs.decline(pool, decline_command(max_, question.id, "not mine"), trace=None)
    assert (await reads.untold(pool, agent)).told[0].untold == 2
    for _ in range(2):
        await verbs.acknowledge(pool, question.id, agent.token_id, 1)
        told = (await reads.untold(pool, agent)).told[0]
        assert (told.untold, told.question.reason) == (1, "not mine")
    other = (await give_token(pool, company["mia"])).principal
    assert other.token_id is not None
    await verbs.acknowledge(pool, question.id, other.token_id, 2)
    assert len((await reads.untold(pool, agent)).told) == 1
    for heard in (2, 1):  # and what comes late, about less, brings nothing back
        await verbs.acknowledge(pool, question.id, agent.token_id, heard)
        assert (await reads.untold(pool, agent)).told == ()


@pytest.mark.requirement("Q6", "I3")
async def test_an_agent_that_lost_the_project_is_not_told_what_was_answered_there(pool: Pool, company: Company) -> None:
    """The row stays for the day when its owner is let in again."""
    mia, max_ = company["mia"], company["max"].principal
    agent = (await give_token(pool, mia)).principal
    question = await open_question(pool, agent, company.north)
    await verbs.answer(pool, answer_command(max_, question.id), trace=None)
    await access.remove_from_project(pool, company.workspace_id, company.north, mia.id)
    assert (await reads.untold(pool, agent)).told == ()
    await access.add_to_project(pool, company.workspace_id, company.north, mia.id)
    assert [told.question.id for told in (await reads.untold(pool, agent)).told] == [question.id]


@pytest.mark.requirement("Q7")
async def test_a_chats_question_is_told_to_its_turn_and_not_to_the_token_that_chats(pool: Pool, company: Company) -> None:
    """The turn resumes by the fact; nobody would ever acknowledge the row."""
    agent, mia = (await give_token(pool, company["mia"])).principal, company["mia"].principal
    question = await open_question(pool, agent, company.north, turn_id=(await running_turn(pool, company)).id)
    await verbs.answer(pool, answer_command(mia, question.id), trace=None)
    assert (await reads.untold(pool, agent)).told == ()
