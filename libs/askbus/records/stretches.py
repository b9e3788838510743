"""Stretches of time to group by, in a named zone, whatever zone the session or the server is in.

A day of the zone is as long as it is there: 23 or 25 hours when clocks change, and the hour that is gone through twice stays two.
"""

from typing import Any

from sqlalchemy import ColumnElement, Text, bindparam, cast, func, literal_column

from askbus.errors import InvalidInput
from askbus.records.display import Presentation, Style
from askbus.records.model import Group, Kind, ResultColumn, Unit
from askbus.records.outputs import Output
from askbus.records.schema import Column, computed_column
from askbus.records.source import Field, PgType

TIMESTAMP, DATE = "timestamp without time zone", "date"


def stretch(
    field: Field, group: Group, unit: Unit, zone: str, presentation: Presentation
) -> tuple[ColumnElement[Any], Column, Output]:
    """Where the stretch begins that a moment lies in. What has no time zone is not shifted into one.

    Raises InvalidInput for a field that is no date or time, and for hours of a date.
    """
    kind = field.column.kind
    word: ColumnElement[Any] = literal_column(f"'{unit.value}'")
    if kind is Kind.TIMESTAMPTZ:
        zone = zone or presentation.zone
        begins: ColumnElement[Any] = func.date_trunc(word, field.expression, bindparam(None, zone, Text()))
        column = computed_column(group.name, "timestamp with time zone", "timestamptz", f"{unit.value} in {zone}")
        return begins, column, _output(column, Style(kind=kind, stretch=unit, zone=zone))
    if kind not in {Kind.TIMESTAMP, Kind.DATE} or (kind is Kind.DATE and unit is Unit.HOUR):
        raise InvalidInput(
            f"{group.field}: a {kind.value} field has no {unit.value}s to group by.", {"field": group.field, "unit": unit.value}
        )
    begins = func.date_trunc(word, cast(field.expression, PgType(TIMESTAMP)))
    if unit is Unit.HOUR:
        column = computed_column(group.name, TIMESTAMP, "timestamp", unit.value)
    else:
        begins, column = cast(begins, PgType(DATE)), computed_column(group.name, DATE, "date", unit.value)
    return begins, column, _output(column, Style(kind=column.kind, stretch=unit))


def _output(column: Column, style: Style) -> Output:
    return Output(ResultColumn(name=column.name, kind=column.kind, type=column.type), style)
