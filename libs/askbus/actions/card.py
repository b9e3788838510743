"""What a person is shown of an action: built from the stored operations and outcome, never from a model's words. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict

from askbus.actions.decisions import Decided, StoredDecision
from askbus.records.changes import Change, FieldChange, Image, Key, Mismatch, Outcome, OutcomeState, PreparedOperation, Problem

LONGEST_SHOWN = 300
"""Characters of one value on a card; the full value is one request away."""
LONGEST_NAME = 80
LONGEST_HEADLINE = 500
FIELDS_NAMED = 5


class CardField(FieldChange):
    """A field's old and new value. `cut`: at least one of them is longer than what is shown."""

    cut: bool = False


class CardOperation(BaseModel):
    """One record that will be created or updated. `key` is empty for a create."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: Change
    collection: str
    key: Key
    label: str
    changes: tuple[CardField, ...]
    decision: Decided | None = None
    """What was decided on it, where operations were decided one by one."""
    reason: str | None = None
    proposed: tuple[CardField, ...] = ()
    """Where it was edited: what was proposed instead of `changes`."""


Card: TypeAlias = tuple[CardOperation, ...]


class RecordResult(BaseModel):
    """What was done to one record: its touched fields before and after, as Postgres spells them."""

    model_config = ConfigDict(frozen=True)

    operation: str
    kind: Change
    collection: str
    label: str
    key: Key
    before: dict[str, str | None]
    after: dict[str, str | None]
    cut: bool = False


class Result(BaseModel):
    """What became of an action or an undo: the records written, the values that were not as expected, or the problem."""

    model_config = ConfigDict(frozen=True)

    state: OutcomeState
    at: datetime
    records: tuple[RecordResult, ...]
    mismatches: tuple[Mismatch, ...]
    problem: Problem | None


def card_of(
    operations: Iterable[PreparedOperation],
    *,
    longest: int | None = LONGEST_SHOWN,
    decisions: Iterable[StoredDecision] = (),
    confirmed: Iterable[PreparedOperation] = (),
) -> Card:
    """The card of the operations, its values at most `longest` characters long; None shows them whole."""

    def changes_of(operation: PreparedOperation) -> tuple[CardField, ...]:
        return tuple(_field(change, longest) for change in operation.changes)

    said = {decision.operation: decision for decision in decisions}
    edited = {operation.id: operation for operation in confirmed if operation.id in said and said[operation.id].fields}
    return tuple(
        CardOperation(
            id=operation.id,
            kind=operation.kind,
            collection=operation.collection,
            key=operation.key,
            label=edited.get(operation.id, operation).label,
            changes=changes_of(edited.get(operation.id, operation)),
            decision=said[operation.id].decision if operation.id in said else None,
            reason=said[operation.id].reason if operation.id in said else None,
            proposed=changes_of(operation) if operation.id in edited else (),
        )
        for operation in operations
    )


def result_of(outcome: Outcome, *, longest: int | None = LONGEST_SHOWN) -> Result:
    """What people see of a ledger's row."""
    return Result(
        state=outcome.state,
        at=outcome.at,
        records=tuple(_record(image, longest) for image in outcome.images),
        mismatches=tuple(
            mismatch.model_copy(update={"expected": _short(mismatch.expected, longest), "found": _short(mismatch.found, longest)})
            for mismatch in outcome.mismatches
        ),
        problem=outcome.problem,
    )


def headline_of(operations: Sequence[PreparedOperation]) -> str:
    """The operations in one line: `Update customers Ada Lindqvist: email and 2 more changes`."""
    more = len(operations) - 1
    rest = f" and {more} more {'change' if more == 1 else 'changes'}" if more else ""
    return f"{line_of(operations[0])[: LONGEST_HEADLINE - len(rest)]}{rest}"


def line_of(operation: PreparedOperation) -> str:
    """One operation in one line, by the names of its fields and not by their values."""
    names = [change.field for change in operation.changes]
    fields = ", ".join(names[:FIELDS_NAMED]) + (", …" if len(names) > FIELDS_NAMED else "")
    label = f" {cut_text(operation.label, LONGEST_NAME)}" if operation.label else ""
    return f"{operation.kind.value.capitalize()} {operation.collection}{label}: {fields}"


def cut_text(text: str, longest: int) -> str:
    """At most `longest` characters of it, the last one an ellipsis where something is missing."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _short(text: str | None, longest: int | None) -> str | None:
    return text if text is None or longest is None else cut_text(text, longest)


def _field(change: FieldChange, longest: int | None) -> CardField:
    shown = {name: _short(getattr(change, name), longest) for name in ("before", "after", "before_display", "after_display")}
    cut = any(shown[name] != getattr(change, name) for name in shown)
    return CardField.model_validate(change.model_dump() | shown | {"cut": cut})


def _record(image: Image, longest: int | None) -> RecordResult:
    before = {name: _short(value, longest) for name, value in image.before.items()}
    after = {name: _short(value, longest) for name, value in image.after.items()}
    return RecordResult(
        operation=image.operation,
        kind=image.kind,
        collection=image.collection,
        label=image.label,
        key=image.key,
        before=before,
        after=after,
        cut=before != image.before or after != image.after,
    )
