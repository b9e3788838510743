"""Filters as SQL. Every value is bound; a record without a value is different from each value, and never unknown."""

from collections.abc import Callable

from sqlalchemy import ColumnElement, Text, and_, cast, exists, literal, or_, select

from askbus.errors import InvalidInput
from askbus.records.model import Filter, Kind, Operator
from askbus.records.schema import SORTABLE, Column, Relation
from askbus.records.source import Field, Source, bound, matches, walk
from askbus.records.values import Unsuitable, check_text, to_text

MOST_VALUES = 200
UNCOMPARABLE = frozenset({Kind.JSON, Kind.ARRAY, Kind.BINARY})


def condition(source: Source, wanted: Filter) -> ColumnElement[bool]:
    """`wanted` over `source`. Raises NotFound or PermissionDenied for names, InvalidInput for values, each naming the field."""

    def one(leaf: Filter) -> ColumnElement[bool]:
        hops, column = walk(source.schema, source.collection, leaf.field)
        return _along(source, hops, column, leaf)

    return combined(wanted, one)


def combined(wanted: Filter, one: Callable[[Filter], ColumnElement[bool]]) -> ColumnElement[bool]:
    """`wanted`, with each single condition made by `one`."""
    if wanted.and_:
        return and_(*(combined(part, one) for part in wanted.and_))
    if wanted.or_:
        return or_(*(combined(part, one) for part in wanted.or_))
    if wanted.not_ is not None:
        return combined(wanted.not_, one).is_not(True)
    return one(wanted)


def _along(source: Source, hops: list[Relation], column: Column, wanted: Filter) -> ColumnElement[bool]:
    """To-one references are joined; one that leads to many becomes EXISTS: true when any of them meets the condition."""
    many = next((place for place, hop in enumerate(hops) if hop.many), None)
    if many is None:
        place = source.join(hops)
        return compare(Field(column, place.c[column.name], nullable=True), wanted)
    parent, hop = source.join(hops[:many]), hops[many]
    child = source.beside(hop)
    inner = _along(child, hops[many + 1 :], column, wanted)
    linked = matches(child.root, hop.target_columns, parent, hop.columns)
    return exists(select(literal(1)).select_from(child.clause()).where(linked, inner).correlate(parent))


def compare(field: Field, wanted: Filter) -> ColumnElement[bool]:
    """One condition on one field. Raises InvalidInput for a value or an operator that does not fit."""
    column, expression = field.column, field.expression
    if wanted.op is Operator.IS_NULL:
        if not isinstance(wanted.value, bool | None):
            raise _wrong(wanted, "is_null takes true or false")
        return expression.is_not(None) if wanted.value is False else expression.is_(None)
    if column.kind is Kind.ARRAY and wanted.op is Operator.CONTAINS:
        return _holding(field, wanted)
    if column.kind is Kind.ARRAY:
        raise _wrong(wanted, "a list can only be tested with contains or is_null")
    if column.kind in UNCOMPARABLE:
        raise _wrong(wanted, f"a {column.kind.value} field can only be tested with is_null")
    match wanted.op:
        case Operator.CONTAINS | Operator.STARTS_WITH:
            return _within(field, wanted)
        case Operator.IN | Operator.NOT_IN:
            values = [_value(item, column, wanted) for item in _listed(wanted)]
            return expression.in_(values) if wanted.op is Operator.IN else or_(expression.not_in(values), expression.is_(None))
        case Operator.EQ:
            return expression == _value(wanted.value, column, wanted)
        case Operator.NE:
            return expression.is_distinct_from(_value(wanted.value, column, wanted))
        case _:
            return _ordered(field, wanted)


def _holding(field: Field, wanted: Filter) -> ColumnElement[bool]:
    """A list that holds the value, or each of a list of values, as they are."""
    values = wanted.value if isinstance(wanted.value, list) else [wanted.value]
    if not 1 <= len(values) <= MOST_VALUES or None in values:
        raise _wrong(wanted, f"contains takes a value, or a list of 1 to {MOST_VALUES}, that the list is to hold")
    return field.expression.op("@>", is_comparison=True)(_value(values, field.column, wanted))


def _ordered(field: Field, wanted: Filter) -> ColumnElement[bool]:
    column, expression = field.column, field.expression
    if column.kind not in SORTABLE | {Kind.OTHER}:
        raise _wrong(wanted, f"a {column.kind.value} field has no order")
    if wanted.op is Operator.BETWEEN:
        ends = _listed(wanted)
        if len(ends) != 2:
            raise _wrong(wanted, "between takes a list of two values, the lowest and the highest")
        low, high = (_value(end, column, wanted) for end in ends)
        return and_(expression >= low, expression <= high)
    value = _value(wanted.value, column, wanted)
    match wanted.op:
        case Operator.LT:
            return expression < value
        case Operator.LTE:
            return expression <= value
        case Operator.GT:
            return expression > value
        case _:
            return expression >= value


def _within(field: Field, wanted: Filter) -> ColumnElement[bool]:
    if field.column.kind not in {Kind.TEXT, Kind.ENUM} or not isinstance(wanted.value, str) or not wanted.value:
        raise _wrong(wanted, f"{wanted.op.value} looks for a text in a text field")
    try:
        part = check_text(wanted.value)
    except Unsuitable as error:
        raise _wrong(wanted, str(error)) from error
    text = cast(field.expression, Text())
    if wanted.op is Operator.CONTAINS:
        return text.icontains(part, autoescape=True)
    return text.istartswith(part, autoescape=True)


def _listed(wanted: Filter) -> list[object]:
    if not isinstance(wanted.value, list) or not 1 <= len(wanted.value) <= MOST_VALUES:
        raise _wrong(wanted, f"{wanted.op.value} takes a list of 1 to {MOST_VALUES} values")
    return list(wanted.value)


def _value(value: object, column: Column, wanted: Filter) -> ColumnElement[str]:
    if value is None:
        raise _wrong(wanted, "to find missing values use is_null")
    try:
        return bound(to_text(value, column), column)  # type: ignore[arg-type]  # what came out of JSON is JSON
    except Unsuitable as error:
        raise _wrong(wanted, str(error)) from error


def _wrong(wanted: Filter, sentence: str) -> InvalidInput:
    return InvalidInput(f"{wanted.field}: {sentence}.", {"field": wanted.field, "operator": wanted.op.value})
