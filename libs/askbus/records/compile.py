"""The one compiler: a query plan over the live schema becomes one SELECT, and one that counts what it would return unlimited."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Numeric, Select, Text, cast, func, literal, select

from askbus.errors import InvalidInput
from askbus.records.conditions import condition
from askbus.records.display import Presentation, Style
from askbus.records.model import Aggregate, AggregateOp, Direction, Kind, Order, QueryPlan, ResultColumn
from askbus.records.schema import SORTABLE, Collection, Schema, refusal
from askbus.records.source import Field, Source, as_number, readable

AVERAGE_PLACES = 2
"""Decimal places that an average of whole numbers is shown with."""

Fields = Callable[[str], Field]


@dataclass(frozen=True)
class Output:
    """One column of the result: what it is called, what it is, how it is shown."""

    column: ResultColumn
    style: Style


@dataclass(frozen=True)
class Compiled:
    """`rows` asks for one row more than the limit, so that a cut shows; `total()` counts without the limit."""

    rows: Select[*tuple[Any, ...]]
    total: Callable[[], Select[*tuple[Any, ...]]]
    outputs: tuple[Output, ...]


def compile_plan(plan: QueryPlan, schema: Schema, presentation: Presentation) -> Compiled:
    """Raises NotFound or PermissionDenied for names, with the nearest permitted; InvalidInput for what cannot be computed."""
    collection = schema.collection(plan.collection)
    return _figures(plan, schema, collection, presentation) if plan.figures else _records(plan, schema, collection, presentation)


def _records(plan: QueryPlan, schema: Schema, collection: Collection, presentation: Presentation) -> Compiled:
    source = Source(schema, collection)
    names = list(dict.fromkeys((*collection.key, *(plan.fields or collection.columns))))
    fields = [source.field(name) for name in names]
    where = [condition(source, part) for part in plan.where]
    order = _order(plan.order_by, source.field, collection)
    columns = [readable(field).label(f"c{place}") for place, field in enumerate(fields)]
    rows = select(*columns).select_from(source.clause()).where(*where).order_by(*order)
    outputs = tuple(_output(name, field, presentation) for name, field in zip(names, fields, strict=True))
    return Compiled(_page(rows, plan), lambda: _count(plan, schema, collection), outputs)


def _count(plan: QueryPlan, schema: Schema, collection: Collection) -> Select[*tuple[Any, ...]]:
    """The records that the filter leaves. References that only fields need are left out: they never drop a record."""
    source = Source(schema, collection)
    where = [condition(source, part) for part in plan.where]
    return select(func.count()).select_from(source.clause()).where(*where)


def _figures(plan: QueryPlan, schema: Schema, collection: Collection, presentation: Presentation) -> Compiled:
    source = Source(schema, collection)
    needed = list(dict.fromkeys((*plan.group_by, *(aggregate.field for aggregate in plan.aggregates if aggregate.field))))
    given = {name: source.field(name) for name in needed}
    where = [condition(source, part) for part in plan.where]
    if plan.over is None:
        fields, base = given, select().select_from(source.clause()).where(*where)
    else:
        order = _order(plan.over.order_by, source.field, collection)
        inner: list[ColumnElement[Any]] = [given[name].expression.label(f"f{place}") for place, name in enumerate(needed)]
        ranked = select(*(inner or [literal(1)])).select_from(source.clause()).where(*where).order_by(*order)
        chosen = ranked.limit(plan.over.limit).subquery("chosen")
        base = select().select_from(chosen)
        fields = {
            name: Field(given[name].column, chosen.c[f"f{place}"], given[name].nullable, given[name].reference)
            for place, name in enumerate(needed)
        }
    groups = [_group(name, fields[name]) for name in plan.group_by]
    made = [_aggregate(aggregate, fields, presentation) for aggregate in plan.aggregates]
    texts = [readable(fields[name]) for name in plan.group_by] + [cast(expression, Text()) for expression, _ in made]
    columns = [text.label(f"c{place}") for place, text in enumerate(texts)]
    grouped = base.add_columns(*columns).group_by(*groups)
    named = dict(
        zip((*plan.group_by, *(aggregate.name for aggregate in plan.aggregates)), (*groups, *(e for e, _ in made)), strict=True)
    )
    rows = grouped.order_by(*_figures_order(plan, named, groups))
    outputs = (*(_output(name, fields[name], presentation) for name in plan.group_by), *(output for _, output in made))
    return Compiled(_page(rows, plan), lambda: select(func.count()).select_from(grouped.subquery("groups")), outputs)


def _group(name: str, field: Field) -> ColumnElement[Any]:
    if field.column.kind not in SORTABLE:
        raise InvalidInput(f"{name}: a {field.column.kind.value} field cannot be grouped by.", {"field": name})
    return as_number(field)


def _aggregate(aggregate: Aggregate, fields: dict[str, Field], presentation: Presentation) -> tuple[ColumnElement[Any], Output]:
    """The figure and what it is. Floats are added as decimals, so that ten times 0.1 is 1.0 in any order."""
    field = fields[aggregate.field] if aggregate.field else None
    if field is None:
        return func.count(), _counted(aggregate)
    kind, value = field.column.kind, as_number(field)
    exact = cast(field.expression, Numeric()) if kind is Kind.FLOAT else value
    currency = presentation.currencies.get(aggregate.field, "")
    shown = ResultColumn(name=aggregate.name, kind=kind, type=field.column.type)
    match aggregate.op:
        case AggregateOp.COUNT:
            return func.count(field.expression), _counted(aggregate)
        case AggregateOp.COUNT_DISTINCT if kind in SORTABLE:
            return func.count(value.distinct()), _counted(aggregate)
        case AggregateOp.SUM if kind.is_number:
            kind = Kind.INTEGER if kind is Kind.INTEGER else Kind.DECIMAL
            output = Output(shown.model_copy(update={"kind": kind}), Style(kind=kind, currency=currency))
            return func.sum(exact), output
        case AggregateOp.AVG if kind.is_number:
            scale = field.column.numeric[1] if field.column.numeric else 0
            style = Style(kind=Kind.DECIMAL, places=max(scale, AVERAGE_PLACES), currency=currency)
            return func.avg(exact), Output(shown.model_copy(update={"kind": Kind.DECIMAL}), style)
        case AggregateOp.MIN | AggregateOp.MAX if kind in SORTABLE - {Kind.BOOLEAN, Kind.UUID}:
            made = func.min(value) if aggregate.op is AggregateOp.MIN else func.max(value)
            return made, Output(shown, Style(kind=kind, plain=_plain(aggregate.field, field), currency=currency))
        case _:
            raise InvalidInput(
                f"{aggregate.field}: a {kind.value} field has no {aggregate.op.value}.",
                {"field": aggregate.field, "operator": aggregate.op.value},
            )


def _counted(aggregate: Aggregate) -> Output:
    return Output(ResultColumn(name=aggregate.name, kind=Kind.INTEGER, type="bigint"), Style(kind=Kind.INTEGER))


def _order(wanted: Sequence[Order], field: Fields, collection: Collection) -> list[ColumnElement[Any]]:
    """The order asked for, made total by the key; a collection without one is ordered by everything that has an order."""
    made = [_directed(field(order.field).expression, order, field(order.field).nullable) for order in wanted]
    rest = collection.key or tuple(name for name, column in collection.columns.items() if column.kind in SORTABLE)
    named = {order.field for order in wanted}
    return made + [collected.expression for collected in (field(name) for name in rest if name not in named)]


def _figures_order(
    plan: QueryPlan, named: dict[str, ColumnElement[Any]], groups: Sequence[ColumnElement[Any]]
) -> list[ColumnElement[Any]]:
    for order in plan.order_by:
        if order.field not in named:
            raise refusal(f"column {order.field!r} among the figures asked for", order.field, named, denied=False)
    return [_directed(named[order.field], order, nullable=True) for order in plan.order_by] + list(groups)


def _directed(expression: ColumnElement[Any], order: Order, nullable: bool) -> ColumnElement[Any]:
    """Missing values last either way: the top three are three values. Without NULLs nothing is said, so that an index serves."""
    directed = expression.desc() if order.direction is Direction.DESC else expression.asc()
    return directed.nulls_last() if nullable else directed


def _page(rows: Select[*tuple[Any, ...]], plan: QueryPlan) -> Select[*tuple[Any, ...]]:
    return rows.limit(plan.limit + 1).offset(plan.offset or None)


def _output(name: str, field: Field, presentation: Presentation) -> Output:
    kind = field.column.kind
    style = Style(kind=kind, plain=_plain(name, field), currency=presentation.currencies.get(name, ""))
    return Output(ResultColumn(name=name, kind=kind, type=field.column.type), style)


def _plain(name: str, field: Field) -> bool:
    """Keys and years read digit by digit."""
    return field.column.kind is Kind.INTEGER and (field.reference or "year" in name.lower())
