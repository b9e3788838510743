"""Operations that were proposed become an action that can be shown and decided: validated, with before-snapshots and a digest."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic import JsonValue
from sqlalchemy import ColumnElement, and_, cast, exists, func, literal, not_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from askbus.access.model import Principal
from askbus.errors import InvalidInput
from askbus.records.authorize import require_writer
from askbus.records.changes import MOST_OPERATIONS, FieldChange, Operation, PreparedAction, PreparedOperation, Problem, digest_of
from askbus.records.display import PLAIN, Presentation, display
from askbus.records.engine import Records
from askbus.records.failures import is_passing, read_failure, unavailable, write_failure
from askbus.records.outputs import style_of
from askbus.records.rows import is_record
from askbus.records.schema import Collection, Column, ForeignKey, Schema
from askbus.records.source import PgType, bound, own, spelled, table_of
from askbus.records.validate import Draft, drafts_of, foreign_keys_of

MOST_TOLD = 10


async def prepare(
    records: Records, principal: Principal, operations: Sequence[Operation], presentation: Presentation = PLAIN
) -> PreparedAction:
    """Validates `operations` against the live schema and takes the before-snapshots. Nothing is written.

    Raises PermissionDenied for the role, and InvalidInput for everything else: `details.problems` lists for each its operation,
    field and what to do, so that whoever proposed can correct it. Unavailable and TimedOut when the database is away.
    """
    require_writer(principal)
    if not 1 <= len(operations) <= MOST_OPERATIONS:
        raise InvalidInput(f"An action has 1 to {MOST_OPERATIONS} operations; this has {len(operations)}.")
    schema = await records.schema(look=True)
    drafts, problems = drafts_of(principal, operations, schema)
    if problems:
        raise refused(problems)
    prepared: Sequence[PreparedOperation] = ()
    try:
        async with records.reading(principal) as connection:
            checks = [_Check(draft, schema) for draft in drafts]
            prepared, problems = await _run(connection, checks, presentation)
    except DBAPIError as error:
        if is_passing(error):
            raise unavailable(error) from error
        problems = await _blame(records, principal, drafts)
        if not problems:
            raise read_failure(error) from error
    if problems:
        raise refused(problems)
    return PreparedAction(operations=tuple(prepared), digest=digest_of(prepared))


def refused(problems: Sequence[Problem]) -> InvalidInput:
    """The one error for everything that is wrong, for the model and for programs."""
    lines = [f"{problem.operation}{'.' if problem.field else ''}{problem.field}: {problem.message}" for problem in problems]
    more = f"; and {len(lines) - MOST_TOLD} more" if len(lines) > MOST_TOLD else ""
    listed: list[JsonValue] = [problem.model_dump(mode="json") for problem in problems]
    return InvalidInput(f"Nothing was proposed. {'; '.join(lines[:MOST_TOLD])}{more}.", {"problems": listed})


async def _run(
    connection: AsyncConnection, checks: Sequence["_Check"], presentation: Presentation
) -> tuple[list[PreparedOperation], list[Problem]]:
    prepared: list[PreparedOperation] = []
    problems: list[Problem] = []
    touched: set[tuple[str, tuple[str, ...]]] = set()
    for check in checks:
        row = await check.look(connection)
        if row is None:
            problems.append(Problem(operation=check.draft.operation.id, field="record", message="there is no such record"))
            continue
        found, wrong = check.read(row, presentation)
        record = (found.collection, tuple(found.key.values()))
        if found.key and record in touched:
            wrong.append(Problem(operation=found.id, message="another operation changes this record too: put both into one"))
        touched.add(record)
        problems += wrong
        prepared.append(found)
    return prepared, problems


async def _blame(records: Records, principal: Principal, drafts: Sequence[Draft]) -> list[Problem]:
    """Which values the database itself refuses: each is tried alone."""
    problems = []
    async with records.reading(principal) as connection:
        for draft in drafts:
            given = {**draft.key, **draft.texts}
            for name, text in given.items():
                try:
                    async with connection.begin_nested():
                        await connection.execute(select(_stored(text, draft.collection.columns[name])))
                except DBAPIError as error:
                    problems.append(Problem(operation=draft.operation.id, field=name, message=write_failure(error).rstrip(".")))
    return problems


def _stored(text: str | None, column: Column) -> ColumnElement[Any]:
    """The value as the column would hold it, rounding and domain checks included."""
    return spelled(cast(bound(text, column), PgType(column.type)))


class _Check:
    """All that one operation needs from the database, in one statement: the values as they would be stored, the record as it
    stands, whether what it refers to exists, whether a unique value is taken."""

    def __init__(self, draft: Draft, schema: Schema) -> None:
        self.draft, self.schema = draft, schema
        self.collection = draft.collection
        self.table = table_of(draft.collection)
        self.references = [
            key
            for key in foreign_keys_of(schema, draft.collection)
            if all(draft.texts.get(name) is not None for name in key.columns)
        ]
        taken = [key for key in draft.collection.keys if all(draft.texts.get(name) is not None for name in key)]
        self.uniques = [key for key in taken if all(name in draft.collection.columns for name in key)]
        self.named = [key for key in foreign_keys_of(schema, draft.collection) if len(key.columns) == 1 and self._naming(key)]

    def columns(self) -> dict[str, ColumnElement[Any]]:
        """What is asked for, by a name that says what it is."""
        columns = self.collection.columns
        wanted: dict[str, ColumnElement[Any]] = {}
        wanted |= {f"new {name}": _stored(text, columns[name]) for name, text in self.draft.texts.items()}
        wanted |= {f"reference {place}": self._exists(key) for place, key in enumerate(self.references)}
        wanted |= {f"unique {place}": self._taken(key) for place, key in enumerate(self.uniques)}
        for key in self.named:
            name = key.columns[0]
            if self.draft.texts.get(name) is not None:
                wanted[f"new label {name}"] = self._label_of(key, bound(self.draft.texts[name], columns[name]))
            if name in self.draft.operation.values and not self.draft.creates:
                wanted[f"old label {name}"] = self._label_of(key, self.table.c[name])
        if not self.draft.creates:
            wanted |= {f"old {name}": spelled(self.table.c[name]) for name in self.draft.operation.values}
            wanted |= {f"key {name}": spelled(self.table.c[name]) for name in self.collection.key}
            wanted["label"] = func.concat_ws(" ", *(spelled(self.table.c[name]) for name in self.collection.label))
        return wanted

    async def look(self, connection: AsyncConnection) -> dict[str, Any] | None:
        """The answers by the names of `columns`; None when there is no such record."""
        wanted = self.columns()
        made = select(*(one.label(f"c{place}") for place, one in enumerate(wanted.values())))
        if not self.draft.creates:
            made = made.select_from(self.table).where(is_record(self.table, self.collection, self.draft.key))
        row = (await connection.execute(made)).one_or_none() if wanted else ()
        return None if row is None else dict(zip(wanted, row, strict=True))

    def read(self, row: dict[str, Any], presentation: Presentation) -> tuple[PreparedOperation, list[Problem]]:
        operation = self.draft.operation
        problems = [
            Problem(operation=operation.id, field=key.columns[0], message=f"there is no such {self._target(key).name}")
            for place, key in enumerate(self.references)
            if not row[f"reference {place}"]
        ]
        problems += [
            Problem(operation=operation.id, field=key[0], message=f"another record already has this {', '.join(key)}")
            for place, key in enumerate(self.uniques)
            if row[f"unique {place}"]
        ]
        changes = [self._change(name, row, presentation) for name in operation.values]
        if not self.draft.creates:
            changes = [change for change in changes if change.ref or not _same(change)]
            if not changes:
                problems.append(Problem(operation=operation.id, message="the record already has these values"))
                changes = [self._change(name, row, presentation) for name in operation.values]
        prepared = PreparedOperation(
            id=operation.id,
            kind=operation.kind,
            collection=self.collection.name,
            key={} if self.draft.creates else {name: row[f"key {name}"] for name in self.collection.key},
            label=self._label(row),
            changes=tuple(changes),
        )
        return prepared, problems

    def _change(self, name: str, row: dict[str, Any], presentation: Presentation) -> FieldChange:
        column = self.collection.columns[name]
        style = style_of(column, column.kind, plain=name in self.collection.key)
        before, after, ref = row.get(f"old {name}"), row.get(f"new {name}"), self.draft.refs.get(name)
        shown = [display(text, style, presentation) for text in (before, after)]
        for place, when in enumerate(("old", "new")):
            if label := row.get(f"{when} label {name}"):
                shown[place] = f"{label} ({(before, after)[place]})"
        return FieldChange(
            field=name,
            kind=column.kind,
            type=column.type,
            before=before,
            after=after,
            ref=ref,
            before_display="" if self.draft.creates else shown[0],
            after_display=f"the new record of {ref}" if ref else shown[1],
        )

    def _label(self, row: dict[str, Any]) -> str:
        if not self.draft.creates:
            return str(row["label"])
        parts = [row.get(f"new {name}") for name in self.collection.label]
        return " ".join(part for part in parts if part) or f"new {self.collection.name}"

    def _naming(self, key: ForeignKey) -> list[str]:
        """The fields that say more about the referred record than its key does."""
        target = self._target(key)
        return [name for name in target.label if name not in target.key]

    def _target(self, key: ForeignKey) -> Collection:
        return self.schema.by_oid[key.target_oid]

    def _exists(self, key: ForeignKey) -> ColumnElement[bool]:
        target = table_of(self._target(key)).alias("referred")
        texts, columns = self.draft.texts, self.collection.columns
        pairs = zip(key.columns, key.target_columns, strict=True)
        same = and_(*(target.c[other] == bound(texts[one], columns[one]) for one, other in pairs))
        return exists(select(literal(1)).select_from(target).where(same, *own(target, self._target(key))))

    def _taken(self, key: Sequence[str]) -> ColumnElement[bool]:
        other = self.table.alias("other")
        texts, columns = self.draft.texts, self.collection.columns
        conditions: list[ColumnElement[bool]] = [other.c[name] == bound(texts[name], columns[name]) for name in key]
        if not self.draft.creates:
            own = and_(*(other.c[name] == bound(self.draft.key[name], columns[name]) for name in self.collection.key))
            conditions.append(not_(own))
        return exists(select(literal(1)).select_from(other).where(*conditions))

    def _label_of(self, key: ForeignKey, value: ColumnElement[Any]) -> ColumnElement[Any]:
        """What the referred record is called, for the person who decides."""
        target = table_of(self._target(key)).alias("named")
        label = func.concat_ws(" ", *(spelled(target.c[name]) for name in self._naming(key)))
        referred = (target.c[key.target_columns[0]] == value, *own(target, self._target(key)))
        return select(label).select_from(target).where(*referred).limit(1).scalar_subquery()


def _same(change: FieldChange) -> bool:
    """Whether the new value is the old one; of numbers, however many zeros they are written with."""
    if change.before == change.after:
        return True
    if change.before is None or change.after is None or not change.kind.is_number:
        return False
    try:
        return Decimal(change.before) == Decimal(change.after)
    except InvalidOperation:
        return False
