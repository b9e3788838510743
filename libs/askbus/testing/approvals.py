"""Standing approvals to test with: one that covers Ada's new address, and a proposal of a conversation's or a token's own."""

from uuid import UUID, uuid4

from askbus.access.model import Principal, Role
from askbus.actions import verbs as actions
from askbus.actions.model import Action, ProposeChanges
from askbus.approvals import verbs
from askbus.approvals.cover import Cover, FieldCover, FieldWish, Wish
from askbus.approvals.model import DAY, Approval, MakeApproval, RevokeApproval, Terms
from askbus.db.ids import new_id
from askbus.db.statements import Executor
from askbus.records.changes import Change
from askbus.records.model import Kind
from askbus.testing.actions import prepared_action, propose_command
from askbus.testing.turns import RunningTurn

WISH = Wish(collection="customers", kinds=frozenset({Change.UPDATE}), fields=(FieldWish(field="email"),))
COVER = Cover(collection="customers", kinds=(Change.UPDATE,), fields=(FieldCover(field="email", kind=Kind.TEXT),), most_records=1)


async def standing_approval(
    db: Executor,
    by: Principal,
    project_id: UUID,
    *,
    thread_id: UUID | None = None,
    token_id: UUID | None = None,
    most_uses: int = 3,
    most_per_day: int | None = None,
    expires_in: int = DAY,
    confirm_role: Role = Role.MEMBER,
) -> Approval:
    """One for this conversation or token."""
    terms = Terms(
        project_id=project_id,
        thread_id=thread_id,
        token_id=token_id,
        allow=WISH,
        most_uses=most_uses,
        most_per_day=most_per_day,
        expires_in=expires_in,
    )
    approval_id = new_id()
    command = MakeApproval(command_id=approval_id, by=by, approval_id=approval_id, terms=terms)
    return await verbs.make(db, command, COVER, trace=None, confirm_role=confirm_role)


async def proposed_in(db: Executor, turn: RunningTurn, by: Principal | None = None) -> Action:
    """What the assistant proposes in a turn, as the tool-runner sends it; `by` is who began the turn, where not its person's session."""
    call_id = new_id()
    command = ProposeChanges(
        command_id=call_id,
        by=by or turn.person.principal,
        action_id=call_id,
        proposal=propose_command(turn.person.principal, turn.project_id).proposal,
        thread_id=turn.thread_id,
        turn_id=turn.id,
        call_id=call_id,
    )
    return await actions.propose(db, command, prepared_action(), trace=None)


async def use(db: Executor, action: Action, approval: Approval, **how: object) -> bool:
    return await verbs.confirm(db, action.id, approval.id, action.digest, trace=None, **how)  # type: ignore[arg-type]  # keywords of it


async def revoke(db: Executor, by: Principal, approval: Approval) -> Approval:
    return await verbs.revoke(db, RevokeApproval(command_id=uuid4(), by=by, approval_id=approval.id), trace=None)


async def stands(pool: Executor, action: Action, approval: Approval) -> tuple[str, int, int]:
    """The action's state, how often the approval was used, and how often a confirmation was audited."""
    row = await pool.fetchrow(
        "SELECT a.state::text, s.uses, (SELECT count(*) FROM audit_log l WHERE l.entity_id = a.id AND l.event = 'action.confirmed')"
        "  FROM actions a, standing_approvals s WHERE a.id = $1 AND s.id = $2",
        action.id,
        approval.id,
    )
    assert row is not None
    return tuple(row)
