"""The one verb that decides on single operations. The action-applier alone imports this."""

from datetime import datetime

from askbus.access.model import Role
from askbus.actions.decisions import Decision
from askbus.actions.model import Action, DecideAction
from askbus.actions.verbs import acting, decided, require_person
from askbus.db.statements import Executor, Statement

DECIDE = Statement("askbus.actions", "sql/decide.sql")


async def decide(
    db: Executor,
    command: DecideAction,
    decision: Decision | None,
    *,
    trace: str | None,
    now: datetime | None = None,
    confirm_role: Role = Role.MEMBER,
) -> Action:
    """Decides on a pending action as it was shown; of concurrent decisions one wins, the others get Conflict with what won.
    Confirming any of it takes somebody of `confirm_role` or with more rights.

    `decision` is None where what was shown is not what there is any more: then this only says so.
    Raises NotFound, PermissionDenied, Conflict; where the digest is not the action's, its details hold the card as it is.
    """
    require_person(command.by)
    row = await DECIDE.row(
        db,
        id=command.action_id,
        digest=None if decision is None else command.digest,
        confirmed=(decision.confirmed or None) if decision else None,
        decisions=decision.stored if decision else None,
        reason=decision.reason if decision else None,
        confirm_role=confirm_role,
        command_id=command.command_id,
        trace=trace,
        now=now,
        **acting(command.by),
    )
    return decided(row, digest=command.digest)
