"""Actions, statement by statement."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from askbus.access.model import Principal
from askbus.actions import verbs
from askbus.actions.model import (
    MOVES,
    Action,
    ActionState,
    ActionVerb,
    ConfirmAction,
    RejectAction,
    UndoAction,
    UndoState,
    WithdrawAction,
)
from askbus.db.pool import Pool
from askbus.errors import Conflict, NotFound, PermissionDenied
from askbus.records.changes import OutcomeState
from askbus.testing.actions import action_in, outcome_of, pending_action
from askbus.testing.people import Company, give_token


def confirm_command(by: Principal, action: Action, digest: str | None = None) -> ConfirmAction:
    return ConfirmAction(command_id=uuid4(), by=by, action_id=action.id, digest=digest or action.digest)


def undo_command(by: Principal, action: Action) -> UndoAction:
    return UndoAction(command_id=uuid4(), by=by, action_id=action.id, undo_id=uuid4())


async def state_of(pool: Pool, action_id: UUID) -> ActionState:
    return ActionState(await pool.fetchval("SELECT state FROM actions WHERE id = $1", action_id))


async def audited(pool: Pool, action_id: UUID) -> list[str]:
    rows = await pool.fetch("SELECT event FROM audit_log WHERE entity_id = $1 ORDER BY id", action_id)
    return [row["event"] for row in rows]


async def facts(pool: Pool, action_id: UUID) -> list[str]:
    rows = await pool.fetch("SELECT fact FROM change_log WHERE entity_id = $1 ORDER BY seq", action_id)
    return [row["fact"] for row in rows]


async def do(pool: Pool, verb: ActionVerb, action: Action, by: Principal, decider: Principal) -> object:
    """What each verb is called as. Where nothing moves, a verb that people use raises; the machine's return False or nothing."""

    async def undo() -> object:
        undo = await verbs.request_undo(pool, undo_command(decider, action), trace=None)
        return await verbs.record_undo(pool, undo.id, outcome_of(action.id, OutcomeState.UNDONE, row_id=undo.id), trace=None)

    def record(state: OutcomeState) -> Callable[[], Awaitable[object]]:
        return lambda: verbs.record_outcome(pool, action.id, outcome_of(action.id, state), trace=None)

    rejection = RejectAction(command_id=uuid4(), by=decider, action_id=action.id, reason="no")
    withdrawal = WithdrawAction(command_id=uuid4(), by=by, action_id=action.id)
    ways: Mapping[ActionVerb, Callable[[], Awaitable[object]]] = {
        ActionVerb.CONFIRM: lambda: verbs.confirm(pool, confirm_command(decider, action), trace=None),
        ActionVerb.REJECT: lambda: verbs.reject(pool, rejection, trace=None),
        ActionVerb.WITHDRAW: lambda: verbs.withdraw(pool, withdrawal, trace=None),
        ActionVerb.EXPIRE: lambda: verbs.expire_due(pool, now=action.expires_at),
        ActionVerb.APPLY: record(OutcomeState.APPLIED),
        ActionVerb.FAIL: record(OutcomeState.FAILED),
        ActionVerb.CONFLICT: record(OutcomeState.CONFLICTED),
        ActionVerb.UNDO: undo,
    }
    return await ways[verb]()


@pytest.mark.requirement("R14")
@pytest.mark.parametrize("state", list(ActionState))
async def test_every_verb_moves_what_the_table_of_moves_says_and_nothing_else(
    state: ActionState, pool: Pool, company: Company
) -> None:
    """Each of the eight verbs on an action in this state: moved with a fact and an audit row, or left as it was with neither."""
    mia, max_ = company["mia"].principal, company["max"].principal
    for verb in ActionVerb:
        action = await action_in(pool, state, mia, max_, company.north)
        before = await audited(pool, action.id), await facts(pool, action.id)
        wanted = MOVES.get((state, verb))
        try:
            await do(pool, verb, action, mia, max_)
        except Conflict as conflict:
            assert wanted is None
            shown = conflict.details["action"]
            assert isinstance(shown, dict)
            assert shown["state"] == state
        assert await state_of(pool, action.id) is (wanted or state), f"{verb.value} on {state.value}"
        moved = len(await audited(pool, action.id)) > len(before[0]), len(await facts(pool, action.id)) > len(before[1])
        assert moved == (wanted is not None, wanted is not None), f"{verb.value} on {state.value}"


@pytest.mark.requirement("R14")
async def test_the_expiry_moment_belongs_to_expiry(pool: Pool, company: Company) -> None:
    """At that very moment nothing can be decided any more, swept or not, and the refusal says that it is expired."""
    mia = company["mia"].principal
    action = await pending_action(pool, mia, company.north)
    with pytest.raises(Conflict) as refused:
        await verbs.confirm(pool, confirm_command(mia, action), trace=None, now=action.expires_at)
    assert isinstance(shown := refused.value.details["action"], dict)
    assert shown["state"] == "expired"
    assert await state_of(pool, action.id) is ActionState.PENDING
    almost = action.expires_at - timedelta(microseconds=1)
    assert await verbs.expire_due(pool, now=almost) == []
    confirmed = await verbs.confirm(pool, confirm_command(mia, action), trace=None, now=almost)
    assert confirmed.state is ActionState.CONFIRMED
    assert await verbs.expire_due(pool, now=action.expires_at) == []


@pytest.mark.requirement("R14")
async def test_a_decision_on_something_else_than_was_shown_is_refused_with_the_card(pool: Pool, company: Company) -> None:
    """Whoever names another digest gets what the action would really change."""
    mia = company["mia"].principal
    action = await pending_action(pool, mia, company.north)
    with pytest.raises(Conflict) as refused:
        await verbs.confirm(pool, confirm_command(mia, action, digest="0" * 64), trace=None)
    assert isinstance(shown := refused.value.details["action"], dict)
    assert (shown["state"], shown["digest"]) == ("pending", action.digest)
    assert isinstance(card := refused.value.details["card"], list)
    assert isinstance(card[0], dict)
    assert card[0]["label"] == "Ada Lovelace"
    assert await state_of(pool, action.id) is ActionState.PENDING


@pytest.mark.requirement("R14")
async def test_only_people_who_may_write_decide(pool: Pool, company: Company) -> None:
    """Viewers, demo users and tokens are refused; whoever does not see the project is told that there is nothing."""
    action = await pending_action(pool, company["mia"].principal, company.north)
    token = (await give_token(pool, company["owner"])).principal
    for by in (company["viewer"].principal, company["demo"].principal, token):
        with pytest.raises(PermissionDenied):
            await verbs.confirm(pool, confirm_command(by, action), trace=None)
        with pytest.raises(PermissionDenied):
            await verbs.reject(pool, RejectAction(command_id=uuid4(), by=by, action_id=action.id), trace=None)
    hidden = await pending_action(pool, company["owner"].principal, company.south)
    for by, unseen in ((company["stranger"].principal, action), (company["mia"].principal, hidden)):
        with pytest.raises(NotFound):
            await verbs.confirm(pool, confirm_command(by, unseen), trace=None)
        with pytest.raises(NotFound):
            await verbs.request_undo(pool, undo_command(by, unseen), trace=None)
    assert await state_of(pool, action.id) is ActionState.PENDING


@pytest.mark.requirement("R14", "I3")
async def test_a_session_decides_in_its_own_workspace_alone(pool: Pool, company: Company) -> None:
    """A person of two workspaces who is signed in to one does not reach the other with it."""
    action = await pending_action(pool, company["mia"].principal, company.north)
    elsewhere = company["mia"].principal.model_copy(update={"workspace_id": company["stranger"].principal.workspace_id})
    with pytest.raises(NotFound):
        await verbs.confirm(pool, confirm_command(elsewhere, action), trace=None)


async def test_the_same_command_gets_the_same_success(pool: Pool, company: Company) -> None:
    """Also when the action has moved on since; another command, and the same one as another verb, do not."""
    mia = company["mia"].principal
    action = await pending_action(pool, mia, company.north)
    command = confirm_command(mia, action)
    assert (await verbs.confirm(pool, command, trace=None)).state is ActionState.CONFIRMED
    await verbs.record_outcome(pool, action.id, outcome_of(action.id, OutcomeState.APPLIED), trace=None)
    assert (await verbs.confirm(pool, command, trace=None)).state is ActionState.APPLIED
    assert (await audited(pool, action.id)).count("action.confirmed") == 1
    with pytest.raises(Conflict):
        await verbs.confirm(pool, confirm_command(mia, action), trace=None)
    with pytest.raises(Conflict):
        await verbs.reject(pool, RejectAction(command_id=command.command_id, by=mia, action_id=action.id), trace=None)


@pytest.mark.requirement("R17")
async def test_of_many_undos_one_is_requested(pool: Pool, company: Company) -> None:
    """Nineteen learn that it is being undone already; once it is refused, another may be asked for."""
    mia = company["mia"].principal
    action = await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
    asked = [verbs.request_undo(pool, undo_command(mia, action), trace=None) for _ in range(20)]
    results = await asyncio.gather(*asked, return_exceptions=True)
    won = [result for result in results if not isinstance(result, BaseException)]
    assert len(won) == 1
    assert all(isinstance(result, Conflict) for result in results if result is not won[0])
    refusal = outcome_of(action.id, OutcomeState.REFUSED, row_id=won[0].id)
    assert await verbs.record_undo(pool, won[0].id, refusal, trace=None)
    assert not await verbs.record_undo(pool, won[0].id, refusal, trace=None)
    assert await state_of(pool, action.id) is ActionState.APPLIED
    again = await verbs.request_undo(pool, undo_command(mia, action), trace=None)
    assert again.state is UndoState.REQUESTED
    assert (await facts(pool, action.id))[-3:] == ["action.undo_requested", "action.undo_refused", "action.undo_requested"]


@pytest.mark.requirement("R17")
async def test_asking_for_undos_while_one_is_being_copied_never_deadlocks(pool: Pool, company: Company) -> None:
    """Both lock the action first."""
    mia = company["mia"].principal
    for _ in range(10):
        action = await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
        undo = await verbs.request_undo(pool, undo_command(mia, action), trace=None)
        outcome = outcome_of(action.id, OutcomeState.REFUSED, row_id=undo.id)
        results = await asyncio.gather(
            verbs.record_undo(pool, undo.id, outcome, trace=None),
            *(verbs.request_undo(pool, undo_command(mia, action), trace=None) for _ in range(3)),
            return_exceptions=True,
        )
        assert results[0] is True
        assert not [result for result in results if isinstance(result, asyncpg.PostgresError)]
