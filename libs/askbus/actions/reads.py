"""What people and agents may see of actions: the principal's access is in every query, as it is at that moment.

What takes no principal is for the services' own work.
"""

from collections.abc import Sequence
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from askbus.access.model import Principal, PrincipalKind, Scope, Sought, wanted
from askbus.actions.card import LONGEST_SHOWN, Result, card_of, result_of
from askbus.actions.decisions import StoredDecision
from askbus.actions.model import (
    Action,
    ActionDetail,
    ActionFilter,
    ActionPage,
    ActionState,
    NamedAction,
    ToldAction,
    UndoDetail,
    UntoldActions,
    proposer_of,
)
from askbus.actions.notes import ActionNote, note_of
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import AskbusError, Conflict, NotFound
from askbus.records.changes import Outcome, PreparedOperation

GET = Statement("askbus.actions", "sql/get.sql")
LIST = Statement("askbus.actions", "sql/list.sql")
UNTOLD = Statement("askbus.actions", "sql/untold.sql")
PROPOSER_TOKEN = Statement("askbus.actions", "sql/proposer_token.sql")
OF_THREAD = Statement("askbus.actions", "sql/of_thread.sql")
TO_APPLY = Statement("askbus.actions", "sql/to_apply.sql")
UNDONE_LAST = Statement("askbus.actions", "sql/undone_last.sql")
TO_UNDO = Statement("askbus.actions", "sql/to_undo.sql")


class Confirmed(BaseModel):
    """A confirmed action to apply. `user_id` is who confirmed it. `operations` are as they are stored: what cannot be read back
    can still be ended."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    operations: tuple[JsonValue, ...]

    def prepared(self) -> tuple[PreparedOperation, ...]:
        """Raises ValidationError where they are not what was once stored."""
        return tuple(PreparedOperation.model_validate(operation) for operation in self.operations)


class Requested(BaseModel):
    """A requested undo to carry out. `user_id` is who asked for it. `stopped`: another of its turn was refused,
    so this one is not tried."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    action_id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    rest: bool
    stopped: bool


async def get(db: Executor, by: Principal, action_id: UUID, *, longest: int | None = LONGEST_SHOWN) -> ActionDetail:
    """One action with its card, its values at most `longest` characters long (None: whole).

    Raises NotFound, also where it is not this principal's to see.
    """
    (found,) = await get_each(db, [(by, action_id)], longest=longest)
    if isinstance(found, AskbusError):
        raise found
    return found


async def get_each(db: Executor, sought: Sequence[Sought], *, longest: int | None) -> list[ActionDetail | AskbusError]:
    """The same for many principals by one statement: for each, in order, the action or the error that it is told instead."""
    return [one if isinstance(one, AskbusError) else _detail(one, longest) for one in await _rows(db, sought)]


async def list_page(db: Executor, by: Principal, wanted: ActionFilter) -> ActionPage:
    """A page of actions, newest first."""
    see(by)
    rows = await LIST.rows(
        db,
        project_id=wanted.project_id,
        thread_id=wanted.thread_id,
        approval_id=wanted.approval_id,
        state=wanted.state,
        proposer=proposer_of(by) if wanted.mine else None,
        before=wanted.before,
        limit=wanted.limit,
        **access_of(by),
    )
    actions = tuple(NamedAction.model_validate(row) for row in rows)
    return ActionPage(actions=actions, next=actions[-1].id if len(actions) == wanted.limit else None)


async def outcomes_of_thread(db: Executor, thread_id: UUID) -> tuple[ActionNote, ...]:
    """What a thread's next turn is told of its actions, in the order in which they were proposed (R18)."""
    return tuple(
        note_of(
            Action.model_validate(row),
            _operations(row),
            _outcome(row["outcome"]),
            _outcome(row["undo"]),
            decisions=_decisions(row),
            confirmed=_confirmed(row) or (),
        )
        for row in await OF_THREAD.rows(db, thread_id=thread_id)
    )


async def untold(db: Executor, by: Principal, *, limit: int = 100) -> UntoldActions:
    """What an agent proposed, still may see, and has not acknowledged hearing about, oldest first."""
    rows = await UNTOLD.rows(db, token_id=by.token_id, limit=limit, **access_of(by))
    return UntoldActions(told=tuple(ToldAction(action=Action.model_validate(row), untold=row["untold"]) for row in rows))


async def proposer_token(db: Executor, action_id: UUID) -> UUID | None:
    """The token that still has to hear about this action, if there is one."""
    row = await PROPOSER_TOKEN.row(db, id=action_id)
    return None if row is None else row["token_id"]


async def to_apply(db: Executor, action_id: UUID) -> Confirmed | None:
    """The action, if it is confirmed and its outcome not copied yet."""
    row = await TO_APPLY.row(db, id=action_id)
    return None if row is None else Confirmed.model_validate(row)


async def to_undo(db: Executor, undo_id: UUID) -> list[Requested]:
    """The undo, if it is requested and its outcome not copied yet; with it those of its turn, in the order in which they are done."""
    return [Requested.model_validate(row) for row in await TO_UNDO.rows(db, undo_id=undo_id)]


async def to_decide(db: Executor, by: Principal, action_id: UUID) -> tuple[Action, tuple[PreparedOperation, ...]]:
    """An action and its operations as they were shown. Raises NotFound."""
    row = await _row(db, by, action_id)
    return Action.model_validate({name: row[name] for name in Action.model_fields}), tuple(_operations(row))


async def undone(db: Executor, by: Principal, action_id: UUID) -> tuple[ActionDetail, tuple[PreparedOperation, ...], Outcome]:
    """An undone action, its operations, and what its undo took back. Without its thread and turn where those are deleted.

    Raises NotFound; Conflict where it is not undone."""
    row = await _row(db, by, action_id)
    action = _detail(row, LONGEST_SHOWN)
    if action.state is not ActionState.UNDONE:
        raise Conflict(f"Only what was undone can be proposed again; this action is {action.state.value}.")
    done = await UNDONE_LAST.one(db, id=action_id)
    if not done["turn_stands"]:
        action = action.model_copy(update={"thread_id": None, "turn_id": None})
    return action, tuple(_confirmed(row) or _operations(row)), Outcome.model_validate(done["outcome"])


def see(by: Principal) -> None:
    """A token reads actions if it may propose them, by itself or in a chat; a session always may."""
    if by.kind is not PrincipalKind.SESSION and not by.may(Scope.CHAT):
        by.require(Scope.ACTIONS_PROPOSE)


def access_of(by: Principal) -> dict[str, object]:
    """What a principal may see: the parameters of every read's statement."""
    return {
        "user_id": by.user_id,
        "workspace_id": by.workspace_id,
        "projects": None if by.projects is None else list(by.projects),
    }


async def _rows(db: Executor, sought: Sequence[Sought]) -> list[Row | AskbusError]:
    asked, refused = wanted(sought, see)
    found: dict[int, Row | AskbusError] = {**refused}
    found |= {row.pop("place"): row for row in await GET.rows(db, wanted=asked)}
    return [found.get(place) or NotFound("There is no such action.") for place in range(len(sought))]


async def _row(db: Executor, by: Principal, action_id: UUID) -> Row:
    (found,) = await _rows(db, [(by, action_id)])
    if isinstance(found, AskbusError):
        raise found
    return found


def _operations(row: Row) -> list[PreparedOperation]:
    return [PreparedOperation.model_validate(operation) for operation in row["operations"]]


def _confirmed(row: Row) -> list[PreparedOperation] | None:
    """What was confirmed of it, where that is not all as proposed."""
    stored = row["confirmed"]
    return None if stored is None else [PreparedOperation.model_validate(operation) for operation in stored]


def _decisions(row: Row) -> list[StoredDecision]:
    return [StoredDecision.model_validate(decision) for decision in row["decisions"] or ()]


def _outcome(stored: object) -> Outcome | None:
    return None if stored is None else Outcome.model_validate(stored)


def _result(stored: object, longest: int | None) -> Result | None:
    outcome = _outcome(stored)
    return None if outcome is None else result_of(outcome, longest=longest)


def _detail(row: Row, longest: int | None) -> ActionDetail:
    shown = {
        "card": card_of(_operations(row), longest=longest, decisions=_decisions(row), confirmed=_confirmed(row) or ()),
        "outcome": _result(row["outcome"], longest),
        "undos": [UndoDetail.model_validate({**undo, "outcome": _result(undo["outcome"], longest)}) for undo in row["undos"]],
    }
    return ActionDetail.model_validate({name: row[name] for name in ActionDetail.model_fields if name not in shown} | shown)
