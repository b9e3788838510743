"""What a metric is given and what it comes to. Pure, and exact: every number is a Decimal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Cell: TypeAlias = Decimal | date | datetime | bool | str | JsonValue
"""A value of a table: every number is a Decimal, a date a date, a moment a datetime; anything else as JSON has it. None is no value."""


class NoData(Exception):
    """There is nothing to compute a figure from; the text says what is missing, to whoever asked."""


class Missing(StrEnum):
    """Why a figure has no value."""

    NO_DATA = "no_data"
    DIVISION_BY_ZERO = "division_by_zero"
    UNDEFINED = "undefined"


class Figure(BaseModel):
    """What a metric comes to: the exact `value`, and `display` to be shown as it stands. Without a value `missing` says why,
    and `note` what to do. A share has the unit % where its value is in percent, and none where 0.075 stands for 7.5 %."""

    model_config = ConfigDict(frozen=True)

    metric: str
    value: Decimal | None
    display: str
    currency: str | None = None
    unit: str | None = None
    missing: Missing | None = None
    note: str | None = None


class Measure(BaseModel):
    """How a figure is meant and shown: `currency` (ISO 4217) or `unit` behind the number; `percent`: the value is in percent, `fraction`: a
    hundred times it is. `places` behind the point are shown; the value keeps all that it has."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    currency: str = Field(default="", pattern=r"^([A-Z]{3})?$")
    unit: str = Field(default="", max_length=20)
    percent: bool = False
    fraction: bool = False
    places: int = Field(default=2, ge=0, le=12)


@dataclass(frozen=True)
class Table:
    """The rows of one read, whole, by the names of their columns."""

    rows: Sequence[Mapping[str, Cell]]

    def number(self, name: str, nothing: Decimal | None = None) -> Decimal:
        """The number of the only row; `nothing` where there is no row or no value. Raises NoData where that is not given either."""
        if len(self.rows) > 1:
            raise ValueError(f"{name} stands in {len(self.rows)} rows; read one")
        found = self.numbers(name)
        if found:
            return found[0]
        if nothing is None:
            raise NoData("There are no records to compute it from.")
        return nothing

    def numbers(self, name: str) -> list[Decimal]:
        """The numbers of a column, in the order of the rows; missing ones are left out."""
        found = [row[name] for row in self.rows]
        wrong = next((cell for cell in found if not (cell is None or isinstance(cell, Decimal))), None)
        if wrong is not None:
            raise TypeError(f"{name} holds {type(wrong).__name__}, which is no number")
        return [cell for cell in found if isinstance(cell, Decimal)]


Reads: TypeAlias = Mapping[str, Table]
"""The tables that a metric is computed from, by the names that its reads have."""
