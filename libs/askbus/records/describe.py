"""The schema in words for a model, within a budget: what is left out is named, never dropped in silence."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from askbus.records.schema import Collection, Column, Schema

MOST_CHARACTERS = 12_000
LONGEST_COMMENT = 160
MOST_LABELS = 20


class CollectionDescription(BaseModel):
    """One collection. `fields` are lines such as `email: character varying(60), required`; `references` lead to one record and
    may be used in a field's path; `referred_by` lead to any number and may be used in filters."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str
    comment: str = ""
    key: tuple[str, ...]
    label: tuple[str, ...]
    fields: tuple[str, ...]
    references: tuple[str, ...]
    referred_by: tuple[str, ...]
    read_only: str = ""


class Description(BaseModel):
    """What may be read. `names_only` are collections that did not fit; ask for them by name."""

    model_config = ConfigDict(frozen=True)

    collections: tuple[CollectionDescription, ...]
    names_only: tuple[str, ...] = ()


def describe(schema: Schema, names: Sequence[str] = (), most: int = MOST_CHARACTERS) -> Description:
    """The named collections, or all of them, as far as `most` characters go; at least one is always described.

    Raises NotFound with the nearest names.
    """
    wanted = [schema.collection(name) for name in names] or list(schema.collections.values())
    described: list[CollectionDescription] = []
    size = 0
    for collection in wanted:
        one = _describe(collection)
        size += len(one.model_dump_json())
        if described and size > most:
            break
        described.append(one)
    return Description(collections=tuple(described), names_only=tuple(rest.name for rest in wanted[len(described) :]))


def _describe(collection: Collection) -> CollectionDescription:
    ways = {relation.name: relation for relation in collection.relations.values()}.values()
    return CollectionDescription(
        name=collection.name,
        kind=collection.kind,
        comment=_short(collection.comment),
        key=collection.key,
        label=collection.label,
        fields=tuple(_field(column) for column in collection.columns.values()),
        references=tuple(f"{way.name} ({', '.join(way.columns)}) -> {way.target}" for way in ways if not way.many),
        referred_by=tuple(way.name for way in ways if way.many),
        read_only=collection.read_only,
    )


def _field(column: Column) -> str:
    notes = [f"{column.name}: {column.type}"]
    if column.labels:
        more = ", …" if len(column.labels) > MOST_LABELS else ""
        notes.append(f"one of {', '.join(column.labels[:MOST_LABELS])}{more}")
    if column.computed:
        notes.append("filled by the database")
    elif column.required:
        notes.append("required")
    elif not column.nullable:
        notes.append("never empty, has a default")
    return ", ".join(notes) + (f" ({_short(column.comment)})" if column.comment else "")


def _short(comment: str) -> str:
    return comment if len(comment) <= LONGEST_COMMENT else f"{comment[:LONGEST_COMMENT]}…"
