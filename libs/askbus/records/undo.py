"""An applied action is taken back: fields as they were, created records removed, while all of it is as the action left it."""

from collections.abc import Container, Sequence
from datetime import UTC, datetime
from uuid import UUID, uuid4

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal
from askbus.errors import Conflict
from askbus.records import ledger, rows
from askbus.records.authorize import authorize
from askbus.records.changes import Change, Image, LedgerKind, Mismatch, Outcome, OutcomeState, Problem
from askbus.records.engine import Records
from askbus.records.failures import NotDone, is_final, sqlstate, write_failure
from askbus.records.ledger import Entry, Verdict
from askbus.records.rows import Values
from askbus.records.schema import Collection, ForeignKey, Schema
from askbus.records.settle import Progress, settle
from askbus.runtime import crash


async def undo(
    records: Records, undo_id: UUID, action_id: UUID, principal: Principal, *, dry_run: bool = False, rest: bool = False
) -> Outcome:
    """Undoes the applied action `action_id` as `principal` and returns what the ledger says under `undo_id`: undone or refused.

    Refused means that nothing was changed; `mismatches` lists every field, record and reference in the way. With `rest` those are
    left as they are, and the rest is undone; refused then means that there is no rest. However often it is called with the same undo
    id, the first outcome stands. A dry run does the same, rolls back and records nothing.
    Raises Conflict when there is nothing applied to undo, Unavailable when the database is away or busy.
    """

    async def work(connection: AsyncConnection, progress: Progress) -> Verdict:
        return await _take_back(records, connection, action_id, principal, progress, rest=rest)

    entry = Entry(id=undo_id, kind=LedgerKind.UNDO, action_id=action_id)
    return await settle(records, principal, entry, work, dry_run=dry_run)


async def rehearse(
    records: Records, action_ids: Sequence[UUID], principal: Principal, *, rest: bool = False
) -> tuple[Outcome, ...]:
    """What undoing these actions one after the other would do now, up to the first that would be refused (with `rest`: all of them).

    One transaction, which is rolled back: each is tried on the records as those before it would leave them.
    Raises as `undo` does.
    """
    outcomes: list[Outcome] = []

    async def work(connection: AsyncConnection, progress: Progress) -> Verdict:
        outcomes.clear()
        for action_id in action_ids:
            await connection.execute(rows.CHECK_LATER)
            await records.use_one_spelling(connection)
            entry = Entry(id=uuid4(), kind=LedgerKind.UNDO, action_id=action_id)
            await ledger.claim(connection, entry)
            verdict = await _take_back(records, connection, action_id, principal, progress, rest=rest)
            outcomes.append(ledger.outcome_of(entry, verdict, datetime.now(UTC), dry_run=True))
            if verdict.state is OutcomeState.REFUSED and not rest:
                break
        return Verdict(state=OutcomeState.REFUSED)

    entry = Entry(id=uuid4(), kind=LedgerKind.UNDO, action_id=action_ids[0])
    ended = await settle(records, principal, entry, work, dry_run=True)
    if ended.problem is not None:  # the database itself refused the one after those that went through
        outcomes.append(ended.model_copy(update={"action_id": action_ids[len(outcomes)]}))
    return tuple(outcomes)


async def _take_back(
    records: Records, connection: AsyncConnection, action_id: UUID, principal: Principal, progress: Progress, *, rest: bool
) -> Verdict:
    applied = await ledger.read(connection, action_id)
    if applied is None or applied.state is not OutcomeState.APPLIED:
        state = applied.state.value if applied else "not there"
        raise Conflict(f"Only an applied action can be undone; this one is {state}.", {"state": state})
    if await ledger.is_undone(connection, action_id):
        return Verdict(state=OutcomeState.REFUSED, problem=Problem(operation="", message="This action was undone already."))
    schema = await records.held_schema(connection, [image.collection for image in applied.images])
    newest_first = list(reversed(applied.images))
    found, steps = await _compare(connection, newest_first, schema, rest=rest)
    for step in steps:
        progress.operation = step.image.operation
        authorize(principal, step, schema)
    crash.point("records.undo.locked")
    attempt = await connection.begin_nested()
    await records.use_write_settings(connection)
    done, refused = await _restore(connection, steps, schema, progress, rest=rest)
    found += refused
    progress.operation = ""
    if found and not (rest and done):
        await attempt.rollback()
        return Verdict(state=OutcomeState.REFUSED, mismatches=tuple(found))
    await connection.execute(rows.CHECK_NOW)
    astray = await _astray(records, connection, done, schema)
    if astray and not rest:
        await attempt.rollback()
        return Verdict(state=OutcomeState.REFUSED, mismatches=tuple(astray))
    found += astray
    await attempt.commit()
    crash.point("records.undo.written")
    return Verdict(state=OutcomeState.UNDONE, images=tuple(step.reversed() for step in done), mismatches=tuple(found))


class _Step:
    """One image to be reversed, with the record as it is found and the fields that go back."""

    def __init__(self, image: Image, current: Values, left_out: Container[str] = ()) -> None:
        self.image, self.current, self.key = image, current, image.key
        self.kind, self.collection = image.kind, image.collection
        self.restored = {
            name: text for name, text in image.before.items() if text != image.after.get(name) and name not in left_out
        }

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.restored)

    def reversed(self) -> Image:
        """What the undo did, for the ledger: before it, and after."""
        image = self.image
        if image.kind is Change.CREATE:
            return image.model_copy(update={"key": {}, "key_before": image.key, "before": image.after, "after": {}, "sealed": {}})
        before = {name: self.current[name] for name in self.restored}
        return image.model_copy(update={"key": self.key, "key_before": image.key, "before": before, "after": self.restored})


async def _compare(
    connection: AsyncConnection, images: Sequence[Image], schema: Schema, *, rest: bool
) -> tuple[list[Mismatch], list[_Step]]:
    """Locks every record and finds what is not as the action left it. Steps are what could be reversed; with `rest` also those
    fields of a changed record that are still as they were left."""
    found: list[Mismatch] = []
    steps: list[_Step] = []
    for image in images:
        collection = schema.collections.get(image.collection)
        if collection is None or set(collection.key) != set(image.key):
            found.append(_mismatch(image, message=f"{image.collection} is not there any more as it was"))
            continue
        wanted = _restorable(image)
        gone = [name for name in wanted if name not in collection.columns]
        names = [name for name in (collection.columns if image.kind is Change.CREATE else wanted) if name not in gone]
        current = await rows.read(connection, collection, image.key, [*names, *collection.key], lock=True)
        if current is None:
            found.append(_mismatch(image, message=f"{image.label} is not in {image.collection} any more"))
            continue
        wrong = [_mismatch(image, name, message=f"{image.collection} has no {name} any more") for name in gone]
        wrong += [
            _mismatch(image, name, image.after.get(name), current[name], message=f"{name} was edited since")
            for name in names
            if current[name] != image.after.get(name)
        ]
        if image.kind is Change.CREATE and await rows.read_sealed(connection, collection, image.key) != image.sealed:
            wrong.append(_mismatch(image, message="a field that may not be read was edited since"))
        found += wrong
        edited = {mismatch.field for mismatch in wrong}
        if not wrong or (rest and image.kind is Change.UPDATE and not edited.issuperset(wanted)):
            steps.append(_Step(image, current, edited))
    return found, steps


def _restorable(image: Image) -> list[str]:
    """The fields that have to be as they were left: of a created record all, of a changed one those that really changed."""
    if image.kind is Change.CREATE:
        return list(image.after)
    return [name for name, text in image.before.items() if text != image.after.get(name)]


async def _restore(
    connection: AsyncConnection, steps: Sequence[_Step], schema: Schema, progress: Progress, *, rest: bool
) -> tuple[list[_Step], list[Mismatch]]:
    """Which steps were done, and what was in the way of the others. With `rest` what the database refuses is in the way too."""
    done: list[_Step] = []
    found: list[Mismatch] = []
    for step in steps:
        progress.operation = step.image.operation
        try:
            if rest:
                async with connection.begin_nested():
                    references = await _reverse(connection, step, schema)
            else:
                references = await _reverse(connection, step, schema)
        except (DBAPIError, NotDone) as error:
            if not rest or (isinstance(error, DBAPIError) and not is_final(error)):
                raise
            message = write_failure(error) if isinstance(error, DBAPIError) else str(error)
            references = [_mismatch(step.image, message=message.rstrip("."))]
        found += references
        if not references:
            done.append(step)
        crash.point("records.undo.operation")
    return done, found


async def _reverse(connection: AsyncConnection, step: _Step, schema: Schema) -> list[Mismatch]:
    """Reverses one step, unless something refers to what it would remove: then that is returned, and nothing was changed."""
    collection = schema.collection(step.collection)
    if step.kind is Change.CREATE:
        if references := await _references(connection, step, collection, schema):
            return references
        await rows.take_back(connection, collection, step.image.key)
    elif step.restored:
        step.key = await rows.change(connection, collection, step.image.key, step.restored)
    return []


async def _astray(records: Records, connection: AsyncConnection, steps: Sequence[_Step], schema: Schema) -> list[Mismatch]:
    """What is not as it was after all, because the team's own triggers changed it again; each step then says what there is.

    What a later step's trigger changed is put back once more: counters that go up and down with other records.
    """
    strayed = [step for step in steps if await _found(records, connection, step, schema) != step.restored]
    await records.use_write_settings(connection)
    for step in strayed:
        step.key = await rows.change(connection, schema.collection(step.collection), step.key, step.restored)
    await connection.execute(rows.CHECK_NOW)
    astray: list[Mismatch] = []
    for step in steps:
        found = await _found(records, connection, step, schema)
        for name, text in step.restored.items():
            if found[name] != text:
                astray.append(_mismatch(step.image, name, text, found[name], message=f"the database itself changes {name} again"))
        step.restored = found
    return astray


async def _found(records: Records, connection: AsyncConnection, step: _Step, schema: Schema) -> Values:
    """The restored fields as they are now. The step's key is spelled as in every image from here on."""
    if step.kind is Change.CREATE or not step.restored:
        return step.restored
    await records.use_one_spelling(connection)
    collection = schema.collection(step.collection)
    found = await rows.read(connection, collection, step.key, list(dict.fromkeys((*step.restored, *collection.key))))
    if found is None:
        raise NotDone(f"{step.image.label} was gone right after it was put back")
    step.key = {name: found[name] or "" for name in collection.key}
    return {name: found[name] for name in step.restored}


async def _references(connection: AsyncConnection, step: _Step, collection: Collection, schema: Schema) -> list[Mismatch]:
    """What refers to a created record by now. A delete that cascades would take it along, so it is looked for first."""
    found = []
    for key in schema.referring_to(collection):
        if any(name in step.current and step.current[name] is None for name in key.target_columns):
            continue
        if await _refers(connection, step, collection, key):
            found.append(_mismatch(step.image, message=f"{key.table} refers to {step.image.label} by now"))
    return found


async def _refers(connection: AsyncConnection, step: _Step, collection: Collection, key: ForeignKey) -> bool:
    """Also true when it cannot be known: a table or a column that may not be read could hold a reference."""
    if not all(name in step.current for name in key.target_columns):
        return True
    try:
        async with connection.begin_nested():
            return await rows.is_referred_to(connection, collection, key, step.current)
    except DBAPIError as error:
        if sqlstate(error) == "42501":
            return True
        raise


def _mismatch(image: Image, field: str = "", expected: str | None = None, found: str | None = None, *, message: str) -> Mismatch:
    return Mismatch(
        operation=image.operation,
        collection=image.collection,
        label=image.label,
        field=field,
        expected=expected,
        found=found,
        message=message,
    )
