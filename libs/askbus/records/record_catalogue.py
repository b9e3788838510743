"""What a deployment says of its records, in one file: how they are called and shown, whose they are, what is not to be read or written."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from string import Formatter
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from askbus.records.schema import Collection, Column, Project, Schema, Shown, nearest


class BadCatalogue(ValueError):
    """The file says something that cannot be, or that the database does not have; the text says what, line by line."""


class Format(StrEnum):
    """How numbers of a field are shown. `percent`: 7.5 is 7.5 %. `fraction`: 0.075 is 7.5 %. `plain`: digits without grouping."""

    PERCENT = "percent"
    FRACTION = "fraction"
    PLAIN = "plain"


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FieldEntry(_Entry):
    """What is said of one field. `currency` is an ISO 4217 code, `unit` stands behind the number."""

    currency: str = Field(default="", pattern=r"^([A-Z]{3})?$")
    unit: str = Field(default="", max_length=20)
    format: Format | None = None
    denied: bool = False
    never_written: bool = False


class ByColumn(_Entry):
    """Each record belongs to the project that is named in this column."""

    column: str


Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]


class CollectionEntry(_Entry):
    """What is said of one collection. `link` is a template with fields of the key: https://crm.example.com/orders/{id}."""

    name: Names = ()
    label: Names = ()
    project: str | ByColumn | None = None
    link: str = Field(default="", max_length=500, pattern=r"^(https?://.+)?$")
    never_written: bool = False
    fields: dict[str, FieldEntry] = {}


class RecordCatalogue(_Entry):
    """`projects` gives askbus's projects, by their ids, the names that they have in the records; a project without one has its id."""

    projects: dict[UUID, str] = {}
    collections: dict[str, CollectionEntry] = {}

    @property
    def divides(self) -> bool:
        """Whether any record belongs to some project and not to every one."""
        return any(entry.project is not None for entry in self.collections.values())

    def project_name(self, project_id: UUID) -> str:
        return self.projects.get(project_id, str(project_id))

    def marked(self, collection: Collection) -> Collection:
        """The collection with everything that is said of it. What it does not have is passed over; `problems` tells."""
        entry = self.collections.get(collection.name) or self.collections.get(f"{collection.schema}.{collection.table}")
        if entry is None:
            return collection
        columns = {column.name for column in collection.all_columns}
        return replace(
            collection,
            all_columns=tuple(_marked(column, entry.fields.get(column.name)) for column in collection.all_columns),
            never_write=collection.never_write
            or (f"{collection.name} is never changed here: the deployment lists it" if entry.never_written else ""),
            names=tuple(name for name in entry.name if name in columns),
            labels=tuple(name for name in entry.label or entry.name if name in columns),
            link=entry.link,
            project=_project(entry.project),
        )

    def problems(self, schema: Schema) -> list[str]:
        """What the database does not have as the file says it, a sentence each."""
        found = []
        for name, entry in self.collections.items():
            collection = schema.collections.get(name) or schema.qualified.get(name)
            if collection is None:
                found.append(f"collections.{name}: there is no such collection{_like(name, schema.collections)}")
                continue
            found += _wrong(name, entry, {column.name: column for column in collection.all_columns}, collection)
        return found


def load(path: Path) -> RecordCatalogue:
    """The catalogue in the TOML or JSON file at `path`. Raises BadCatalogue."""
    try:
        text = path.read_text("utf-8")
        read = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        return RecordCatalogue.model_validate(read)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False)]
        raise BadCatalogue("\n".join(lines)) from error
    except (OSError, ValueError) as error:
        raise BadCatalogue(f"the file cannot be read: {error}") from error


def _project(said: str | ByColumn | None) -> Project | None:
    if said is None:
        return None
    return Project("", said) if isinstance(said, str) else Project(said.column, "")


def _marked(column: Column, entry: FieldEntry | None) -> Column:
    if entry is None:
        return column
    shown = Shown(currency=entry.currency, unit=entry.unit, format=entry.format.value if entry.format else "")
    return column.model_copy(
        update={"shown": shown, "denied": column.denied or entry.denied, "never_written": entry.never_written}
    )


def _wrong(name: str, entry: CollectionEntry, columns: Mapping[str, Column], collection: Collection) -> Iterator[str]:
    at = f"collections.{name}"
    readable = collection.columns
    for what, names in (("name", entry.name), ("label", entry.label)):
        for one in names:
            if one not in readable:
                yield f"{at}.{what}: {name} has no field {one} that may be read{_like(one, readable)}"
    if isinstance(entry.project, ByColumn) and entry.project.column not in columns:
        yield f"{at}.project: {name} has no field {entry.project.column}{_like(entry.project.column, columns)}"
    for one, said in entry.fields.items():
        if one not in columns:
            yield f"{at}.fields.{one}: {name} has no such field{_like(one, columns)}"
        elif (said.currency or said.unit or said.format) and not columns[one].kind.is_number:
            yield f"{at}.fields.{one}: a {columns[one].kind.value} field has no currency, unit or format of numbers"
    if entry.link:
        yield from _wrong_link(at, entry.link, collection)


def _wrong_link(at: str, link: str, collection: Collection) -> Iterator[str]:
    try:
        placed = [one for _, one, _, _ in Formatter().parse(link) if one is not None]
    except ValueError:
        yield f"{at}.link: its braces do not match"
        return
    if wrong := [one for one in placed if one not in collection.key]:
        yield f"{at}.link: {wrong[0] or '{}'} is no field of the key; that is {', '.join(collection.key) or 'missing'}"


def _like(name: str, names: Mapping[str, object]) -> str:
    found = nearest(name, list(names), 3)
    return f"; there are {', '.join(found)}" if found else ""
