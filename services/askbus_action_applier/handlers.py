"""The action-applier's commands, one handler each."""

from askbus.actions import reads, verbs
from askbus.actions.card import result_of
from askbus.actions.model import (
    Action,
    ActionState,
    ConfirmAction,
    PreviewUndo,
    ProposeChanges,
    RejectAction,
    Undo,
    UndoAction,
    UndoPreview,
    WithdrawAction,
)
from askbus.db.pool import Pool
from askbus.errors import Conflict, TooLarge
from askbus.records.changes import PreparedAction
from askbus.records.propose import prepare
from askbus.records.undo import undo
from askbus.runtime import crash
from askbus.runtime.telemetry import traceparent
from askbus_action_applier.target import Target

LARGEST_STORED = 4 << 20
"""Bytes of one action's operations with the values that they replace."""


class Handlers:
    """Every decision about an action, each one statement on `pool`. What is confirmed is applied later, by its fact."""

    def __init__(self, pool: Pool, target: Target) -> None:
        self.pool = pool
        self.target = target

    async def on_propose_changes(self, command: ProposeChanges) -> Action:
        """Validated against the live schema before it is stored; a second look at the same proposal finds the first."""
        if (found := await verbs.known(self.pool, command)) is not None:
            return found
        prepared = await prepare(self.target.records, command.by, command.proposal.operations)
        _refuse_large(prepared)
        crash.point("applier.propose.before_commit")
        action = await verbs.propose(self.pool, command, prepared, trace=traceparent())
        crash.point("applier.propose.after_commit")
        return action

    async def on_confirm_action(self, command: ConfirmAction) -> Action:
        _ = self.target.records  # without a database nothing could be applied, so nothing is confirmed
        crash.point("applier.confirm.before_commit")
        action = await verbs.confirm(self.pool, command, trace=traceparent())
        crash.point("applier.confirm.after_commit")
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
        outcome = await undo(self.target.records, command.command_id, action.id, command.by, dry_run=True)
        return UndoPreview(action_id=action.id, state=verbs.UNDONE[outcome.state], outcome=result_of(outcome))


def _refuse_large(prepared: PreparedAction) -> None:
    size = sum(len(operation.model_dump_json()) for operation in prepared.operations)
    if size > LARGEST_STORED:
        raise TooLarge(f"With the values that it replaces this comes to {size} bytes; propose at most {LARGEST_STORED} at once.")
