"""What the next turn of a thread is told of an action (R18), short enough for every model call. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.actions.card import FIELDS_NAMED, LONGEST_NAME, cut_text
from askbus.actions.decisions import Decided, StoredDecision
from askbus.actions.model import Action, ActionState
from askbus.records.changes import Change, Key, Mismatch, Outcome, OutcomeState, PreparedOperation, Problem

MOST_LINES = 20
"""Changes, and problems, that a model is told of one action."""
LONGEST_LINE = 300


class ActionNote(BaseModel):
    """An action's state, and in short what it was about.

    `settled_at` is when the last of this came about; `changes` is a line for each operation, `problems` a line for each reason
    why it failed, conflicted, or could not be undone, or not wholly.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    turn_id: UUID | None
    state: ActionState
    headline: str
    summary: str | None
    digest: str
    reason: str | None
    proposed_at: datetime
    settled_at: datetime | None
    changes: tuple[str, ...]
    problems: tuple[str, ...]


def note_of(
    action: Action,
    operations: Sequence[PreparedOperation],
    outcome: Outcome | None,
    undo: Outcome | None,
    *,
    decisions: Sequence[StoredDecision] = (),
    confirmed: Sequence[PreparedOperation] = (),
) -> ActionNote:
    """The note of an action, of what became of it, and of its last undo, if that left anything as it was."""
    written = outcome is not None and outcome.state is OutcomeState.APPLIED
    keys = {image.operation: image.key for image in outcome.images} if outcome is not None and written else {}
    said = {decision.operation: decision for decision in decisions}
    edited = {operation.id: operation for operation in confirmed}
    problems = [
        *_problems(outcome, ""),
        *_problems(undo, "undo refused: " if undo is not None and undo.state is OutcomeState.REFUSED else "not undone: "),
    ]
    return ActionNote(
        id=action.id,
        turn_id=action.turn_id,
        state=action.state,
        headline=action.headline,
        summary=action.summary,
        digest=action.digest,
        reason=action.reason,
        proposed_at=action.proposed_at,
        settled_at=action.settled_at if undo is None else max(action.settled_at or undo.at, undo.at),
        changes=_bounded([_decided(operation, keys.get(operation.id, operation.key), said, edited) for operation in operations]),
        problems=_bounded(problems),
    )


def _decided(
    operation: PreparedOperation, key: Key, said: Mapping[str, StoredDecision], confirmed: Mapping[str, PreparedOperation]
) -> str:
    """The operation's line, and what was decided on it where operations were decided one by one."""
    decision = said.get(operation.id)
    if decision is None:
        return _change(operation, key)
    if decision.decision is Decided.REJECTED:
        return f"rejected{f' ({cut_text(decision.reason, LONGEST_NAME)})' if decision.reason else ''}: {_change(operation, key)}"
    edited = f" with another value for {', '.join(decision.fields[:FIELDS_NAMED])}" if decision.fields else ""
    return f"confirmed{edited}: {_change(confirmed[operation.id], key)}"


def _change(operation: PreparedOperation, key: Key) -> str:
    values = []
    for change in operation.changes[:FIELDS_NAMED]:
        before = "" if operation.kind is Change.CREATE else f"{cut_text(change.before_display, LONGEST_NAME)} → "
        values.append(f"{change.field} {before}{cut_text(change.after_display, LONGEST_NAME)}")
    if len(operation.changes) > FIELDS_NAMED:
        values.append("…")
    identity = f" ({', '.join(f'{name} {value}' for name, value in key.items())})" if key else ""
    label = cut_text(operation.label, LONGEST_NAME)
    return f"{operation.kind.value} {operation.collection} {label}{identity}: {', '.join(values)}"


def _problems(outcome: Outcome | None, prefix: str) -> list[str]:
    if outcome is None:
        return []
    lines = [f"{prefix}{_mismatch(mismatch)}" for mismatch in outcome.mismatches]
    if outcome.problem is not None:
        lines.append(f"{prefix}{_problem(outcome.problem)}")
    return lines


def _mismatch(mismatch: Mismatch) -> str:
    where = f"{mismatch.collection} {cut_text(mismatch.label, LONGEST_NAME)}{' ' if mismatch.field else ''}{mismatch.field}"
    return f"{where}: {mismatch.message}"


def _problem(problem: Problem) -> str:
    where = f"{problem.operation}{'.' if problem.field else ''}{problem.field}"
    return f"{where}: {problem.message}" if where else problem.message


def _bounded(lines: Sequence[str]) -> tuple[str, ...]:
    shown = [cut_text(line, LONGEST_LINE) for line in lines[:MOST_LINES]]
    return (*shown, f"and {len(lines) - MOST_LINES} more") if len(lines) > MOST_LINES else tuple(shown)
