"""The live schema as askbus sees it: collections, their fields, and how they refer to each other. Pure; `catalogue` reads it."""

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import BaseModel, ConfigDict, JsonValue

from askbus.errors import NotFound, PermissionDenied
from askbus.records.model import Kind

KINDS = {
    "int2": Kind.INTEGER, "int4": Kind.INTEGER, "int8": Kind.INTEGER,
    "numeric": Kind.DECIMAL, "money": Kind.DECIMAL,
    "float4": Kind.FLOAT, "float8": Kind.FLOAT,
    "bool": Kind.BOOLEAN,
    "date": Kind.DATE, "time": Kind.TIME, "timetz": Kind.TIME,
    "timestamp": Kind.TIMESTAMP, "timestamptz": Kind.TIMESTAMPTZ,
    "uuid": Kind.UUID, "json": Kind.JSON, "jsonb": Kind.JSON, "bytea": Kind.BINARY,
}  # fmt: skip
SORTABLE = frozenset(Kind) - {Kind.JSON, Kind.BINARY, Kind.ARRAY, Kind.OTHER}

LONGEST_NAMED = 252  # characters of a name that an error repeats: a path through four references takes no more

LABELS = (
    "name", "full_name", "display_name", "first_name last_name", "given_name family_name", "title", "label", "subject", "company",
    "reference", "code", "number", "sku", "slug", "username", "email",
)  # fmt: skip
"""Columns that name a record, the best first, when a deployment says nothing else."""


class Shown(BaseModel):
    """How numbers of a column are shown: an ISO 4217 currency, a unit behind them, or `percent`, `fraction` or `plain`."""

    model_config = ConfigDict(frozen=True)

    currency: str = ""
    unit: str = ""
    format: str = ""


class Column(BaseModel):
    """A column as the catalogue describes it. `base` is what a value is cast to: the type below any domains, without a length,
    so that a value that is too long is refused by the assignment rather than cut by the cast."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    base: str
    base_name: str
    base_type: str
    base_category: str
    modifier: int
    nullable: bool
    has_default: bool
    identity: str
    generated: bool
    may_insert: bool
    may_update: bool
    comment: str
    labels: tuple[str, ...]
    denied: bool = False
    """On the deny list: neither read nor written, named nowhere but in refusals."""
    never_written: bool = False
    """Read, and filled by others alone."""
    shown: Shown = Shown()

    @cached_property
    def kind(self) -> Kind:
        if self.base_type == "e":
            return Kind.ENUM
        if self.base_category == "A":
            return Kind.ARRAY
        if self.base_category == "S":
            return Kind.TEXT
        return KINDS.get(self.base_name, Kind.OTHER)

    @property
    def computed(self) -> bool:
        """Filled by the database alone: a generated column, or an identity that takes no value."""
        return self.generated or self.identity == "a"

    @property
    def required(self) -> bool:
        """Whether a create must give it a value."""
        return not (self.nullable or self.has_default or self.identity or self.generated)

    @property
    def length(self) -> int | None:
        """The most characters it takes (varchar(n), char(n)); None is any number."""
        return self.modifier - 4 if self.base_name in {"varchar", "bpchar"} and self.modifier >= 4 else None

    @property
    def numeric(self) -> tuple[int, int] | None:
        """Precision and scale of a numeric(p, s). The modifier packs both; the scale is 11 bits, signed (numeric.c)."""
        if self.base_name != "numeric" or self.modifier < 4:
            return None
        packed = self.modifier - 4
        return packed >> 16, ((packed & 0x7FF) ^ 1024) - 1024


def computed_column(name: str, base: str, base_name: str, shown: str) -> Column:
    """What a statement computes, as if it were a column: compared as `base` (Postgres's pg_type calls it `base_name`)."""
    return Column(
        name=name, type=shown, base=base, base_name=base_name, base_type="b", base_category="", modifier=-1, nullable=True,
        has_default=False, identity="", generated=True, may_insert=False, may_update=False, comment="", labels=(),
    )  # fmt: skip


@dataclass(frozen=True)
class ForeignKey:
    """`columns` of one table hold the `target_columns` of another. Also between tables that this role may not read."""

    name: str
    oid: int
    schema: str
    table: str
    columns: tuple[str, ...]
    target_oid: int
    target_root: int
    """The partitioned table that the target is a part of, else the target itself."""
    target_columns: tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """A way from one collection to another. `many`: one record here has any number there, so a join would multiply."""

    name: str
    columns: tuple[str, ...]
    target: str
    target_columns: tuple[str, ...]
    many: bool


@dataclass(frozen=True)
class Project:
    """Whose records these are: those of the project in `column`, or without one all of them the project's with this `name`."""

    column: str
    name: str


@dataclass(frozen=True, eq=False)
class Collection:
    """A table, view, materialised view or foreign table. `read_only` says why nothing can be written, or is empty."""

    name: str
    oid: int
    schema: str
    table: str
    kind: str
    comment: str
    all_columns: tuple[Column, ...]
    keys: tuple[tuple[str, ...], ...]
    insertable: bool
    updatable: bool
    never_write: str = ""
    relations: Mapping[str, Relation] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    """The fields by which a record is found, where a deployment says so."""
    labels: tuple[str, ...] = ()
    """And those that name it to a person."""
    link: str = ""
    project: Project | None = None
    """Whose records they are; with a column, `name` is the project for which they are read and written now."""

    @cached_property
    def columns(self) -> dict[str, Column]:
        """What may be read."""
        return {column.name: column for column in self.all_columns if not column.denied}

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a record: the primary key, else a unique one without NULLs; empty if there is none."""
        for names in self.keys:
            if all(name in self.columns and not self.columns[name].nullable for name in names):
                return names
        return ()

    @cached_property
    def read_only(self) -> str:
        if self.never_write:
            return self.never_write
        if not self.key:
            return f"{self.name} has no primary key, so its records cannot be told apart"
        if not (self.insertable or self.updatable):
            return f"{self.name} is a {self.kind} that cannot be written"
        return ""

    @cached_property
    def label(self) -> tuple[str, ...]:
        """The columns whose values name a record to a person, joined by blanks; at worst its key."""
        if own := tuple(name for name in self.labels if name in self.columns):
            return own
        texts = {folded(name): name for name, column in self.columns.items() if column.kind is Kind.TEXT}
        for wanted in LABELS:
            parts = [folded(part) for part in wanted.split()]
            found = [texts.get(part) or texts.get(folded(self.table).removesuffix("s") + part) for part in parts]
            if all(found):
                return tuple(name for name in found if name)
        return self.key

    def column(self, name: str) -> Column:
        """The column called exactly that. Raises NotFound or PermissionDenied, with the nearest names that may be read."""
        if (found := self.columns.get(name)) is not None:
            return found
        denied = any(column.name == name for column in self.all_columns)
        raise refusal(f"field {name!r} of {self.name}", name, self.columns, denied=denied)


@dataclass(frozen=True)
class Abilities:
    """What the server offers for finding names. `trigrams` is the schema that pg_trgm is in, if it is installed and may be used;
    `letters` says whether letters beyond ASCII are letters to it, which the database's LC_CTYPE decides."""

    version: int
    utf8: bool
    icu: bool
    trigrams: str | None
    letters: bool


@dataclass(frozen=True, eq=False)
class Schema:
    """Everything that may be read in one database, at one moment. `fingerprint` moves with the next DDL."""

    fingerprint: str
    abilities: Abilities
    collections: Mapping[str, Collection]
    foreign_keys: tuple[ForeignKey, ...] = ()

    def collection(self, name: str) -> Collection:
        """The collection called exactly that; a schema in front is accepted. Raises NotFound with the nearest names."""
        if (found := self.collections.get(name) or self.qualified.get(name)) is not None:
            return found
        raise refusal(f"collection {name!r}", name, self.collections, denied=False)

    def referring_to(self, collection: Collection) -> list[ForeignKey]:
        """Every foreign key that points at it, or at one of its partitions."""
        return [key for key in self.foreign_keys if key.target_root == collection.oid]

    def within(self, project: str) -> "Schema":
        """What there is for one project: its own collections, and its own records of those that are divided."""
        if project not in self._within:
            visible = {
                name: found if found.project is None else replace(found, project=Project(found.project.column, project))
                for name, found in self.collections.items()
                if found.project is None or found.project.column or found.project.name == project
            }
            kept = {
                name: replace(found, relations={way: to for way, to in found.relations.items() if to.target in visible})
                for name, found in visible.items()
            }
            self._within[project] = replace(self, collections=kept)
        return self._within[project]

    @cached_property
    def _within(self) -> "dict[str, Schema]":
        return {}

    @cached_property
    def qualified(self) -> dict[str, Collection]:
        return {f"{found.schema}.{found.table}": found for found in self.collections.values()}

    @cached_property
    def by_oid(self) -> dict[int, Collection]:
        return {found.oid: found for found in self.collections.values()}


def folded(name: str) -> str:
    """first_name, firstName and FIRSTNAME are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def refusal(what: str, name: str, permitted: Iterable[str], *, denied: bool) -> NotFound | PermissionDenied:
    """The error for a name that is unknown or forbidden: it says which, and what is permitted."""
    short = name if len(name) <= LONGEST_NAMED else f"{name[:LONGEST_NAMED]}…"
    what, name = what.replace(repr(name), repr(short)), short
    names = list(permitted)
    listed: list[JsonValue] = list(nearest(name, names))
    hint = f" Permitted: {', '.join(map(str, listed))}{', …' if len(names) > len(listed) else ''}." if listed else ""
    if denied:
        return PermissionDenied(f"The {what} may not be read or written.{hint}", {"name": name, "permitted": listed})
    return NotFound(f"There is no {what}.{hint}", {"name": name, "permitted": listed})


def nearest(name: str, names: list[str], most: int = 8) -> list[str]:
    """The names most like `name`, the nearest first."""
    asked = name.lower()

    def likeness(candidate: str) -> float:
        lowered = candidate.lower()
        holds = bool(asked) and (asked in lowered or lowered in asked)
        return difflib.SequenceMatcher(None, asked, lowered).ratio() + (0.5 if holds else 0)

    return sorted(names, key=likeness, reverse=True)[:most]
