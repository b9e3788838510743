"""How the action-applier is put together: commands, agents' doors, facts, the sweep, the relay."""

from askbus.actions.model import (
    ConfirmAction,
    DecideAction,
    PreviewUndo,
    ProposeAgain,
    ProposeChanges,
    RejectAction,
    UndoAction,
    WithdrawAction,
)
from askbus.actions.turn_undo import PreviewUndoTurn, UndoTurn
from askbus.approvals.model import MakeApproval, RevokeApproval
from askbus.bus.app import agent_door
from askbus.bus.envelope import Service
from askbus.bus.fact import Fact
from askbus.bus.streams import CONCLUDED
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus_action_applier.apply import Applier
from askbus_action_applier.doors import Doors
from askbus_action_applier.handlers import Handlers
from askbus_action_applier.standing import Standing
from askbus_action_applier.sweep import Sweep
from askbus_action_applier.target import Target
from askbus_action_applier.told import Teller
from askbus_action_applier.undo import Undoer


def make_app(settings: Settings) -> App:
    """The action-applier, not yet running."""
    return App(Service.ACTION_APPLIER, settings, wire)


async def wire(ground: Ground) -> None:
    """Everything that the action-applier does."""
    settings = ground.settings
    target = Target(settings)
    await target.check()
    ground.runs("records", target.hold)

    handlers = Handlers(ground.pool, target, settings.confirm_role)
    ground.answers(ProposeChanges, handlers.on_propose_changes)
    ground.answers(ConfirmAction, handlers.on_confirm_action)
    ground.answers(DecideAction, handlers.on_decide_action)
    ground.answers(RejectAction, handlers.on_reject_action)
    ground.answers(WithdrawAction, handlers.on_withdraw_action)
    ground.answers(UndoAction, handlers.on_undo_action)
    ground.answers(PreviewUndo, handlers.on_preview_undo)
    ground.answers(UndoTurn, handlers.on_undo_turn)
    ground.answers(PreviewUndoTurn, handlers.on_preview_undo_turn)
    ground.answers(ProposeAgain, handlers.on_propose_again)

    standing = Standing(ground.pool, target, settings.confirm_role, settings.standing_approval_days)
    ground.answers(MakeApproval, standing.on_make_approval)
    ground.answers(RevokeApproval, standing.on_revoke_approval)

    doors = Doors(ground.pool, handlers, ground.nudge)
    for verb, door in doors.table().items():
        agent_door(ground.broker, Service.ACTION_APPLIER, "action", verb)(door)

    applier = Applier(ground.pool, target)
    undoer = Undoer(ground.pool, target)
    teller = Teller(ground.pool, ground.nc)

    async def on_dead(fact: Fact) -> None:
        """A wake-up is given up: what it was for ends now, or it would rest for ever."""
        if fact.fact == "action.proposed":
            await standing.end(fact.entity_id)
        elif fact.fact == "action.confirmed":
            await applier.end(fact.entity_id)
        elif fact.fact == "action.undo_requested" and fact.parent_id is not None:
            await undoer.end(fact.parent_id)
        ground.nudge()

    ground.acts_on(
        {
            "action.proposed": standing.on_action_proposed,
            "action.confirmed": applier.on_action_confirmed,
            "action.undo_requested": undoer.on_action_undo_requested,
            **dict.fromkeys([f"action.{state}" for state in CONCLUDED], teller.on_action_concluded),
        },
        on_dead,
    )
    ground.relays()
    sweep = Sweep(ground.pool, standing, applier, undoer, rested=settings.stuck_after, committed=ground.nudge)
    ground.every(settings.sweep_every, "wake_resting_actions", sweep.wake)
