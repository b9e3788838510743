"""Standing approvals at the statement: every condition alone stands against a use, and what happens at the same moment is in one order."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import product
from uuid import uuid4

import pytest

from askbus.access import verbs as access
from askbus.access.model import Role
from askbus.actions.model import Action
from askbus.approvals import reads, verbs
from askbus.approvals.model import MOVES, Approval, ApprovalState, ApprovalVerb, MakeApproval, RevokeApproval
from askbus.db.ids import new_id
from askbus.db.pool import Connection, Pool
from askbus.db.statements import Executor
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from askbus.testing.actions import pending_action
from askbus.testing.approvals import COVER, proposed_in, revoke, standing_approval, stands, use
from askbus.testing.people import Company, give_token
from askbus.testing.turns import RunningTurn

pytestmark = pytest.mark.requirement("R20")

MICROSECOND = timedelta(microseconds=1)


@asynccontextmanager
async def for_a_moment(pool: Pool) -> AsyncIterator[Connection]:
    """A transaction that is taken back, so that one scene does for many moments."""
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        yield connection
        await transaction.rollback()


Sabotage = Callable[[Executor, RunningTurn, Action, Approval], Awaitable[object]]


def sql(statement: str) -> Sabotage:
    """`$1` is the action, `$2` the approval; the statement names what it needs of them."""

    async def run(pool: Executor, _turn: RunningTurn, action: Action, approval: Approval) -> object:
        return await pool.execute(statement.replace("$1", f"'{action.id}'").replace("$2", f"'{approval.id}'"))

    return run


AGAINST: dict[str, Sabotage] = {
    "the action was decided": sql("UPDATE actions SET state = 'withdrawn', settled_at = now() WHERE id = $1"),
    "the action is past its time": sql(
        "UPDATE actions SET proposed_at = proposed_at - interval '2 days', expires_at = now() WHERE id = $1"
    ),
    "the action was weighed before": sql("UPDATE actions SET weighed_at = now() WHERE id = $1"),
    "the action is not what was looked at": sql("UPDATE actions SET digest = 'another' WHERE id = $1"),
    "the approval was revoked": sql("UPDATE standing_approvals SET state = 'revoked', ended_at = now() WHERE id = $2"),
    "the approval is past its time": sql(
        "UPDATE standing_approvals SET made_at = made_at - interval '1 day', expires_at = now() WHERE id = $2"
    ),
    "the approval is used up": sql(
        "UPDATE standing_approvals SET uses = most_uses, state = 'used_up', ended_at = now() WHERE id = $2"
    ),
    "the day's uses are used up": sql("UPDATE standing_approvals SET most_per_day = 1, used_at = ARRAY[now()] WHERE id = $2"),
    "the approval is younger than the proposal": sql(
        "UPDATE standing_approvals SET made_at = now() + interval '1 minute', expires_at = now() + interval '1 day' WHERE id = $2"
    ),
    "it is another conversation's": sql("UPDATE standing_approvals SET thread_id = uuidv7() WHERE id = $2"),
    "it is another project's": sql(
        "UPDATE standing_approvals SET project_id = (SELECT id FROM projects p WHERE p.workspace_id = standing_approvals.workspace_id"
        " AND p.id <> project_id) WHERE id = $2"
    ),
    "somebody else made it": sql("UPDATE standing_approvals SET user_id = uuidv7() WHERE id = $2"),
    "no call of the assistant proposed it": sql("UPDATE actions SET call_id = NULL WHERE id = $1"),
    "its maker became a viewer": lambda pool, turn, _action, _approval: access.set_member(
        pool, turn.workspace_id, turn.person.id, Role.VIEWER
    ),
    "its maker became a demo user": lambda pool, turn, _action, _approval: access.set_member(
        pool, turn.workspace_id, turn.person.id, Role.MEMBER, demo=True
    ),
    "its maker left the project": lambda pool, turn, _action, _approval: access.remove_from_project(
        pool, turn.workspace_id, turn.project_id, turn.person.id
    ),
    "its maker left the workspace": lambda pool, turn, _action, _approval: access.remove_member(
        pool, turn.workspace_id, turn.person.id
    ),
}


async def test_each_condition_alone_stands_against_it(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """The action is not confirmed, and the approval is not used; without any of them it would be."""
    approval = await standing_approval(pool, turn.person.principal, company.north, thread_id=turn.thread_id)
    action = await proposed_in(pool, turn)
    for why, sabotage in AGAINST.items():
        async with for_a_moment(pool) as moment:
            await sabotage(moment, turn, action, approval)
            before = await stands(moment, action, approval)
            assert not await use(moment, action, approval), why
            assert await stands(moment, action, approval) == before, why
    assert await use(pool, action, approval)


async def test_with_none_of_them_it_is_confirmed_once_in_its_makers_name(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """By the maker, through the approval, in one audited row; a second look changes nothing. Where a role is asked, theirs counts."""
    mia = turn.person.principal
    approval = await standing_approval(pool, mia, company.north, thread_id=turn.thread_id)
    action = await proposed_in(pool, turn)
    assert not await use(pool, action, approval, confirm_role=Role.ADMIN)
    assert await use(pool, action, approval)
    assert not await use(pool, action, approval)
    assert await stands(pool, action, approval) == ("confirmed", 1, 1)
    row = await pool.fetchrow("SELECT decided_by, approval_id, confirmed, decisions FROM actions WHERE id = $1", action.id)
    assert tuple(row or ()) == (mia.user_id, approval.id, None, None)
    told = "SELECT via, via_id, user_id FROM audit_log WHERE entity_id = $1 AND event = 'action.confirmed'"
    assert [tuple(each) for each in await pool.fetch(told, action.id)] == [("standing-approval", approval.id, mia.user_id)]


async def test_a_conversations_approval_is_for_what_its_person_asked_there(
    pool: Pool, company: Company, turn: RunningTurn
) -> None:
    """Not for a turn that a token of theirs began in it, and not for what they propose outside; a token's is for that token alone."""
    mia = turn.person
    robot, other = await give_token(pool, mia), await give_token(pool, mia)
    here = await standing_approval(pool, mia.principal, company.north, thread_id=turn.thread_id)
    by_robot = await standing_approval(pool, mia.principal, company.north, token_id=robot.id)
    spoken = await proposed_in(pool, turn)
    through = await proposed_in(pool, turn, robot.principal)
    straight = await pending_action(pool, robot.principal, company.north)
    others = await pending_action(pool, other.principal, company.north)
    own = await pending_action(pool, mia.principal, company.north)
    fitting = {
        (action.id, each.id)
        for action in (spoken, through, straight, others, own)
        for each in await reads.candidates(pool, action.id)
    }
    assert fitting == {(spoken.id, here.id), (through.id, by_robot.id), (straight.id, by_robot.id)}
    for action, approval in product((through, straight, others, own), (here,)):
        assert not await use(pool, action, approval)
    assert await use(pool, straight, by_robot)
    await access.revoke_token(pool, mia.principal, robot.id, trace=None)
    assert not await use(pool, through, by_robot)
    ended = await reads.get(pool, mia.principal, by_robot.id)
    assert (ended.state, ended.uses, ended.revoked_by) == (ApprovalState.REVOKED, 1, None)


async def test_its_time_ends_at_the_moment_and_its_days_roll(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """A microsecond before it holds, at the moment it does not, swept or not; two uses a day are two in any 24 hours."""
    mia = turn.person.principal
    approval = await standing_approval(
        pool, mia, company.north, thread_id=turn.thread_id, most_uses=10, most_per_day=2, expires_in=7 * 86400
    )
    await pool.execute("UPDATE actions SET expires_at = proposed_at + interval '30 days'")
    made = [await proposed_in(pool, turn) for _ in range(6)]
    await pool.execute("UPDATE actions SET expires_at = proposed_at + interval '30 days'")
    first = made[-1].proposed_at
    day, hour = timedelta(days=1), timedelta(hours=1)
    times = (first, first + hour, first + 2 * hour, first + day - MICROSECOND, first + day, first + day + hour - MICROSECOND)
    held = [await use(pool, action, approval, now=now) for action, now in zip(made, times, strict=True)]
    assert held == [True, True, False, False, True, False]
    assert await use(pool, made[5], approval, now=first + day + hour)
    assert not await use(pool, made[2], approval, now=approval.expires_at)
    assert await verbs.expire_due(pool, now=approval.expires_at - MICROSECOND) == []
    assert await use(pool, made[3], approval, now=approval.expires_at - MICROSECOND)
    assert await verbs.expire_due(pool, now=approval.expires_at) == [approval.id]
    assert (await reads.get(pool, mia, approval.id)).state is ApprovalState.EXPIRED


async def approval_in(db: Executor, state: ApprovalState, turn: RunningTurn) -> Approval:
    """An approval that came to this state, with one use left while it is active."""
    mia = turn.person.principal
    uses = 2 if state is ApprovalState.ACTIVE else 1
    approval = await standing_approval(db, mia, turn.project_id, thread_id=turn.thread_id, most_uses=uses)
    if state is ApprovalState.REVOKED:
        await revoke(db, mia, approval)
    elif state is ApprovalState.EXPIRED:
        await verbs.expire_due(db, now=approval.expires_at)
    elif state is ApprovalState.USED_UP:
        assert await use(db, await proposed_in(db, turn), approval)
    return approval


async def move(db: Executor, turn: RunningTurn, approval: Approval, verb: ApprovalVerb) -> None:
    if verb is ApprovalVerb.USE:
        await use(db, await proposed_in(db, turn), approval)
    elif verb is ApprovalVerb.USE_LAST:
        for _ in range(2):
            await use(db, await proposed_in(db, turn), approval)
    elif verb is ApprovalVerb.REVOKE:
        await revoke(db, turn.person.principal, approval)
    elif verb is ApprovalVerb.END:
        await db.execute("DELETE FROM threads WHERE id = $1", turn.thread_id)
    else:
        await verbs.expire_due(db, now=approval.expires_at)


@pytest.mark.parametrize("state", ApprovalState)
async def test_every_verb_moves_it_as_the_table_says(state: ApprovalState, pool: Pool, turn: RunningTurn) -> None:
    """Whatever is not in the table does not happen, and who asked for it is told."""
    mia = turn.person.principal
    approval = await approval_in(pool, state, turn)
    before = await reads.get(pool, mia, approval.id)
    for verb in ApprovalVerb:
        async with for_a_moment(pool) as moment:
            if verb is ApprovalVerb.REVOKE and (state, verb) not in MOVES:
                with pytest.raises(Conflict):
                    await move(moment, turn, approval, verb)
            else:
                await move(moment, turn, approval, verb)
            after = await reads.get(moment, mia, approval.id)
            assert after.state is MOVES.get((state, verb), state), verb
            assert (after == before) is ((state, verb) not in MOVES), verb


@pytest.mark.requirement("I4", "I3")
async def test_a_person_makes_one_for_what_is_their_own(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """No token does, no viewer, nobody for another's conversation or token, and not where confirming takes a higher role; twice is once."""
    mia, max_, owner = (company[name].principal for name in ("mia", "max", "owner"))
    robot = await give_token(pool, company["mia"])
    narrow = await give_token(pool, company["owner"], projects=(company.south,))
    with pytest.raises(PermissionDenied):
        await standing_approval(pool, robot.principal, company.north, token_id=robot.id)
    with pytest.raises(PermissionDenied):
        await standing_approval(pool, company["viewer"].principal, company.north, thread_id=turn.thread_id)
    for by, project, thread_id, token_id in (
        (max_, company.north, turn.thread_id, None),
        (owner, company.north, turn.thread_id, None),
        (owner, company.north, None, robot.id),
        (owner, company.north, None, narrow.id),
        (mia, company.south, turn.thread_id, None),
        (company["stranger"].principal, company.north, turn.thread_id, None),
    ):
        with pytest.raises(NotFound):
            await standing_approval(pool, by, project, thread_id=thread_id, token_id=token_id)
    with pytest.raises(NotFound):
        await standing_approval(pool, mia, company.north, thread_id=turn.thread_id, confirm_role=Role.ADMIN)
    approval = await standing_approval(pool, mia, company.north, thread_id=turn.thread_id)
    terms = (await reads.get(pool, mia, approval.id)).model_dump(include={"project_id", "thread_id", "most_uses"})
    allow = {"collection": "customers", "kinds": ["update"], "fields": [{"field": "email"}]}
    again = MakeApproval.model_validate(
        {
            "command_id": approval.id,
            "by": mia,
            "approval_id": approval.id,
            "terms": {**terms, "allow": allow, "expires_in": 60},
        }
    )
    assert await verbs.make(pool, again, COVER, trace=None) == approval
    with pytest.raises(InvalidInput):
        await verbs.make(pool, again.model_copy(update={"by": max_, "command_id": new_id()}), COVER, trace=None)
    assert await pool.fetchval("SELECT count(*) FROM audit_log WHERE event = 'standing_approval.made'") == 1


@pytest.mark.requirement("I3")
async def test_its_maker_and_those_who_run_the_workspace_revoke_it(pool: Pool, company: Company, turn: RunningTurn) -> None:
    """A colleague sees it and may not; a stranger does not see it; the same command again finds it done."""
    mia = turn.person.principal
    approval = await standing_approval(pool, mia, company.north, thread_id=turn.thread_id)
    for who, refusal in (("max", PermissionDenied), ("viewer", PermissionDenied), ("stranger", NotFound)):
        with pytest.raises(refusal):
            await revoke(pool, company[who].principal, approval)
    command = RevokeApproval(command_id=uuid4(), by=company["admin"].principal, approval_id=approval.id)
    for _ in range(2):
        assert (await verbs.revoke(pool, command, trace=None)).state is ApprovalState.REVOKED
    with pytest.raises(Conflict):
        await revoke(pool, mia, approval)
    assert (await reads.get(pool, mia, approval.id)).revoked_by_name == "admin"
    events = await pool.fetch("SELECT event, via FROM audit_log WHERE entity_id = $1 ORDER BY at", approval.id)
    assert [tuple(row) for row in events] == [("standing_approval.made", "session"), ("standing_approval.revoked", "session")]
