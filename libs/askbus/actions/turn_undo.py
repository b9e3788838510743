"""All applied actions of a turn are undone together, the last one first: each by an undo of its own, in one order, for one request."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal
from askbus.actions.card import result_of
from askbus.actions.model import UndoDetail, UndoPreview, UndoState
from askbus.actions.reads import access_of, see
from askbus.bus.envelope import Command, Service
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, NotFound
from askbus.records.changes import Outcome

UNDONE_TOGETHER = Statement("askbus.actions", "sql/undone_together.sql")
APPLIED_IN_TURN = Statement("askbus.actions", "sql/applied_in_turn.sql")

NOTHING = "Only applied actions can be undone, and this turn has none."


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
