"""Plans whose rows are figures: groups, what is computed over each, and what of it is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Select, literal, select

from askbus.errors import InvalidInput
from askbus.records.aggregates import aggregate, apart
from askbus.records.conditions import combined, compare, condition
from askbus.records.display import Presentation
from askbus.records.model import Aggregate, Group, Order, QueryPlan, Selection
from askbus.records.order import Sort, first_of_each, records_order, sort
from askbus.records.outputs import Output, output
from askbus.records.schema import SORTABLE, Collection, Column, Schema, refusal
from askbus.records.source import Field, Source, as_number, readable
from askbus.records.stretches import stretch


@dataclass(frozen=True)
class Figure:
    """One column of the result, compared as `column`."""

    name: str
    column: Column
    expression: ColumnElement[Any]
    output: Output

    @property
    def field(self) -> Field:
        return Field(self.column, self.expression, nullable=True)


def figures(
    plan: QueryPlan, schema: Schema, collection: Collection, presentation: Presentation
) -> tuple[Select[*tuple[Any, ...]], tuple[Output, ...]]:
    """The figures in their order, and what their columns are. Raises as compile_plan does."""
    source = Source(schema, collection)
    groups = [source.field(group.field) for group in plan.group_by]
    measured = [_measured(source, one) for one in plan.aggregates]
    where = [condition(source, part) for part in plan.where]
    used = [*groups, *(field for field, _ in measured if field is not None)]
    if plan.over is None:
        base = select().select_from(source.clause()).where(*where)
    else:
        chosen = _chosen(plan.over, source, where, used, collection).subquery("chosen")
        base = select().select_from(chosen)
        places = iter([replace(field, expression=chosen.c[f"f{place}"]) for place, field in enumerate(used)])
        groups = [next(places) for _ in groups]
        measured = [(next(places) if field is not None else None, many) for field, many in measured]
    made = [_group(field, group, plan, presentation) for field, group in zip(groups, plan.group_by, strict=True)]
    computed = [_computed(one, *how) for one, how in zip(plan.aggregates, measured, strict=True)]
    return _wanted(plan, base, made, computed), tuple(one.output for one in (*made, *computed))


def _measured(source: Source, wanted: Aggregate) -> tuple[Field | None, bool]:
    """What is computed over, and whether it stands for many for each record."""
    if not wanted.field:
        return None, False
    return source.measure(wanted.field, wanted.op)


def _computed(wanted: Aggregate, field: Field | None, many: bool) -> Figure:
    made = apart(wanted, field) if field is not None and many else aggregate(wanted, field)
    expression, column, shown = made
    return Figure(wanted.name, column, expression, shown)


def _chosen(
    over: Selection, source: Source, where: Sequence[ColumnElement[bool]], used: Sequence[Field], collection: Collection
) -> Select[*tuple[Any, ...]]:
    """The records that figures are computed over."""
    order = records_order(over.order_by, source.field, collection)
    each = [as_number(source.field(name)) for name in over.per]
    columns: list[ColumnElement[Any]] = [field.expression.label(f"f{place}") for place, field in enumerate(used)]
    ranked = select(*(columns or [literal(1).label("one")])).select_from(source.clause()).where(*where)
    if each:
        return first_of_each(ranked, each, order, over.limit)[0].order_by(None)
    return ranked.order_by(*(one.directed for one in order)).limit(over.limit)


def _group(field: Field, group: Group, plan: QueryPlan, presentation: Presentation) -> Figure:
    if group.unit is not None:
        expression, column, shown = stretch(field, group, group.unit, plan.zone, presentation)
        return Figure(group.name, column, expression, shown)
    if field.column.kind not in SORTABLE:
        raise InvalidInput(f"{group.field}: a {field.column.kind.value} field cannot be grouped by.", {"field": group.field})
    shown = output(group.field, field)
    shown = replace(shown, column=shown.column.model_copy(update={"name": group.name}))
    return Figure(group.name, field.column, as_number(field), shown)


def _wanted(
    plan: QueryPlan, base: Select[*tuple[Any, ...]], groups: Sequence[Figure], computed: Sequence[Figure]
) -> Select[*tuple[Any, ...]]:
    """The figures that `having` leaves, the first of each where `top` asks for that, in their order.

    Shares are of everything, so conditions on figures come after all of them are computed.
    """
    made = [*groups, *computed]
    grouped = base.group_by(*(one.expression for one in groups))
    if plan.having or plan.top is not None:
        inner = grouped.add_columns(*(one.expression.label(f"g{place}") for place, one in enumerate(made))).subquery("figures")
        made = [replace(one, expression=inner.c[f"g{place}"]) for place, one in enumerate(made)]
        grouped = select().select_from(inner)
    named = {one.name: one for one in made}
    rows = grouped.add_columns(*(readable(one.field).label(f"c{place}") for place, one in enumerate(made)))
    rows = rows.where(*(combined(part, lambda leaf: compare(_named(named, leaf.field).field, leaf)) for part in plan.having))
    order = _order(plan.order_by, named, made[: len(groups)])
    if plan.top is None:
        return rows.order_by(*(one.directed for one in order))
    each = [_named({one.name: one for one in made[: len(groups)]}, name).expression for name in plan.top.per]
    return first_of_each(rows, each, order, plan.top.limit)[0]


def _order(wanted: Sequence[Order], named: dict[str, Figure], groups: Sequence[Figure]) -> list[Sort]:
    made = [sort(order.field, _named(named, order.field).field, order.direction) for order in wanted]
    return made + [sort(group.name, group.field) for group in groups]


def _named(named: dict[str, Figure], name: str) -> Figure:
    if name not in named:
        raise refusal(f"column {name!r} among the figures asked for", name, named, denied=False)
    return named[name]
