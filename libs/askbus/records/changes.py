"""What is to be changed, what was found when it was proposed, and what became of it. Pure; no type here can delete."""

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from askbus.records.model import Kind, Request

MOST_OPERATIONS = 100
REF = "$ref:"

Key = dict[str, str]
"""A record's key: column to value, as Postgres spells it."""


class Change(StrEnum):
    CREATE = "create"
    UPDATE = "update"


class Operation(Request):
    """One record to create, or one to update. Nothing can be deleted."""

    id: str = Field(pattern=r"^[A-Za-z0-9_-]{1,40}$", description="A short name of your choice; others refer to it.")
    kind: Change
    collection: str
    record: int | str | dict[str, JsonValue] | None = Field(
        default=None, description="For update: the record's primary key, or an object when the key has several fields."
    )
    values: dict[str, JsonValue] = Field(
        min_length=1,
        max_length=200,
        description='Field to new value. Decimals as strings. "$ref:<id>" stands for the key of a record that an earlier '
        "operation creates.",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.record is not None) != (self.kind is Change.UPDATE):
            raise ValueError("an update names its record, a create does not")
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.values)


class FieldChange(BaseModel):
    """One field's old and new value, as Postgres spells them (None is NULL), and as a person reads them."""

    model_config = ConfigDict(frozen=True)

    field: str
    kind: Kind
    type: str
    before: str | None = None
    after: str | None = None
    ref: str | None = None
    """The earlier operation whose new record's key goes here; `after` is None then."""
    before_display: str = ""
    after_display: str = ""


class PreparedOperation(BaseModel):
    """A validated operation with its before-snapshot: what is stored, what the card shows and what is applied."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: Change
    collection: str
    key: Key = {}
    """Empty for a create."""
    label: str
    changes: tuple[FieldChange, ...] = Field(min_length=1)

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(change.field for change in self.changes)


class PreparedAction(BaseModel):
    """Operations that passed validation. `digest` is what a decision names: SHA-256 over their canonical JSON."""

    model_config = ConfigDict(frozen=True)

    operations: tuple[PreparedOperation, ...] = Field(min_length=1, max_length=MOST_OPERATIONS)
    digest: str


class Problem(BaseModel):
    """Why one field of one operation cannot stand, in words for whoever proposed it. `field` is empty for the whole operation."""

    model_config = ConfigDict(frozen=True)

    operation: str
    field: str = ""
    message: str


class Mismatch(BaseModel):
    """A field that is not as it was left: proposed on one value, found with another; or a record that something depends on."""

    model_config = ConfigDict(frozen=True)

    operation: str
    collection: str
    label: str
    field: str = ""
    expected: str | None = None
    found: str | None = None
    message: str


class Image(BaseModel):
    """What one operation did to one record: its touched fields before and after; of a created record, every field."""

    model_config = ConfigDict(frozen=True)

    operation: str
    kind: Change
    collection: str
    label: str
    key: Key
    """The record's key afterwards."""
    key_before: Key = {}
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    sealed: dict[str, str | None] = Field({}, repr=False)
    """SHA-256 of a created record's columns that may not be read; kept in the ledger alone."""


class LedgerKind(StrEnum):
    APPLY = "apply"
    UNDO = "undo"


class OutcomeState(StrEnum):
    APPLIED = "applied"
    CONFLICTED = "conflicted"
    FAILED = "failed"
    UNDONE = "undone"
    REFUSED = "refused"


class Outcome(BaseModel):
    """What became of an action or of its undo, as the ledger in the records' own database has it."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    kind: LedgerKind
    action_id: UUID
    state: OutcomeState
    at: datetime
    images: tuple[Image, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    problem: Problem | None = None
    dry_run: bool = False


def digest_of(operations: Iterable[PreparedOperation]) -> str:
    """SHA-256, in hex, over the operations' JSON with sorted keys and no blanks: operations, values, snapshots, as shown."""
    listed = [operation.model_dump(mode="json") for operation in operations]
    text = json.dumps(listed, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
