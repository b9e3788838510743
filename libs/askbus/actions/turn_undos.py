"""All applied actions of a turn are undone together, the last one first: each by an undo of its own, in one order, for one request."""

from datetime import datetime
from uuid import UUID

import asyncpg
from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal
from askbus.actions.card import result_of
from askbus.actions.model import UndoDetail, UndoPreview, UndoState
from askbus.actions.reads import access_of, see
from askbus.actions.verbs import acting, require_person
from askbus.bus.envelope import Command, Service
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from askbus.records.changes import Outcome

REQUEST = Statement("askbus.actions", "sql/request_turn_undo.sql")
UNDONE_TOGETHER = Statement("askbus.actions", "sql/undone_together.sql")
APPLIED_IN_TURN = Statement("askbus.actions", "sql/applied_in_turn.sql")


class NamedUndo(UndoDetail):
    """One of the undos, with the action's headline."""

    headline: str


class TurnUndo(BaseModel):
    """A request to undo a turn's actions, and what became of each, in the order in which they are undone.

    `state` is `refused` as soon as one of them is; those after it are refused too, without being tried.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    turn_id: UUID
    state: UndoState
    undos: tuple[NamedUndo, ...]


class TurnUndoPreview(BaseModel):
    """What it would do now, action by action. Nothing was changed."""

    model_config = ConfigDict(frozen=True)

    turn_id: UUID
    state: UndoState
    undos: tuple[UndoPreview, ...]
    not_tried: tuple[UUID, ...]
    """The actions after the one that would be refused."""


class Asked(BaseModel):
    """The request is stored: how many actions it is about."""

    id: UUID
    actions: int


class UndoTurn(Command[Asked], owner=Service.ACTION_APPLIER):
    """Undo every applied action of a turn. `group_id` is the caller's choice: the same one sent again finds the same request."""

    turn_id: UUID
    group_id: UUID
    rest: bool = False


class PreviewUndoTurn(Command[TurnUndoPreview], owner=Service.ACTION_APPLIER):
    """Say what that would do, and do nothing."""

    turn_id: UUID
    rest: bool = False


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


NOTHING = "Only applied actions can be undone, and this turn has none."


async def get(db: Executor, by: Principal, group_id: UUID) -> TurnUndo:
    """What became of each. Raises NotFound, also where it is not this principal's to see."""
    see(by)
    rows = await UNDONE_TOGETHER.rows(db, group_id=group_id, **access_of(by))
    if not rows:
        raise NotFound("There is no such undo.")
    undos = tuple(NamedUndo.model_validate({**row, "outcome": _result(row)}) for row in rows)
    return TurnUndo(id=group_id, turn_id=rows[0]["turn_id"], state=together([undo.state for undo in undos]), undos=undos)


async def applied_in(db: Executor, by: Principal, turn_id: UUID) -> list[UUID]:
    """The turn's applied actions, the last one first. Raises Conflict where there are none."""
    found: list[UUID] = [row["id"] for row in await APPLIED_IN_TURN.rows(db, turn_id=turn_id, **access_of(by))]
    if not found:
        raise Conflict(NOTHING)
    return found


def together(states: list[UndoState]) -> UndoState:
    """Refused if one is, done if all are."""
    for state in (UndoState.REFUSED, UndoState.REQUESTED):
        if state in states:
            return state
    return UndoState.DONE


def _result(row: Row) -> object:
    return None if row["outcome"] is None else result_of(Outcome.model_validate(row["outcome"]))
