"""What happens to actions: one function, one statement each. The action-applier, and expiry for its one verb, alone import this.

Each runs on the connection that it is given and opens no transaction. `now` is for tests alone: the database's clock rules.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import asyncpg
from pydantic import JsonValue

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.actions.card import card_of, headline_of
from askbus.actions.model import (
    Action,
    ActionState,
    ConfirmAction,
    ProposeChanges,
    RejectAction,
    Undo,
    UndoAction,
    UndoState,
    WithdrawAction,
    proposer_of,
)
from askbus.db.statements import Executor, Row, Statement
from askbus.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from askbus.records.changes import Outcome, OutcomeState, PreparedAction, PreparedOperation

KNOWN = Statement("askbus.actions", "sql/known.sql")
PROPOSE = Statement("askbus.actions", "sql/propose.sql")
CONFIRM = Statement("askbus.actions", "sql/confirm.sql")
REJECT = Statement("askbus.actions", "sql/reject.sql")
WITHDRAW = Statement("askbus.actions", "sql/withdraw.sql")
EXPIRE_DUE = Statement("askbus.actions", "sql/expire_due.sql")
RECORD_OUTCOME = Statement("askbus.actions", "sql/record_outcome.sql")
REQUEST_UNDO = Statement("askbus.actions", "sql/request_undo.sql")
RECORD_UNDO = Statement("askbus.actions", "sql/record_undo.sql")
WAKE_CONFIRMED = Statement("askbus.actions", "sql/wake_confirmed.sql")
WAKE_UNDOS = Statement("askbus.actions", "sql/wake_undos.sql")
ACKNOWLEDGE = Statement("askbus.actions", "sql/acknowledge.sql")

LARGEST_STORED = 4 << 20
"""Bytes of one action's operations with their snapshots."""

APPLIED: dict[OutcomeState, ActionState] = {
    OutcomeState.APPLIED: ActionState.APPLIED,
    OutcomeState.CONFLICTED: ActionState.CONFLICTED,
    OutcomeState.FAILED: ActionState.FAILED,
}
UNDONE: dict[OutcomeState, UndoState] = {OutcomeState.UNDONE: UndoState.DONE, OutcomeState.REFUSED: UndoState.REFUSED}


async def known(db: Executor, command: ProposeChanges) -> Action | None:
    """The action that this proposal's id or dedupe key already stands for, if any: then nothing needs to be validated again.

    Raises PermissionDenied, NotFound where the project is not the proposer's to write in, InvalidInput for an id that is taken.
    """
    _may_propose(command)
    row = await KNOWN.one(
        db,
        id=command.action_id,
        project_id=command.proposal.project_id,
        dedupe_key=command.proposal.dedupe_key,
        proposer=proposer_of(command.by),
        **_access(command.by),
    )
    if not row["allowed"]:
        raise NotFound("There is no such project, or you may not propose changes there.")
    return None if row["id"] is None else _own(command, row)


async def propose(
    db: Executor, command: ProposeChanges, prepared: PreparedAction, *, trace: str | None, now: datetime | None = None
) -> Action:
    """Stores the proposal as it was prepared, or returns what the same dedupe key or command already made.

    Raises PermissionDenied, NotFound where the project is not the proposer's to write in, InvalidInput for an id that is taken.
    """
    _may_propose(command)
    said = command.proposal
    for _try in range(2):
        try:
            row = await PROPOSE.row(
                db,
                id=command.action_id,
                project_id=said.project_id,
                dedupe_key=said.dedupe_key,
                summary=said.summary,
                expires_in=said.expires_in,
                headline=headline_of(prepared.operations),
                operations=prepared.operations,
                digest=prepared.digest,
                thread_id=command.thread_id,
                turn_id=command.turn_id,
                call_id=command.call_id,
                command_id=command.command_id,
                token_id=command.by.token_id,
                proposer=proposer_of(command.by),
                trace=trace,
                now=now,
                **acting(command.by),
            )
        except asyncpg.UniqueViolationError:
            continue  # the same proposal was stored in this moment: the second look finds it
        if row is not None:
            return _own(command, row)
    raise NotFound("There is no such project, or you may not propose changes there.")


async def confirm(
    db: Executor, command: ConfirmAction, *, trace: str | None, now: datetime | None = None, confirm_role: Role = Role.MEMBER
) -> Action:
    """Confirms a pending action as it was shown, by somebody of `confirm_role` or with more rights. Of concurrent decisions one
    wins; the others get Conflict with what won.

    Raises NotFound, PermissionDenied, Conflict; where the digest is not the action's, its details hold the card as it is.
    """
    require_person(command.by)
    row = await CONFIRM.row(
        db,
        id=command.action_id,
        digest=command.digest,
        confirm_role=confirm_role,
        command_id=command.command_id,
        trace=trace,
        now=now,
        **acting(command.by),
    )
    return decided(row, digest=command.digest)


async def reject(db: Executor, command: RejectAction, *, trace: str | None, now: datetime | None = None) -> Action:
    """Rejects a pending action. Raises NotFound, PermissionDenied, Conflict."""
    require_person(command.by)
    row = await REJECT.row(
        db,
        id=command.action_id,
        reason=command.reason or None,
        command_id=command.command_id,
        trace=trace,
        now=now,
        **acting(command.by),
    )
    return decided(row)


async def withdraw(db: Executor, command: WithdrawAction, *, trace: str | None, now: datetime | None = None) -> Action:
    """Withdraws the proposer's own pending action. Raises NotFound, PermissionDenied, Conflict."""
    if not command.by.may(Scope.CHAT):
        command.by.require(Scope.ACTIONS_PROPOSE)
    row = await WITHDRAW.row(
        db,
        id=command.action_id,
        proposer=proposer_of(command.by),
        command_id=command.command_id,
        trace=trace,
        now=now,
        **acting(command.by),
    )
    return decided(row, refusal="Only who proposed an action may withdraw it.")


async def expire_due(db: Executor, *, batch: int = 100, now: datetime | None = None) -> list[UUID]:
    """Expires up to `batch` pending actions past their time; any number of callers, each action once."""
    return [row["id"] for row in await EXPIRE_DUE.rows(db, batch=batch, now=now)]


async def record_outcome(
    db: Executor, action_id: UUID, outcome: Outcome, *, trace: str | None, now: datetime | None = None
) -> bool:
    """Copies from the ledger what became of a confirmed action. False where that was copied before."""
    return bool(
        await RECORD_OUTCOME.run(db, id=action_id, state=APPLIED[outcome.state], outcome=_stored(outcome), trace=trace, now=now)
    )


async def request_undo(db: Executor, command: UndoAction, *, trace: str | None, now: datetime | None = None) -> Undo:
    """Asks for an applied action to be undone. Raises NotFound, PermissionDenied, Conflict."""
    require_person(command.by)
    row: Row | None = None
    for _try in range(2):
        try:
            row = await REQUEST_UNDO.row(
                db,
                id=command.action_id,
                undo_id=command.undo_id,
                rest=command.rest,
                command_id=command.command_id,
                trace=trace,
                now=now,
                **acting(command.by),
            )
        except asyncpg.UniqueViolationError:
            continue  # another request came in this moment: the second look sees it
        break
    if row is None or not row["seen"]:
        raise NotFound("There is no such action.")
    if not row["allowed"]:
        raise PermissionDenied("You may not undo actions in this project.")
    if row["undo_id"] is not None and row["undo_action_id"] == command.action_id:
        return Undo.model_validate({name: row[f"undo_{name}"] for name in Undo.model_fields})
    action = Action.model_validate(row)
    if action.state is ActionState.APPLIED:
        raise Conflict("This action is being undone already.", state_of(action))
    raise Conflict(f"Only an applied action can be undone; this one is {action.state.value}.", state_of(action))


async def record_undo(db: Executor, undo_id: UUID, outcome: Outcome, *, trace: str | None, now: datetime | None = None) -> bool:
    """Copies from the ledger what became of an undo; its action is undone with it. False where it was copied before."""
    return bool(
        await RECORD_UNDO.run(db, undo_id=undo_id, state=UNDONE[outcome.state], outcome=_stored(outcome), trace=trace, now=now)
    )


async def wake_confirmed(db: Executor, *, rested: float, batch: int = 10) -> list[UUID]:
    """Confirmed actions that nothing happened to for `rested` seconds, each handed to one caller and not again for as long."""
    return [row["id"] for row in await WAKE_CONFIRMED.rows(db, rested=rested, batch=batch)]


async def wake_undos(db: Executor, *, rested: float, batch: int = 10) -> list[UUID]:
    """The same for requested undos."""
    return [row["id"] for row in await WAKE_UNDOS.rows(db, rested=rested, batch=batch)]


async def acknowledge(db: Executor, action_id: UUID, token_id: UUID, heard: int) -> None:
    """The proposing agent has heard `heard` outcomes of this action in all. Safe to say twice."""
    await ACKNOWLEDGE.run(db, id=action_id, token_id=token_id, heard=heard)


def state_of(action: Action) -> dict[str, JsonValue]:
    """Where an action stands, for the details of a Conflict."""
    shown = action.model_dump(mode="json", include={"id", "state", "digest", "decided_by", "decided_at", "reason", "settled_at"})
    return {"action": shown}


def _may_propose(command: ProposeChanges) -> None:
    command.by.require(Scope.CHAT if command.turn_id else Scope.ACTIONS_PROPOSE)


def require_person(by: Principal) -> None:
    """Raises PermissionDenied for tokens, and for those who may not decide."""
    if by.kind is not PrincipalKind.SESSION:
        raise PermissionDenied("Deciding on changes needs a person: sign in. No token can do it.")
    by.require(Scope.ACTIONS_CONFIRM)


def _access(by: Principal) -> dict[str, object]:
    projects = None if by.projects is None else list(by.projects)
    return {"user_id": by.user_id, "workspace_id": by.workspace_id, "projects": projects}


def acting(by: Principal) -> dict[str, object]:
    """Who acts, and what they may see: the parameters of every verb's statement."""
    return {**_access(by), "via": by.kind.value, "via_id": by.id}


def _own(command: ProposeChanges, row: Row) -> Action:
    if row["proposer_id"] != proposer_of(command.by) or row["project_id"] != command.proposal.project_id:
        raise InvalidInput("This action id is taken. Send a new one.")
    return _as_it_reads(row)


def _as_it_reads(row: Row) -> Action:
    """The row as people see it: past its time a pending action is expired, swept or not."""
    action = Action.model_validate(row)
    if action.state is ActionState.PENDING and row["past"]:
        return action.model_copy(update={"state": ActionState.EXPIRED, "settled_at": action.expires_at})
    return action


def _stored(outcome: Outcome) -> dict[str, object]:
    """The outcome without the hashes of unreadable columns: those stay in the ledger."""
    return outcome.model_dump(mode="json", exclude={"images": {"__all__": {"sealed"}}})


def decided(
    row: Row | None, *, digest: str | None = None, refusal: str = "You may not decide on actions in this project."
) -> Action:
    """The moved action, or the truth for the one who lost."""
    if row is None or not row["seen"]:
        raise NotFound("There is no such action.")
    action = _as_it_reads(row)
    if row["moved"] or row["repeated"]:
        return action
    if not row["allowed"]:
        limited = row.get("limited")
        raise PermissionDenied("Your role may reject changes here and not confirm them." if limited else refusal)
    if action.state is ActionState.PENDING and digest is not None:
        raise Conflict("What you confirmed is not what this action would change. Look at it again.", _card(action, row))
    raise Conflict(f"This action is {action.state.value} already.", state_of(action))


def _card(action: Action, row: Row) -> dict[str, JsonValue]:
    operations: Sequence[PreparedOperation] = [PreparedOperation.model_validate(operation) for operation in row["operations"]]
    return {**state_of(action), "card": [operation.model_dump(mode="json") for operation in card_of(operations)]}
