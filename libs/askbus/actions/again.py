"""What was undone is proposed again: the same operations, to be confirmed like any other. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from askbus.records.changes import (
    REF,
    Change,
    FieldChange,
    Image,
    Operation,
    Outcome,
    PreparedAction,
    PreparedOperation,
    digest_of,
)
from askbus.records.values import from_text


def operations_again(operations: Iterable[PreparedOperation], undone: Outcome) -> tuple[Operation, ...]:
    """The operations that `undone` took back, of each the fields that it took back, in their first order."""
    images = {image.operation: image for image in undone.images}
    written = {name for name, image in images.items() if image.kind is Change.CREATE or image.after}
    return tuple(_again(operation, images) for operation in operations if operation.id in written)


def _again(operation: PreparedOperation, images: Mapping[str, Image]) -> Operation:
    image = images[operation.id]
    creating = operation.kind is Change.CREATE
    return Operation(
        id=operation.id,
        kind=operation.kind,
        collection=operation.collection,
        record=None if creating else dict(image.key),
        values={
            change.field: _value(change, image, images) for change in operation.changes if creating or change.field in image.after
        },
    )


def _value(change: FieldChange, image: Image, images: Mapping[str, Image]) -> JsonValue:
    if change.ref is None:
        return from_text(change.after, change.kind)
    return f"{REF}{change.ref}" if change.ref in images else from_text(image.before[change.field], change.kind)


def to_the_letter(prepared: PreparedAction, operations: Sequence[PreparedOperation]) -> PreparedAction:
    """With the new values exactly as they were stored: JSON cannot carry every number of a document as Postgres keeps it."""
    stored = {(operation.id, change.field): change.after for operation in operations for change in operation.changes}

    def exact(change: FieldChange, operation: str) -> FieldChange:
        if change.ref is not None or (after := stored.get((operation, change.field))) is None:
            return change
        return change.model_copy(update={"after": after})

    exactly = tuple(
        operation.model_copy(update={"changes": tuple(exact(change, operation.id) for change in operation.changes)})
        for operation in prepared.operations
    )
    return PreparedAction(operations=exactly, digest=digest_of(exactly))
