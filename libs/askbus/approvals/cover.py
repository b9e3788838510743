"""What a standing approval covers, and whether a proposal lies within it. Pure; where in doubt it does not."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from askbus.records.changes import MOST_OPERATIONS, Change, FieldChange, PreparedOperation
from askbus.records.model import Kind

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]

MOST_FIELDS = 50
MOST_VALUES = 100

BOUNDED = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.DATE})
"""Kinds whose values have an order that is the same for everybody, and are exact."""
LISTED = BOUNDED | {Kind.TEXT, Kind.ENUM, Kind.BOOLEAN, Kind.UUID}
"""Kinds of which a value has one spelling."""


class FieldWish(BaseModel):
    """One field that may be changed. Without limits to any value, nothing at all included; with limits to what lies within all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: Name
    values: Annotated[tuple[JsonValue, ...], Field(min_length=1, max_length=MOST_VALUES)] | None = None
    minimum: JsonValue = None
    maximum: JsonValue = None


class Wish(BaseModel):
    """What a person approves: changes of these kinds to these fields of one collection, so many records at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    collection: Name
    kinds: Annotated[frozenset[Change], Field(min_length=1)]
    fields: Annotated[tuple[FieldWish, ...], Field(min_length=1, max_length=MOST_FIELDS)]
    most_records: Annotated[int, Field(ge=1, le=MOST_OPERATIONS)] = 1

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        if len({wish.field for wish in self.fields}) != len(self.fields):
            raise ValueError("a field is named once")
        return self


class FieldCover(BaseModel):
    """A field that may be changed, and to what: values and bounds as Postgres spells them. `kind` is the field's, as it was then."""

    model_config = ConfigDict(frozen=True)

    field: str
    kind: Kind
    values: tuple[str | None, ...] | None = None
    minimum: str | None = None
    maximum: str | None = None

    @model_validator(mode="after")
    def _can_be_told(self) -> Self:
        if self.values is not None and self.kind not in LISTED:
            raise ValueError(f"values of {self.field} ({self.kind.value}) cannot be listed")
        bounds = [bound for bound in (self.minimum, self.maximum) if bound is not None]
        if bounds and self.kind not in BOUNDED:
            raise ValueError(f"{self.field} ({self.kind.value}) has no bounds")
        ordered = [_ordered(bound, self.kind) for bound in bounds]
        if None in ordered or (len(bounds) == 2 and not _within(bounds[0], bounds[0], bounds[1], self.kind)):
            raise ValueError(f"the bounds of {self.field} leave nothing between them")
        return self

    def holds(self, change: FieldChange) -> bool:
        """Whether the change stays within. A record that is created only with it has no value that could be looked at yet."""
        if change.field != self.field or change.kind is not self.kind:
            return False
        if self.values is None and self.minimum is None and self.maximum is None:
            return True
        if change.ref is not None:
            return False
        if self.values is not None and not any(_same(change.after, value, self.kind) for value in self.values):
            return False
        return (self.minimum is None and self.maximum is None) or _within(change.after, self.minimum, self.maximum, self.kind)


class Cover(BaseModel):
    """All that a standing approval covers. It is stored once and never changed."""

    model_config = ConfigDict(frozen=True)

    collection: str
    kinds: tuple[Change, ...]
    fields: tuple[FieldCover, ...]
    most_records: int

    def holds(self, operations: Sequence[PreparedOperation]) -> bool:
        """Whether everything that these operations do lies within it."""
        return 0 < len(operations) <= self.most_records and all(self._holds(operation) for operation in operations)

    def _holds(self, operation: PreparedOperation) -> bool:
        fields = {cover.field: cover for cover in self.fields}
        return (
            operation.collection == self.collection
            and operation.kind in self.kinds
            and all(change.field in fields and fields[change.field].holds(change) for change in operation.changes)
        )


def _ordered(text: str | None, kind: Kind) -> Decimal | date | None:
    """The value where it has a place in the order; what Postgres calls NaN or infinity has none here."""
    if text is None:
        return None
    try:
        if kind is Kind.DATE:
            return date.fromisoformat(text)
        number = Decimal(text)
    except (ValueError, InvalidOperation):
        return None
    return number if number.is_finite() else None


def _same(one: str | None, other: str | None, kind: Kind) -> bool:
    if one == other:
        return True
    return kind.is_number and (number := _ordered(one, kind)) is not None and number == _ordered(other, kind)


def _within(text: str | None, minimum: str | None, maximum: str | None, kind: Kind) -> bool:
    value, least, most = (_ordered(each, kind) for each in (text, minimum, maximum))
    if isinstance(value, Decimal):
        return (least is None or (isinstance(least, Decimal) and least <= value)) and (
            most is None or (isinstance(most, Decimal) and value <= most)
        )
    if isinstance(value, date):
        return (least is None or (isinstance(least, date) and least <= value)) and (
            most is None or (isinstance(most, date) and value <= most)
        )
    return False
