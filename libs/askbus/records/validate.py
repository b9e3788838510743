"""What can be said of proposed operations from the schema alone: names, types, what is required, what refers to what."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from askbus.access.model import Principal
from askbus.errors import NotFound, PermissionDenied
from askbus.records.authorize import authorize
from askbus.records.changes import REF, Change, Key, Operation, Problem
from askbus.records.schema import Collection, Column, ForeignKey, Schema
from askbus.records.values import Unsuitable, to_text


@dataclass
class Draft:
    """An operation whose values are texts that Postgres can be given. `refs`: field to the operation whose new key goes there."""

    operation: Operation
    collection: Collection
    key: Key = field(default_factory=dict)
    texts: dict[str, str | None] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)

    @property
    def creates(self) -> bool:
        return self.operation.kind is Change.CREATE


def drafts_of(principal: Principal, operations: Sequence[Operation], schema: Schema) -> tuple[list[Draft], list[Problem]]:
    """Every operation as a draft, and everything that is wrong with them, so that one answer shows it all."""
    drafts: list[Draft] = []
    problems: list[Problem] = []
    created: dict[str, Collection] = {}
    seen: set[str] = set()
    for operation in [_in_project(operation, schema) for operation in operations]:
        if operation.id in seen:
            problems.append(Problem(operation=operation.id, message="another operation has this id"))
        seen.add(operation.id)
        if (refused := _denied(principal, operation, (), schema)) is not None:
            problems.append(refused)
            continue
        draft = Draft(operation, schema.collection(operation.collection))
        forbidden = {name: found for name in operation.values if (found := _denied(principal, operation, (name,), schema))}
        problems += [*forbidden.values(), *_key(draft), *_values(draft, forbidden, created, schema), *_missing(draft)]
        drafts.append(draft)
        if draft.creates:
            created[operation.id] = draft.collection
    return drafts, problems


def foreign_keys_of(schema: Schema, collection: Collection) -> list[ForeignKey]:
    """The references that a collection's records hold, as far as their targets may be read."""
    return [key for key in schema.foreign_keys if key.oid == collection.oid and key.target_oid in schema.by_oid]


def referred_column(schema: Schema, collection: Collection, name: str, target: Collection) -> str | None:
    """Which column of a new `target` record goes into `name`: the referred one, or its key where nothing is declared."""
    declared = [key for key in schema.foreign_keys if key.oid == collection.oid and name in key.columns]
    for key in declared:
        if key.target_oid == target.oid:
            return key.target_columns[key.columns.index(name)]
    if declared or len(target.key) != 1:
        return None
    return target.key[0] if target.columns[target.key[0]].base == collection.columns[name].base else None


def _in_project(operation: Operation, schema: Schema) -> Operation:
    """A new record belongs to the project in which it is proposed, said or not."""
    collection = schema.collections.get(operation.collection) or schema.qualified.get(operation.collection)
    project = collection.project if collection is not None else None
    if operation.kind is not Change.CREATE or project is None or not project.column or project.column in operation.values:
        return operation
    return operation.model_copy(update={"values": {**operation.values, project.column: project.name}})


def _elsewhere(draft: Draft, name: str, text: str | None) -> Problem | None:
    project = draft.collection.project
    if project is None or project.column != name or text == project.name:
        return None
    message = "the record belongs to the project of this conversation; leave it out"
    return Problem(operation=draft.operation.id, field=name, message=message)


@dataclass(frozen=True)
class _Part:
    """An operation narrowed to some of its fields, so that each is refused under its own name."""

    kind: Change
    collection: str
    fields: tuple[str, ...]


def _denied(principal: Principal, operation: Operation, fields: tuple[str, ...], schema: Schema) -> Problem | None:
    try:
        authorize(principal, _Part(operation.kind, operation.collection, fields), schema)
    except (NotFound, PermissionDenied) as error:
        return Problem(operation=operation.id, field="".join(fields), message=error.message.removesuffix("."))
    return None


def _key(draft: Draft) -> list[Problem]:
    operation, collection = draft.operation, draft.collection
    if draft.creates:
        return []
    given = operation.record if isinstance(operation.record, dict) else dict.fromkeys(collection.key, operation.record)
    if set(given) != set(collection.key) or (len(collection.key) > 1 and not isinstance(operation.record, dict)):
        return [Problem(operation=operation.id, field="record", message=f"name the record by {', '.join(collection.key)}")]
    problems = []
    for name, value in given.items():
        text, problem = _text(operation.id, collection.columns[name], value)
        if problem or text is None:
            problems.append(problem or Problem(operation=operation.id, field=name, message="a key is never empty"))
        else:
            draft.key[name] = text
    return problems


def _values(draft: Draft, forbidden: Container[str], created: dict[str, Collection], schema: Schema) -> list[Problem]:
    problems = []
    for name, value in draft.operation.values.items():
        if name in forbidden:
            continue
        column = draft.collection.columns[name]
        if isinstance(value, str) and value.startswith(REF):
            problems += _reference(draft, name, value.removeprefix(REF), created, schema)
            continue
        text, problem = _text(draft.operation.id, column, value)
        if problem is None and text is None and not column.nullable:
            problem = Problem(operation=draft.operation.id, field=name, message="it must have a value")
        problem = problem or _elsewhere(draft, name, text)
        if problem is not None:
            problems.append(problem)
        draft.texts[name] = text
    return problems


def _text(operation: str, column: Column, value: JsonValue) -> tuple[str | None, Problem | None]:
    try:
        return to_text(value, column), None
    except Unsuitable as error:
        return None, Problem(operation=operation, field=column.name, message=str(error))


def _reference(draft: Draft, name: str, target: str, created: dict[str, Collection], schema: Schema) -> list[Problem]:
    operation = draft.operation
    if target not in created:
        return [Problem(operation=operation.id, field=name, message=f"no earlier operation called {target!r} creates a record")]
    if referred_column(schema, draft.collection, name, created[target]) is None:
        message = f"it does not refer to {created[target].name}"
        return [Problem(operation=operation.id, field=name, message=message)]
    draft.refs[name] = target
    return []


def _missing(draft: Draft) -> list[Problem]:
    """Fields that a create has to give, also those that askbus may not write: then the record cannot be made here."""
    if not draft.creates:
        return []
    problems = []
    for column in draft.collection.all_columns:
        if column.required and column.name not in draft.operation.values:
            message = "it may not be written here, and a new record needs it" if column.denied else "a new record needs it"
            problems.append(Problem(operation=draft.operation.id, field=column.name, message=message))
    return problems
