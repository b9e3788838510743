"""The action-applier's commands, one handler each."""

from collections.abc import Sequence

from askbus.access.model import Role
from askbus.actions import reads, turn_undo, undoing, verbs
from askbus.actions.again import operations_again, to_the_letter
from askbus.actions.card import result_of
from askbus.actions.deciding import decide
from askbus.actions.decisions import Decision, decided_on, edited_of
from askbus.actions.model import (
    Action,
    ActionState,
    ConfirmAction,
    DecideAction,
    PreviewUndo,
    Proposal,
    ProposeAgain,
    ProposeChanges,
    RejectAction,
    Undo,
    UndoAction,
    UndoPreview,
    WithdrawAction,
)
from askbus.actions.turn_undo import Asked, PreviewUndoTurn, TurnUndoPreview, UndoTurn
from askbus.db.pool import Pool
from askbus.errors import Conflict, TooLarge
from askbus.records.changes import Outcome, PreparedOperation
from askbus.records.propose import prepare
from askbus.records.undo import rehearse, undo
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus_action_applier.target import Target

LARGEST_STORED = 4 << 20
"""Bytes of one action's operations with the values that they replace."""


class Handlers:
    """Every decision about an action, each one statement on `pool`. What is confirmed is applied later, by its fact."""

    def __init__(self, pool: Pool, target: Target, confirm_role: Role) -> None:
        self.pool = pool
        self.target = target
        self.confirm_role = confirm_role

    async def on_propose_changes(self, command: ProposeChanges) -> Action:
        """Validated against the live schema before it is stored; a second look at the same proposal finds the first."""
        return await self._propose(command, ())

    async def _propose(self, command: ProposeChanges, exactly: Sequence[PreparedOperation]) -> Action:
        if (found := await verbs.known(self.pool, command)) is not None:
            return found
        prepared = await prepare(
            self.target.within(command.proposal.project_id), command.by, command.proposal.operations, self.target.presentation
        )
        if exactly:
            prepared = to_the_letter(prepared, exactly)
        _refuse_large(prepared.operations)
        crash.point("applier.propose.before_commit")
        action = await verbs.propose(self.pool, command, prepared, trace=traceparent())
        crash.point("applier.propose.after_commit")
        return action

    async def on_confirm_action(self, command: ConfirmAction) -> Action:
        _ = self.target.records  # without a database nothing could be applied, so nothing is confirmed
        crash.point("applier.confirm.before_commit")
        action = await verbs.confirm(self.pool, command, trace=traceparent(), confirm_role=self.confirm_role)
        crash.point("applier.confirm.after_commit")
        return action

    async def on_decide_action(self, command: DecideAction) -> Action:
        """Edited values are validated as those of a proposal are, with the rights of whoever edits."""
        _ = self.target.records
        verbs.require_person(command.by)
        action, operations = await reads.to_decide(self.pool, command.by, command.action_id)
        decision: Decision | None = None
        if action.state is ActionState.PENDING and action.digest == command.digest:
            prepared: Sequence[PreparedOperation] = ()
            if edited := edited_of(operations, command.decisions):
                prepared = (
                    await prepare(self.target.within(action.project_id), command.by, edited, self.target.presentation)
                ).operations
            decision = decided_on(operations, command.decisions, prepared)
            _refuse_large(decision.confirmed)
        action = await decide(self.pool, command, decision, trace=traceparent(), confirm_role=self.confirm_role)
        crash.point("applier.decide.after_commit")
        return action

    async def on_reject_action(self, command: RejectAction) -> Action:
        crash.point("applier.reject.before_commit")
        action = await verbs.reject(self.pool, command, trace=traceparent())
        crash.point("applier.reject.after_commit")
        return action

    async def on_withdraw_action(self, command: WithdrawAction) -> Action:
        crash.point("applier.withdraw.before_commit")
        action = await verbs.withdraw(self.pool, command, trace=traceparent())
        crash.point("applier.withdraw.after_commit")
        return action

    async def on_undo_action(self, command: UndoAction) -> Undo:
        _ = self.target.records
        crash.point("applier.undo.before_commit")
        requested = await verbs.request_undo(self.pool, command, trace=traceparent())
        crash.point("applier.undo.after_commit")
        return requested

    async def on_preview_undo(self, command: PreviewUndo) -> UndoPreview:
        """The undo is done and rolled back in the target: what it says is what would happen now."""
        verbs.require_person(command.by)
        action = await reads.get(self.pool, command.by, command.action_id)
        if action.state is not ActionState.APPLIED:
            raise Conflict(f"Only an applied action can be undone; this one is {action.state.value}.", verbs.state_of(action))
        records = self.target.within(action.project_id)
        outcome = await undo(records, command.command_id, action.id, command.by, dry_run=True, rest=command.rest)
        return _preview(outcome)

    async def on_undo_turn(self, command: UndoTurn) -> Asked:
        _ = self.target.records
        crash.point("applier.undo_turn.before_commit")
        asked = await undoing.request(self.pool, command, trace=traceparent())
        crash.point("applier.undo_turn.after_commit")
        return asked

    async def on_preview_undo_turn(self, command: PreviewUndoTurn) -> TurnUndoPreview:
        """Each is undone on what those before it leave, and all of it is rolled back."""
        verbs.require_person(command.by)
        actions = await turn_undo.applied_in(self.pool, command.by, command.turn_id)
        first = await reads.get(self.pool, command.by, actions[0])  # all of a turn are in its thread's project
        outcomes = await rehearse(self.target.within(first.project_id), actions, command.by, rest=command.rest)
        undos = tuple(_preview(outcome) for outcome in outcomes)
        state = turn_undo.together([one.state for one in undos])
        return TurnUndoPreview(turn_id=command.turn_id, state=state, undos=undos, not_tried=tuple(actions[len(undos) :]))

    async def on_propose_again(self, command: ProposeAgain) -> Action:
        """The same operations, validated anew on the records as they are now; of each what the undo took back."""
        verbs.require_person(command.by)
        undone, operations, outcome = await reads.undone(self.pool, command.by, command.undone_id)
        again = operations_again(operations, outcome)
        if not again:
            raise Conflict("The undo changed nothing that could be proposed again.")
        proposal = Proposal(project_id=undone.project_id, operations=again, summary=undone.summary)
        proposing = ProposeChanges(
            command_id=command.command_id,
            by=command.by,
            action_id=command.action_id,
            proposal=proposal,
            thread_id=undone.thread_id,
            turn_id=undone.turn_id,
        )
        return await self._propose(proposing, operations)


def _preview(outcome: Outcome) -> UndoPreview:
    return UndoPreview(action_id=outcome.action_id, state=verbs.UNDONE[outcome.state], outcome=result_of(outcome))


def _refuse_large(operations: Sequence[PreparedOperation]) -> None:
    size = sum(len(operation.model_dump_json()) for operation in operations)
    if size > LARGEST_STORED:
        raise TooLarge(f"With the values that it replaces this comes to {size} bytes; propose at most {LARGEST_STORED} at once.")
