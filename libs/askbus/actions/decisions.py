"""Decisions about single operations (R14): what they say, whether they fit together, and what is to be applied by them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from askbus.errors import InvalidInput
from askbus.records.changes import REF, FieldChange, Operation, PreparedOperation, Problem
from askbus.records.values import from_text

LONGEST_REASON = 2000

OperationReason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=500, pattern=r"^[^\x00]*$")]


class Decided(StrEnum):
    CONFIRMED = "confirmed"
    EDITED = "edited"
    REJECTED = "rejected"


class OperationDecision(BaseModel):
    """What a person says of one operation: reject it, with a reason if there is one, or confirm it, with other values for some of its
    fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    operation: Annotated[str, StringConstraints(max_length=40)]
    confirm: bool
    reason: OperationReason | None = None
    values: Annotated[dict[str, JsonValue], Field(max_length=200)] = {}

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.confirm and self.reason:
            raise ValueError("a reason is for what is rejected")
        if not self.confirm and self.values:
            raise ValueError("values are for what is confirmed")
        return self


class StoredDecision(BaseModel):
    """What was decided on one operation. `fields`: those whose values were edited."""

    model_config = ConfigDict(frozen=True)

    operation: str
    decision: Decided
    reason: str | None = None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """A decision on a whole action as it is stored. `confirmed`: what is to be applied; nothing where all was rejected."""

    stored: tuple[StoredDecision, ...]
    confirmed: tuple[PreparedOperation, ...]

    @property
    def reason(self) -> str | None:
        """Why all of it was rejected, in one text."""
        said = [(one.operation, one.reason) for one in self.stored if one.reason]
        if self.confirmed or not said:
            return None
        text = said[0][1] if len(self.stored) == 1 else "; ".join(f"{operation}: {reason}" for operation, reason in said)
        return (text or "")[:LONGEST_REASON]


def edited_of(operations: Sequence[PreparedOperation], decisions: Sequence[OperationDecision]) -> tuple[Operation, ...]:
    """What has to be validated again: the operations with edited values, and the creates that they refer to, in their order.

    Raises InvalidInput where the decisions are not one for each operation, name a field that was not proposed, or confirm what needs
    a rejected record.
    """
    by_id = _one_for_each(operations, decisions)
    values = {operation.id: _values(operation, by_id[operation.id].values) for operation in operations}
    _refuse_orphans(operations, by_id, values)
    wanted = {operation.id for operation in operations if by_id[operation.id].values}
    for operation in reversed(operations):
        if operation.id in wanted:
            wanted |= _refs(values[operation.id])
    return tuple(
        Operation(
            id=operation.id,
            kind=operation.kind,
            collection=operation.collection,
            record=dict(operation.key) or None,
            values=values[operation.id],
        )
        for operation in operations
        if operation.id in wanted
    )


def decided_on(
    operations: Sequence[PreparedOperation], decisions: Sequence[OperationDecision], prepared: Sequence[PreparedOperation]
) -> Decision:
    """The decision as it is stored. `prepared`: the edited operations as they were validated; old values stay those that were shown."""
    by_id = {decision.operation: decision for decision in decisions}
    anew = {operation.id: operation for operation in prepared}
    confirmed, stored = [], []
    for operation in operations:
        decision = by_id[operation.id]
        state = Decided.EDITED if decision.values else Decided.CONFIRMED
        stored.append(
            StoredDecision(
                operation=operation.id,
                decision=state if decision.confirm else Decided.REJECTED,
                reason=decision.reason or None,
                fields=tuple(decision.values),
            )
        )
        if decision.confirm:
            confirmed.append(_edited(operation, anew[operation.id], decision.values) if decision.values else operation)
    return Decision(stored=tuple(stored), confirmed=tuple(confirmed))


def _one_for_each(
    operations: Sequence[PreparedOperation], decisions: Sequence[OperationDecision]
) -> Mapping[str, OperationDecision]:
    by_id = {decision.operation: decision for decision in decisions}
    known = {operation.id for operation in operations}
    problems = [Problem(operation=name, message="the action has no such operation") for name in by_id if name not in known]
    problems += [Problem(operation=name, message="nothing is said of it") for name in known if name not in by_id]
    if len(by_id) != len(decisions):
        problems.append(Problem(operation="", message="an operation is decided twice"))
    _raise(problems)
    problems += [
        Problem(operation=operation.id, field=name, message="it is not a field of this change")
        for operation in operations
        for name in by_id[operation.id].values
        if name not in operation.fields
    ]
    _raise(problems)
    return by_id


def _values(operation: PreparedOperation, edits: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {change.field: edits[change.field] if change.field in edits else _as_proposed(change) for change in operation.changes}


def _as_proposed(change: FieldChange) -> JsonValue:
    return from_text(change.after, change.kind) if change.ref is None else f"{REF}{change.ref}"


def _refs(values: Mapping[str, JsonValue]) -> set[str]:
    return {value.removeprefix(REF) for value in values.values() if isinstance(value, str) and value.startswith(REF)}


def _refuse_orphans(
    operations: Sequence[PreparedOperation],
    by_id: Mapping[str, OperationDecision],
    values: Mapping[str, Mapping[str, JsonValue]],
) -> None:
    """What uses the key of a record that will not be created cannot be applied, unless its value is edited."""
    _raise(
        [
            Problem(
                operation=operation.id, field=name, message=f"it needs the record that {change.ref} creates, and that is rejected"
            )
            for operation in operations
            if by_id[operation.id].confirm
            for change in operation.changes
            for name in (change.field,)
            if change.ref is not None and name not in by_id[operation.id].values and not by_id[change.ref].confirm
        ]
    )
    rejected = {name for name, decision in by_id.items() if not decision.confirm}
    _raise(
        [
            Problem(operation=name, message="it needs a record whose creation is rejected")
            for name, given in values.items()
            if by_id[name].confirm and _refs(given) & rejected
        ]
    )


def _edited(operation: PreparedOperation, anew: PreparedOperation, edits: Mapping[str, JsonValue]) -> PreparedOperation:
    new = {change.field: change for change in anew.changes}
    changes = []
    for change in operation.changes:
        if change.field not in edits:
            changes.append(change)
        elif (edited := new.get(change.field)) is not None:
            shown = {"after": edited.after, "ref": edited.ref, "after_display": edited.after_display}
            changes.append(change.model_copy(update=shown))
    if not changes:
        _raise([Problem(operation=operation.id, message="the record already has these values")])
    return operation.model_copy(update={"changes": tuple(changes), "label": operation.label if operation.key else anew.label})


def _raise(problems: Sequence[Problem]) -> None:
    if not problems:
        return
    lines = [f"{problem.operation}{'.' if problem.field else ''}{problem.field}: {problem.message}" for problem in problems[:10]]
    listed: list[JsonValue] = [problem.model_dump(mode="json") for problem in problems]
    raise InvalidInput(f"Nothing was decided. {'; '.join(lines)}.", {"problems": listed})
