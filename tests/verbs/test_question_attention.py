"""Reminders, escalations and marks: who a question is for, at any moment, and what the sweeps tell."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from askbus.access.model import Principal
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from askbus.questions import attending, reads, verbs
from askbus.questions.model import QuestionCounts, QuestionFilter, QuestionState
from askbus.testing.people import Company, give_token
from askbus.testing.questions import (
    answer_command,
    cancel_command,
    open_question,
    seen_command,
    snooze_command,
)
from askbus.testing.servers import TestDatabase
from askbus.testing.turns import running_turn
from askbus_expiry.sweep import Sweep

SEEDS = (1,)


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


async def numbers(pool: Pool, by: Principal) -> tuple[int, int, int]:
    counts = await reads.counts(pool, by)
    return counts.open, counts.for_me, counts.unseen


async def for_me(pool: Pool, by: Principal, **more: object) -> list[UUID]:
    wanted = QuestionFilter.model_validate({"state": "open", "for_me": True, **more})
    return [question.id for question in (await reads.list_page(pool, by, wanted)).questions]


async def facts(pool: Pool, *words: str) -> Counter[tuple[UUID, str]]:
    rows = await pool.fetch(
        "SELECT entity_id, fact FROM change_log WHERE fact = ANY ($1)", [f"question.{word}" for word in words]
    )
    return Counter((row["entity_id"], row["fact"].partition(".")[2]) for row in rows)


@pytest.mark.requirement("Q12", "Q11")
async def test_an_escalation_opens_the_question_to_its_role_from_its_time_on(pool: Pool, company: Company) -> None:
    """Assigned to Max, escalated to admins: the owner and the admin may answer too, others not, and no sweep has to run for it."""
    owner, admin, mia, max_ = (company[name].principal for name in ("owner", "admin", "mia", "max"))
    asked: dict[str, Any] = {"assignee_id": max_.user_id, "escalate": {"after": 60, "role": "admin"}}
    early = await open_question(pool, mia, company.north, now=ago(30), **asked)
    late = await open_question(pool, mia, company.north, now=ago(90), **asked)
    assert [await for_me(pool, by) for by in (owner, admin, mia)] == [[late.id], [late.id], []]
    assert set(await for_me(pool, max_)) == {early.id, late.id}
    assert [await numbers(pool, by) for by in (owner, mia, max_)] == [(2, 1, 1), (2, 0, 0), (2, 2, 2)]
    assert [(await reads.get(pool, owner, one.id)).escalated for one in (early, late)] == [False, True]
    for by, question in ((owner, early), (mia, late), (company["viewer"].principal, late)):
        with pytest.raises(PermissionDenied):
            await verbs.answer(pool, answer_command(by, question.id), trace=None)
    assert (await verbs.answer(pool, answer_command(admin, late.id), trace=None)).settled_by == admin.user_id
    assert await numbers(pool, owner) == (1, 0, 0)


@pytest.mark.requirement("Q12")
async def test_an_escalation_may_name_one_person(pool: Pool, company: Company) -> None:
    """Mia may answer what Max did not; the admin still may not."""
    mia, max_, admin = (company[name].principal for name in ("mia", "max", "admin"))
    late = await open_question(
        pool, admin, company.north, now=ago(90), assignee_id=max_.user_id, escalate={"after": 60, "user_id": mia.user_id}
    )
    assert [await for_me(pool, by) for by in (mia, admin)] == [[late.id], []]
    assert (await verbs.answer(pool, answer_command(mia, late.id), trace=None)).state is QuestionState.ANSWERED


@pytest.mark.requirement("Q12", "O9")
async def test_any_number_of_sweeps_tells_each_reminder_and_escalation_once(
    database: TestDatabase, pool: Pool, company: Company
) -> None:
    """Four instances at once: one fact each for what is open and due; none for what was answered, is over or comes later."""
    mia, max_ = company["mia"].principal, company["max"].principal
    both: dict[str, Any] = {"remind": {"after": 60}, "escalate": {"after": 120, "role": "owner"}}
    due = [(await open_question(pool, mia, company.north, now=ago(300), **both)).id for _ in range(15)]
    reminded = (await open_question(pool, mia, company.north, now=ago(90), **both)).id
    answered = (await open_question(pool, mia, company.north, now=ago(300), **both)).id
    await verbs.answer(pool, answer_command(max_, answered), trace=None)
    await open_question(pool, mia, company.north, now=ago(300), expires_in=200, **both)
    await open_question(pool, mia, company.north, **both)
    put_off = (await open_question(pool, mia, company.north)).id
    await attending.snooze(pool, snooze_command(max_, put_off, datetime.now(UTC) + timedelta(hours=1)), trace=None)
    await pool.execute("UPDATE question_marks SET snoozed_until = now()")
    before = await facts(pool, "reminded", "escalated", "unsnoozed")
    async with open_pool(database.role_url(Service.EXPIRY), size=4, name="expiry") as expiry:
        await asyncio.gather(*(Sweep(expiry, lambda _owner: None).remind() for _ in range(4)))
    assert await facts(pool, "reminded", "escalated", "unsnoozed") - before == Counter(
        [(one, "reminded") for one in [*due, reminded]] + [(one, "escalated") for one in due] + [(put_off, "unsnoozed")]
    )
    assert await attending.remind_due(pool) == await attending.escalate_due(pool) == await attending.unsnooze_due(pool) == []


@pytest.mark.requirement("Q12", "Q11")
async def test_a_reminder_makes_a_question_unseen_again_for_whom_it_names(pool: Pool, company: Company) -> None:
    """Seen by all three before it; after it, for everybody, for the owner's role, or for Max alone."""
    owner, mia, max_ = (company[name].principal for name in ("owner", "mia", "max"))
    whom: dict[str, dict[str, Any]] = {"all": {}, "role": {"role": "owner"}, "one": {"user_id": max_.user_id}}
    asked = {
        name: (await open_question(pool, mia, company.north, now=ago(10), remind={"after": 11, **to})).id
        for name, to in whom.items()
    }
    for by in (owner, mia, max_):
        await attending.mark_seen(pool, seen_command(by, *asked.values()), trace=None)
        assert await numbers(pool, by) == (3, 3, 0)
    await pool.execute("UPDATE questions SET remind_at = now()")
    unseen = {by.user_id: set(await for_me(pool, by, unseen=True)) for by in (owner, mia, max_)}
    assert unseen == {
        owner.user_id: {asked["all"], asked["role"]},
        mia.user_id: {asked["all"]},
        max_.user_id: {asked["all"], asked["one"]},
    }
    assert [(await numbers(pool, by))[2] for by in (owner, mia, max_)] == [2, 1, 2]
    await attending.mark_seen(pool, seen_command(mia, *asked.values()), trace=None)
    assert await numbers(pool, mia) == (3, 3, 0)


@pytest.mark.requirement("Q11", "Q10")
async def test_what_a_person_has_seen_or_put_off_is_theirs_alone(pool: Pool, company: Company) -> None:
    """Marked once, told once and to them; gone from what is for them until its time, and counted so; nobody else is touched."""
    mia, max_ = company["mia"].principal, company["max"].principal
    first, second = [(await open_question(pool, mia, company.north)).id for _ in range(2)]
    hidden = (await open_question(pool, company["owner"].principal, company.south)).id
    for _ in range(2):
        marked = await attending.mark_seen(pool, seen_command(max_, first, hidden), trace=None)
        assert marked.question_ids == (first,)
    later = datetime.now(UTC) + timedelta(hours=1)
    await attending.snooze(pool, snooze_command(max_, second, later), trace=None)
    assert (await numbers(pool, max_), await numbers(pool, mia)) == ((2, 1, 0), (2, 2, 2))
    assert (await for_me(pool, max_), await for_me(pool, max_, unseen=True)) == ([first], [])
    shown = await reads.get(pool, max_, second)
    assert (shown.seen, shown.snoozed_until, shown.may_answer) == (False, later, True)
    assert (await reads.get(pool, mia, second)).snoozed_until is None
    told = await pool.fetch(
        "SELECT fact, status, user_id FROM change_log WHERE user_id IS NOT NULL AND entity = 'question' ORDER BY seq"
    )
    assert [tuple(row) for row in told] == [
        ("question.seen", "open", max_.user_id),
        ("question.snoozed", "open", max_.user_id),
    ]
    await attending.snooze(pool, snooze_command(max_, second, None), trace=None)
    assert await numbers(pool, max_) == (2, 2, 1)
    await verbs.answer(pool, answer_command(mia, first), trace=None)
    assert await numbers(pool, max_) == (1, 1, 1)
    assert await pool.fetchval("SELECT count(*) FROM question_marks WHERE question_id = $1", first) == 0


@pytest.mark.requirement("Q12")
async def test_an_escalation_brings_back_what_was_put_off(pool: Pool, company: Company) -> None:
    """For those to whom it goes; who is not meant keeps it away."""
    owner, mia = company["owner"].principal, company["mia"].principal
    question = await open_question(pool, mia, company.north, now=ago(10), escalate={"after": 11, "role": "admin"})
    later = datetime.now(UTC) + timedelta(hours=1)
    for by in (owner, mia):
        await attending.snooze(pool, snooze_command(by, question.id, later), trace=None)
        assert await for_me(pool, by) == []
    await pool.execute("UPDATE questions SET escalate_at = now()")
    assert [await for_me(pool, by) for by in (owner, mia)] == [[question.id], []]
    assert [(await numbers(pool, by))[1:] for by in (owner, mia)] == [(1, 1), (0, 0)]


@pytest.mark.requirement("Q12", "Q9")
async def test_what_cannot_be_is_refused_with_what_to_do(pool: Pool, company: Company) -> None:
    """Somebody who could not answer, a time after the end, both or neither; marks of readers, of strangers, of what is settled."""
    mia, viewer = company["mia"].principal, company["viewer"].principal
    for field, whom in (("remind", viewer), ("escalate", company["stranger"].principal)):
        later: dict[str, Any] = {field: {"after": 60, "user_id": whom.user_id}}
        with pytest.raises(InvalidInput, match=f"{field}.user_id must be somebody who may answer"):
            await open_question(pool, mia, company.north, **later)
    wrongs: tuple[dict[str, Any], ...] = (
        {"remind": {"after": 60}, "expires_in": 60},
        {"escalate": {"after": 60}},
        {"escalate": {"after": 60, "role": "admin", "user_id": str(mia.user_id)}},
        {"escalate": {"after": 60, "role": "viewer"}},
    )
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"escalate|remind"):
            await open_question(pool, mia, company.north, **wrong)
    question = await open_question(pool, mia, company.north)
    soon = datetime.now(UTC) + timedelta(minutes=5)
    for by in (viewer, company["demo"].principal):
        with pytest.raises(PermissionDenied):
            await attending.mark_seen(pool, seen_command(by, question.id), trace=None)
        with pytest.raises(PermissionDenied):
            await attending.snooze(pool, snooze_command(by, question.id, soon), trace=None)
    for until in (ago(1), soon + timedelta(days=31)):
        with pytest.raises(InvalidInput, match="at most 30 days away"):
            await attending.snooze(pool, snooze_command(mia, question.id, until), trace=None)
    with pytest.raises(NotFound):
        await attending.snooze(pool, snooze_command(company["stranger"].principal, question.id, soon), trace=None)
    await verbs.cancel(pool, cancel_command(mia, question.id), trace=None)
    with pytest.raises(Conflict, match="cancelled already"):
        await attending.snooze(pool, snooze_command(mia, question.id, soon), trace=None)
    assert (await attending.mark_seen(pool, seen_command(mia, question.id), trace=None)).question_ids == ()


COUNTED_ONE_BY_ONE = """
    SELECT count(*)::int AS open,
           count(*) FILTER (WHERE v.may_answer AND NOT own AND k.snoozed_until IS NULL)::int AS for_me,
           count(*) FILTER (WHERE v.may_answer AND NOT own AND k.snoozed_until IS NULL AND k.seen IS NOT TRUE)::int AS unseen
      FROM questions_now q
      JOIN question_viewers v ON v.question_id = q.id AND v.user_id = $1
      LEFT JOIN question_marks_now k ON k.question_id = q.id AND k.user_id = $1
     CROSS JOIN LATERAL (SELECT $2::uuid IS NOT NULL AND q.token_id IS NOT NULL AND q.user_id = $1 AS own)
     WHERE q.state = 'open'"""


class Bustle:
    """People and agents who do what comes to their minds."""

    def __init__(self, seed: int, pool: Pool, company: Company, agents: list[Principal]) -> None:
        self.chance = random.Random(seed)
        self.pool = pool
        self.company = company
        self.people = [company[name].principal for name in ("owner", "admin", "mia", "max")]
        self.agents = agents
        self.asked: list[UUID] = []

    async def ask(self) -> None:
        chance = self.chance
        more: dict[str, Any] = {"expires_in": chance.choice([50, 3600])}
        if chance.random() < 0.5:
            more["assignee_id"] = chance.choice(self.people).user_id
        if chance.random() < 0.5:
            more["escalate"] = {"after": chance.choice([20, 40]), "role": chance.choice(["owner", "admin", "member"])}
        by = chance.choice([*self.people, *self.agents])
        question = await open_question(self.pool, by, self.company.north, now=ago(chance.choice([0, 30, 60])), **more)
        self.asked.append(question.id)

    async def settle(self) -> None:
        command = answer_command(self.chance.choice(self.people), self.chance.choice(self.asked))
        with suppress(Conflict, PermissionDenied, NotFound):
            await verbs.answer(self.pool, command, trace=None)

    async def mark(self) -> None:
        by, one, other = self.chance.choice(self.people), self.chance.choice(self.asked), self.chance.choice(self.asked)
        await attending.mark_seen(self.pool, seen_command(by, one), trace=None)
        with suppress(Conflict, NotFound):
            await attending.snooze(self.pool, snooze_command(by, other, datetime.now(UTC) + timedelta(hours=1)), trace=None)

    async def sweep(self) -> None:
        await verbs.expire_due(self.pool, batch=2)
        await attending.fold_tallies(self.pool, batch=self.chance.choice([3, 1000]))

    async def something(self) -> None:
        await self.chance.choice([self.ask] * 5 + [self.settle, self.mark] * 2 + [self.sweep])()


@pytest.mark.requirement("Q11", "O9")
@pytest.mark.parametrize("seed", SEEDS)
async def test_the_counts_are_those_of_a_count_one_by_one(seed: int, pool: Pool, company: Company) -> None:
    """Whatever was asked, answered, expired, escalated, seen and put off in any order, and however much of it was folded or swept."""
    bustle = Bustle(seed, pool, company, [(await give_token(pool, company[name])).principal for name in ("mia", "max")])
    chat = await open_question(pool, company["mia"].principal, company.north, turn_id=(await running_turn(pool, company)).id)
    bustle.asked.append(chat.id)
    for turn in range(80):
        await bustle.something()
        if turn % 10 == 9:
            for by in (*bustle.people, *bustle.agents):
                one_by_one = await pool.fetchrow(COUNTED_ONE_BY_ONE, by.user_id, by.token_id)
                assert one_by_one is not None
                counted = await reads.counts(pool, by)
                assert counted == QuestionCounts.model_validate(dict(one_by_one)), turn
                assert len(await for_me(pool, by, limit=200)) == counted.for_me, turn
                assert len(await for_me(pool, by, limit=200, unseen=True)) == counted.unseen, turn


@pytest.mark.requirement("O9")
async def test_tallies_are_folded_once_however_many_fold(database: TestDatabase, pool: Pool, company: Company) -> None:
    """Four at once over small batches: the sum stays, the rows become few."""
    mia, max_ = company["mia"].principal, company["max"].principal
    asked = [(await open_question(pool, mia, company.north, assignee_id=max_.user_id if n % 3 else None)).id for n in range(30)]
    for one in asked[:10]:
        await verbs.cancel(pool, cancel_command(mia, one), trace=None)
    async with open_pool(database.role_url(Service.EXPIRY), size=4, name="expiry") as expiry:

        async def fold() -> None:
            while await attending.fold_tallies(expiry, batch=5):
                pass

        await asyncio.gather(*(fold() for _ in range(4)))
        await attending.fold_tallies(expiry)
    assert await pool.fetchval("SELECT sum(open) FROM question_tallies") == 20
    assert await pool.fetchval("SELECT count(*) FROM question_tallies") < 20
    assert await numbers(pool, mia) == (20, 6, 6)
