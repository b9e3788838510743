"""The figures that the database computes: each exact, and each over records that are counted once."""

from typing import Any

from sqlalchemy import ColumnElement, Integer, Numeric, case, cast, func, literal_column

from askbus.errors import InvalidInput
from askbus.records.display import Style
from askbus.records.model import Aggregate, AggregateOp, Kind, ResultColumn
from askbus.records.outputs import Output, is_plain, style_of
from askbus.records.schema import SORTABLE, Column, computed_column
from askbus.records.source import Field, as_decimal, as_number

AVERAGE_PLACES = 2
"""Decimal places that an average of whole numbers is shown with."""
SHARE_PLACES = 4
"""Decimal places of a share in percent; it is rounded half away from zero, so that shares may not add up to 100 exactly."""
HUNDRED: ColumnElement[Any] = literal_column("100.00000000000000000000000000000000", Numeric())
"""With so many places that the division is precise far beyond the rounding (Postgres keeps the dividend's scale at least)."""
COMPARED = SORTABLE - {Kind.BOOLEAN, Kind.UUID}

Made = tuple[ColumnElement[Any], Column, Output]


def aggregate(wanted: Aggregate, field: Field | None) -> Made:
    """The figure, what it is compared as, and how it comes out. Floats are added as the decimals that they are read as, so that ten
    times 0.1 is 1.0 in any order. Missing values count for nothing. Raises InvalidInput where the field has no such figure."""
    if field is None:
        return _share(wanted, func.count()) if wanted.op is AggregateOp.PERCENT_OF_TOTAL else _counted(wanted, func.count())
    kind, value, exact = field.column.kind, as_number(field), as_decimal(field)
    match wanted.op:
        case AggregateOp.COUNT:
            return _counted(wanted, func.count(field.expression))
        case AggregateOp.COUNT_DISTINCT if kind in SORTABLE:
            return _counted(wanted, func.count(value.distinct()))
        case AggregateOp.SUM if kind.is_number:
            return _number(wanted, field, func.sum(exact), whole=kind is Kind.INTEGER)
        case AggregateOp.AVG if kind.is_number:
            return _number(wanted, field, func.avg(exact), rounded=True)
        case AggregateOp.MEDIAN if kind.is_number:
            return _number(wanted, field, _median(cast(exact, Numeric())))
        case AggregateOp.PERCENT_OF_TOTAL if kind.is_number:
            return _share(wanted, func.sum(exact))
        case AggregateOp.MIN | AggregateOp.MAX if kind in COMPARED:
            return _extreme(wanted, field)
        case _:
            raise _none(wanted, kind)


def apart(wanted: Aggregate, field: Field) -> Made:
    """The figure over what each record has many of, from `field`: the same figure for each record alone. So no record is multiplied."""
    each = field.expression
    match wanted.op:
        case AggregateOp.COUNT:
            return _counted(wanted, func.coalesce(func.sum(each), 0))
        case AggregateOp.SUM if field.column.kind.is_number:
            return _number(wanted, field, func.sum(each), whole=field.column.kind is Kind.INTEGER)
        case AggregateOp.MIN | AggregateOp.MAX if field.column.kind in COMPARED:
            return _extreme(wanted, field)
        case _:
            raise _none(wanted, field.column.kind)


def _median(number: ColumnElement[Any]) -> ColumnElement[Any]:
    """Exact, where percentile_cont would go through a float: the middle value, or half the sum of the two in the middle.

    The places are those of the values, and one more only where the half needs it.
    """
    half: ColumnElement[Any] = literal_column("0.5", Numeric())
    low: ColumnElement[Any] = func.percentile_disc(half).within_group(number.asc())
    high: ColumnElement[Any] = func.percentile_disc(half).within_group(number.desc())
    middle, places = (low + high) * half, cast(func.scale(low + high), Integer())
    return case((low == high, low), (middle == func.round(middle, places), func.round(middle, places)), else_=middle)


def _counted(wanted: Aggregate, expression: ColumnElement[Any]) -> Made:
    column = computed_column(wanted.name, "numeric", "numeric", "bigint")
    return expression, column, Output(ResultColumn(name=wanted.name, kind=Kind.INTEGER, type="bigint"), Style(kind=Kind.INTEGER))


def _share(wanted: Aggregate, part: ColumnElement[Any]) -> Made:
    """Of the total over every group that the filter left; no share where the total is zero or missing."""
    exact = cast(part, Numeric())
    total = func.nullif(func.sum(exact).over(), 0)
    column = computed_column(wanted.name, "numeric", "numeric", "percent")
    style = Style(kind=Kind.DECIMAL, percent=True, places=AVERAGE_PLACES)
    shown = ResultColumn(name=wanted.name, kind=Kind.DECIMAL, type="percent")
    return func.round(exact * HUNDRED / total, SHARE_PLACES), column, Output(shown, style)


def _number(
    wanted: Aggregate,
    field: Field,
    expression: ColumnElement[Any],
    *,
    whole: bool = False,
    rounded: bool = False,
) -> Made:
    kind = Kind.INTEGER if whole else Kind.DECIMAL
    scale = field.column.numeric[1] if field.column.numeric else 0
    style = style_of(field.column, kind, places=max(scale, AVERAGE_PLACES) if rounded else None)
    column = computed_column(wanted.name, "numeric", "numeric", field.column.type)
    return expression, column, Output(ResultColumn(name=wanted.name, kind=kind, type=field.column.type), style)


def _extreme(wanted: Aggregate, field: Field) -> Made:
    value, kind = as_number(field), field.column.kind
    made = func.min(value) if wanted.op is AggregateOp.MIN else func.max(value)
    money = field.column.base_name == "money"
    column = computed_column(wanted.name, "numeric", "numeric", "money") if money else field.column
    style = style_of(field.column, kind, plain=is_plain(wanted.field, field))
    return made, column, Output(ResultColumn(name=wanted.name, kind=kind, type=field.column.type), style)


def _none(wanted: Aggregate, kind: Kind) -> InvalidInput:
    return InvalidInput(
        f"{wanted.field}: a {kind.value} field has no {wanted.op.value}.", {"field": wanted.field, "operator": wanted.op.value}
    )
