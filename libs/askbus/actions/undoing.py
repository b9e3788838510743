"""The one verb that asks for a turn's undo. The action-applier alone imports this."""

from datetime import datetime

import asyncpg

from askbus.actions.turn_undo import NOTHING, Asked, UndoTurn
from askbus.actions.verbs import acting, require_person
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied

REQUEST = Statement("askbus.actions", "sql/request_turn_undo.sql")


async def request(db: Executor, command: UndoTurn, *, trace: str | None, now: datetime | None = None) -> Asked:
    """Asks for all of them or for none. Raises NotFound, PermissionDenied, Conflict, InvalidInput for an id that is taken."""
    require_person(command.by)
    row: Row | None = None
    for _try in range(2):
        try:
            row = await REQUEST.one(
                db,
                turn_id=command.turn_id,
                group_id=command.group_id,
                rest=command.rest,
                trace=trace,
                now=now,
                **acting(command.by),
            )
        except asyncpg.UniqueViolationError:
            continue  # another request for one of them came in this moment: the second look sees it
        break
    if row is None:
        raise Conflict("Some of these actions are being undone already.")
    if not row["seen"]:
        raise NotFound("There is no such turn, or it proposed no changes.")
    if not row["own"]:
        raise InvalidInput("This undo id is taken. Send a new one.")
    if not row["allowed"]:
        raise PermissionDenied("You may not undo actions in this project.")
    if count := row["requested"] or row["known"]:
        return Asked(id=command.group_id, actions=count)
    if row["applying"]:
        raise Conflict("An action of this turn is being applied right now. Ask again when it is.")
    raise Conflict("Some of these actions are being undone already." if row["undoing"] else NOTHING)
