"""A confirmed action becomes records: all its operations in order, or none, exactly once."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal
from askbus.records import rows
from askbus.records.authorize import authorize
from askbus.records.changes import Change, Image, LedgerKind, Mismatch, Outcome, OutcomeState, PreparedOperation
from askbus.records.engine import Records
from askbus.records.failures import NotDone
from askbus.records.ledger import Entry, Verdict
from askbus.records.rows import Values
from askbus.records.schema import Collection, Schema
from askbus.records.settle import Progress, settle
from askbus.records.validate import referred_column
from askbus.runtime import crash


async def apply(records: Records, action_id: UUID, operations: Sequence[PreparedOperation], principal: Principal) -> Outcome:
    """Applies `operations` as `principal`, who confirmed them, and returns what the ledger says: applied, conflicted or failed.

    However often it is called with the same id, the first outcome stands and is returned. A touched field that is not as it was
    when the change was proposed makes it conflicted, and nothing is written.
    Raises Unavailable when the database is away or busy, or the ledger is missing; the same call may then be made again.
    """

    async def work(connection: AsyncConnection, progress: Progress) -> Verdict:
        schema = await records.held_schema(connection, [operation.collection for operation in operations])
        if found := await _conflicts(connection, operations, schema):
            return Verdict(state=OutcomeState.CONFLICTED, mismatches=tuple(found))
        for operation in operations:
            progress.operation = operation.id
            authorize(principal, operation, schema)
        crash.point("records.apply.locked")
        await records.use_write_settings(connection)
        written = await _write(connection, operations, schema, progress)
        progress.operation = ""
        await connection.execute(rows.CHECK_NOW)
        crash.point("records.apply.written")
        await records.use_one_spelling(connection)
        return Verdict(state=OutcomeState.APPLIED, images=tuple([await _image(connection, done, schema) for done in written]))

    return await settle(records, principal, Entry(id=action_id, kind=LedgerKind.APPLY, action_id=action_id), work)


class _Written:
    """An operation that was carried out, and the record's key as the writing session spells it."""

    def __init__(self, operation: PreparedOperation, key: dict[str, str]) -> None:
        self.operation, self.key = operation, key


async def _conflicts(connection: AsyncConnection, operations: Sequence[PreparedOperation], schema: Schema) -> list[Mismatch]:
    """What is not as it was proposed on. Records are locked in one order everywhere, so that actions do not deadlock."""
    found: list[Mismatch] = []
    for operation in sorted(operations, key=lambda one: (one.collection, sorted(one.key.items()))):
        collection = schema.collections.get(operation.collection)
        if collection is None:
            found.append(mismatch(operation, message=f"{operation.collection} is not there any more"))
            continue
        shape = _shape(operation, collection)
        found += shape
        if operation.kind is Change.UPDATE and not shape:
            found += await _drift(connection, operation, collection)
    return found


def _shape(operation: PreparedOperation, collection: Collection) -> list[Mismatch]:
    """Fields that the table does not have any more as they were. Denied ones are left to `authorize`."""
    columns = {column.name: column for column in collection.all_columns}
    found = []
    for change in operation.changes:
        column = columns.get(change.field)
        if column is None:
            found.append(mismatch(operation, change.field, message=f"{collection.name} has no {change.field} any more"))
        elif column.type != change.type:
            message = f"{change.field} was {change.type} when this was proposed and is {column.type} now"
            found.append(mismatch(operation, change.field, message=message))
    if operation.key and set(operation.key) != set(collection.key):
        found.append(mismatch(operation, message=f"the primary key of {collection.name} is not what it was"))
    return found


async def _drift(connection: AsyncConnection, operation: PreparedOperation, collection: Collection) -> list[Mismatch]:
    names = [change.field for change in operation.changes if change.field in collection.columns]
    current = await rows.read(connection, collection, operation.key, names or list(collection.key), lock=True)
    if current is None:
        return [mismatch(operation, message=f"{operation.label} is not in {collection.name} any more")]
    return [
        mismatch(
            operation,
            change.field,
            change.before,
            current[change.field],
            message=f"{change.field} was {_said(change.before)} when this was proposed and is {_said(current[change.field])} now",
        )
        for change in operation.changes
        if change.field in current and current[change.field] != change.before
    ]


def _said(text: str | None) -> str:
    return "empty" if text is None else repr(text)


def mismatch(
    operation: PreparedOperation, field: str = "", expected: str | None = None, found: str | None = None, *, message: str
) -> Mismatch:
    return Mismatch(
        operation=operation.id,
        collection=operation.collection,
        label=operation.label,
        field=field,
        expected=expected,
        found=found,
        message=message,
    )


async def _write(
    connection: AsyncConnection, operations: Sequence[PreparedOperation], schema: Schema, progress: Progress
) -> list[_Written]:
    created: dict[str, tuple[Collection, Values]] = {}
    written = []
    for operation in operations:
        progress.operation = operation.id
        collection = schema.collection(operation.collection)
        values = {change.field: change.after for change in operation.changes}
        for change in operation.changes:
            if change.ref is not None:
                values[change.field] = _key_of(created, change.ref, change.field, collection, schema)
        if operation.kind is Change.CREATE:
            row = await rows.create(connection, collection, values)
            created[operation.id] = (collection, row)
            key = {name: row[name] or "" for name in collection.key}
        else:
            key = await rows.change(connection, collection, operation.key, values)
        written.append(_Written(operation, key))
        crash.point("records.apply.operation")
    return written


def _key_of(
    created: dict[str, tuple[Collection, Values]], ref: str, field: str, collection: Collection, schema: Schema
) -> str | None:
    """What `$ref` stands for. Raises NotDone when that record was not created, or is not what the field refers to by now."""
    if ref not in created:
        raise NotDone(f"{field} needs the record that {ref} creates, and {ref} is not part of this")
    target, row = created[ref]
    column = referred_column(schema, collection, field, target)
    if column is None:
        raise NotDone(f"{field} does not refer to {target.name} any more")
    return row[column]


async def _image(connection: AsyncConnection, done: _Written, schema: Schema) -> Image:
    """The record as the transaction leaves it, after every trigger."""
    operation, collection = done.operation, schema.collection(done.operation.collection)
    creating = operation.kind is Change.CREATE
    names = list(dict.fromkeys((*collection.key, *(collection.columns if creating else operation.fields))))
    current = await rows.read(connection, collection, done.key, names)
    if current is None:
        raise NotDone(f"{operation.label} was gone right after it was written")
    return Image(
        operation=operation.id,
        kind=operation.kind,
        collection=collection.name,
        label=" ".join(current[name] or "" for name in collection.label) if creating else operation.label,
        key={name: current[name] or "" for name in collection.key},
        key_before=operation.key,
        before={} if creating else {change.field: change.before for change in operation.changes},
        after=current if creating else {name: current[name] for name in operation.fields},
        sealed=await rows.read_sealed(connection, collection, done.key) if creating else {},
    )
