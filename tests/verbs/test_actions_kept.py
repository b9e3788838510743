"""How actions are stored, found again, swept, told and listed."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest

from askbus.access.model import Principal
from askbus.actions import reads, verbs
from askbus.actions.model import (
    Action,
    ActionFilter,
    ActionState,
    ConfirmAction,
    UndoAction,
    WithdrawAction,
)
from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.errors import InvalidInput
from askbus.records.changes import OutcomeState
from askbus.testing.actions import action_in, outcome_of, pending_action, prepared_action, propose_command
from askbus.testing.people import Company, give_token
from askbus.testing.servers import TestDatabase


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


@pytest.mark.requirement("R22")
async def test_a_dedupe_key_stands_for_one_action_of_its_proposer(pool: Pool, company: Company) -> None:
    """Twenty at once make one row, in any state it is found again; another proposer's same key is another's."""
    mia, max_ = company["mia"].principal, company["max"].principal
    made = await asyncio.gather(*(pending_action(pool, mia, company.north, dedupe_key="ada") for _ in range(20)))
    assert len({action.id for action in made}) == 1
    await verbs.withdraw(pool, WithdrawAction(command_id=uuid4(), by=mia, action_id=made[0].id), trace=None)
    again = await verbs.known(pool, propose_command(mia, company.north, dedupe_key="ada"))
    assert again is not None
    assert (again.id, again.state) == (made[0].id, ActionState.WITHDRAWN)
    assert await verbs.known(pool, propose_command(max_, company.north, dedupe_key="ada")) is None
    assert (await audited(pool, made[0].id)).count("action.proposed") == 1


async def test_an_id_is_one_proposers_and_one_projects(pool: Pool, company: Company) -> None:
    """Sent again it finds the action; sent by another, or for another project, it is refused and shows nothing."""
    owner, admin = company["owner"].principal, company["admin"].principal
    action = await pending_action(pool, owner, company.north)
    same = propose_command(owner, company.north, action_id=action.id)
    assert (await verbs.propose(pool, same, prepared_action("other@example.org"), trace=None)).digest == action.digest
    for by, project in ((admin, company.north), (owner, company.south)):
        with pytest.raises(InvalidInput):
            await verbs.propose(pool, propose_command(by, project, action_id=action.id), prepared_action(), trace=None)
        with pytest.raises(InvalidInput):
            await verbs.known(pool, propose_command(by, project, action_id=action.id))


@pytest.mark.requirement("R16")
async def test_an_outcome_is_copied_once(pool: Pool, company: Company) -> None:
    """However often and in whatever state it comes: the first copy stays, with one fact, and without sealed hashes."""
    mia = company["mia"].principal
    action = await action_in(pool, ActionState.CONFIRMED, mia, mia, company.north)
    outcomes = [OutcomeState.APPLIED, OutcomeState.FAILED] * 5
    copies = [verbs.record_outcome(pool, action.id, outcome_of(action.id, state), trace=None) for state in outcomes]
    moved = await asyncio.gather(*copies)
    assert moved.count(True) == 1
    assert [fact for fact in await facts(pool, action.id) if fact in {"action.applied", "action.failed"}] == [
        f"action.{(await state_of(pool, action.id)).value}"
    ]
    stored = await pool.fetchval("SELECT outcome::text FROM actions WHERE id = $1", action.id)
    assert "5e5e" not in stored


async def test_the_sweep_takes_up_what_rests_once_and_not_what_is_fresh(pool: Pool, company: Company) -> None:
    """Four instances at once share the resting rows; what one took up is left alone for as long again."""
    mia = company["mia"].principal
    resting = [await action_in(pool, ActionState.CONFIRMED, mia, mia, company.north) for _ in range(6)]
    applied = await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
    undo = await verbs.request_undo(pool, undo_command(mia, applied), trace=None)
    assert await verbs.wake_confirmed(pool, rested=60) == []
    await pool.execute("UPDATE actions SET decided_at = decided_at - interval '2 minutes' WHERE state = 'confirmed'")
    await pool.execute("UPDATE undos SET requested_at = requested_at - interval '2 minutes'")
    taken = await asyncio.gather(*(verbs.wake_confirmed(pool, rested=60, batch=3) for _ in range(4)))
    assert sorted(one for batch in taken for one in batch) == sorted(action.id for action in resting)
    assert await verbs.wake_confirmed(pool, rested=60) == []
    assert await verbs.wake_undos(pool, rested=60) == [undo.id]
    assert await verbs.wake_undos(pool, rested=60) == []


@pytest.mark.requirement("R22")
async def test_what_a_token_has_not_heard_stays_untold(pool: Pool, company: Company) -> None:
    """Until it acknowledges, by how far it is: saying it twice hides nothing. What a person proposed, or a chat, is told to no token."""
    mia = company["mia"].principal
    token = (await give_token(pool, company["mia"])).principal
    action = await action_in(pool, ActionState.UNDONE, token, mia, company.north)
    await action_in(pool, ActionState.APPLIED, mia, mia, company.north)
    told = (await reads.untold(pool, token)).told
    assert [(one.action.id, one.untold) for one in told] == [(action.id, 2)]
    for _time in range(2):
        await verbs.acknowledge(pool, action.id, token.id, 1)
        assert [one.untold for one in (await reads.untold(pool, token)).told] == [1]
    await verbs.acknowledge(pool, action.id, token.id, 5)
    assert (await reads.untold(pool, token)).told == ()


async def test_pages_are_newest_first_and_complete(pool: Pool, company: Company) -> None:
    """Page after page brings each action once, also where many were proposed in one moment."""
    mia = company["mia"].principal
    made = [await pending_action(pool, mia, company.north) for _ in range(7)]
    await pool.execute("UPDATE actions SET proposed_at = now(), expires_at = now() + interval '1 hour'")
    seen: list[UUID] = []
    before: UUID | None = None
    for _page in range(4):
        page = await reads.list_page(pool, mia, ActionFilter(limit=2, before=before))
        seen += [action.id for action in page.actions]
        before = page.next
    assert sorted(seen) == sorted(action.id for action in made)
    assert len(seen) == len(set(seen))


@pytest.mark.requirement("I7")
async def test_expiry_may_expire_actions_and_nothing_else(database: TestDatabase, pool: Pool, company: Company) -> None:
    """The database itself holds each service to its own columns."""
    mia = company["mia"].principal
    action = await pending_action(pool, mia, company.north)
    async with open_pool(database.role_url(Service.EXPIRY), size=1, name="expiry") as expiry:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await verbs.confirm(expiry, confirm_command(mia, action), trace=None)
        assert await verbs.expire_due(expiry, now=action.expires_at) == [action.id]
    async with open_pool(database.role_url(Service.GATEWAY), size=1, name="gateway") as gateway:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pending_action(gateway, mia, company.north)


@pytest.mark.parametrize(
    "nonsense",
    [
        "state = 'applied'",
        "state = 'confirmed'",
        "decided_by = user_id",
        "outcome = '{}'",
        "settled_at = now()",
        "operations = '[]'",
        "turn_id = id",
        "expires_at = proposed_at",
    ],
)
async def test_nonsense_cannot_be_stored(nonsense: str, pool: Pool, company: Company) -> None:
    """A pending action cannot be made into a contradiction, whoever tries."""
    action = await pending_action(pool, company["mia"].principal, company.north)
    with pytest.raises(asyncpg.CheckViolationError):
        await pool.execute(f"UPDATE actions SET {nonsense} WHERE id = $1", action.id)
