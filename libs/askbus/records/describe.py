"""The schema in words for a model, within a budget: what is left out is named, never dropped in silence."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from askbus.records.deny import words
from askbus.records.schema import Collection, Column, Schema, nearest

MOST_CHARACTERS = 12_000
LONGEST_COMMENT = 160
MOST_LABELS = 20
FEWEST_NAMES = 500
"""Characters for the names of what did not fit, however large what did."""


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
    """What may be read. `names_only` are collections that did not fit; ask for them by name. `cut` says what is not here."""

    model_config = ConfigDict(frozen=True)

    collections: tuple[CollectionDescription, ...]
    names_only: tuple[str, ...] = ()
    total: int = 0
    """How many collections there are, or how many the search found."""
    cut: tuple[str, ...] = ()
    """What is not here and how to get it, a sentence each."""
    next_offset: int | None = None
    """Where to go on with collections that are not even named here."""


def describe(
    schema: Schema, names: Sequence[str] = (), most: int = MOST_CHARACTERS, *, search: str = "", offset: int = 0
) -> Description:
    """The named collections, those that `search` finds with the best first, or all of them from `offset` on; as far as `most`
    characters go, names of the rest included. At least one is always described, of a wide one its first fields.

    Raises NotFound with the nearest names.
    """
    found = [schema.collection(name) for name in names] or list(schema.collections.values())
    if search.strip():
        found = ranked(found, search)
    wanted = found[offset:]
    described: list[CollectionDescription] = []
    cut: list[str] = []
    left = most
    for collection in wanted:
        one = _describe(collection)
        size = len(one.model_dump_json())
        # The last quarter is for names, so that what does not fit is known to exist.
        if described and size > left - most // 4:
            break
        if size > left:
            one = _narrowed(one, left)
            cut.append(f"{collection.name} has {len(collection.columns)} fields, of which the first {len(one.fields)} are here.")
        described.append(one)
        left -= size
    named: list[str] = []
    left = max(left, FEWEST_NAMES)
    for collection in wanted[len(described) :]:
        left -= len(collection.name) + 3
        if left < 0:
            break
        named.append(collection.name)
    reached = offset + len(described) + len(named)
    if reached < len(found):
        cut.append(f"{len(found) - reached} more collections are neither described nor named: use search, or offset {reached}.")
    return Description(
        collections=tuple(described),
        names_only=tuple(named),
        total=len(found),
        cut=tuple(cut),
        next_offset=reached if reached < len(found) else None,
    )


def ranked(collections: Sequence[Collection], search: str) -> list[Collection]:
    """Those that have to do with the words of `search`: in their name, then their comment, then fields and theirs. Where nothing
    has, those whose names are nearest."""
    wanted = [word.removesuffix("s") or word for word in words(search)]
    scored = [(sum(_likeness(collection, word) for word in wanted), collection) for collection in collections]
    found = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1].name))
    if found:
        return [collection for _, collection in found]
    by_name = {collection.name: collection for collection in collections}
    return [by_name[name] for name in nearest(search, list(by_name))]


def _likeness(collection: Collection, word: str) -> int:
    """How much one word has to do with a collection."""
    mine = [one.removesuffix("s") or one for one in words(collection.name)]
    if word in mine:
        return 16
    if word in collection.name.lower():
        return 8
    if word in collection.comment.lower():
        return 4
    if any(word in column.name.lower() for column in collection.columns.values()):
        return 2
    return int(any(word in column.comment.lower() for column in collection.columns.values()))


def _narrowed(one: CollectionDescription, most: int) -> CollectionDescription:
    """With as many of its fields as fit, one at least; ways to other collections go first."""
    bare = one.model_copy(update={"fields": (), "references": (), "referred_by": ()})
    left = most - len(bare.model_dump_json())
    fields: list[str] = []
    for field in one.fields:
        left -= len(field) + 3
        if fields and left < 0:
            break
        fields.append(field)
    return bare.model_copy(update={"fields": tuple(fields)})


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
