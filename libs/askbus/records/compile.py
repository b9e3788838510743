"""The one compiler: a query plan over the live schema becomes one SELECT, and one that counts what it would return unlimited."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from askbus.records.conditions import condition
from askbus.records.cursor import after
from askbus.records.display import Presentation
from askbus.records.figures import figures
from askbus.records.model import Kind, QueryPlan
from askbus.records.order import Sort, first_of_each, records_order
from askbus.records.outputs import Output, output
from askbus.records.schema import Collection, Schema
from askbus.records.source import Source, as_number, readable, spelled

NOT_WHOLE = frozenset({Kind.ARRAY, Kind.BINARY})
"""What a reader is shown in another form than that in which it is compared."""


@dataclass(frozen=True)
class Compiled:
    """`rows` asks for one row more than the limit, so that a cut shows; `total()` counts without the limit.

    `order` and `places` say which cells of a row decide where it stands; the cells after those of `outputs` serve that alone.
    """

    rows: Select[*tuple[Any, ...]]
    total: Callable[[], Select[*tuple[Any, ...]]]
    outputs: tuple[Output, ...]
    order: tuple[Sort, ...] = ()
    places: tuple[int, ...] = ()
    link: str = ""
    """The template of a record's address, whose fields are columns of the rows."""


def compile_plan(plan: QueryPlan, schema: Schema, presentation: Presentation) -> Compiled:
    """Raises NotFound or PermissionDenied for names, with the nearest permitted; InvalidInput for what cannot be computed."""
    collection = schema.collection(plan.collection)
    if plan.figures:
        rows, outputs = figures(plan, schema, collection, presentation)
        return Compiled(
            _page(rows, plan), lambda: select(func.count()).select_from(rows.order_by(None).subquery("rows")), outputs
        )
    return _records(plan, schema, collection)


def _records(plan: QueryPlan, schema: Schema, collection: Collection) -> Compiled:
    source = Source(schema, collection)
    names = list(dict.fromkeys((*collection.key, *(plan.fields or collection.columns))))
    fields = [source.field(name) for name in names]
    where = [condition(source, part) for part in plan.where]
    order = records_order(plan.order_by, source.field, collection)
    outputs = tuple(output(name, field) for name, field in zip(names, fields, strict=True))
    columns: list[ColumnElement[Any]] = [readable(field).label(f"c{place}") for place, field in enumerate(fields)]
    if plan.top is not None:
        each = [as_number(source.field(name)) for name in plan.top.per]
        found = select(*columns).select_from(source.clause()).where(*where)
        rows, _ = first_of_each(found, each, order, plan.top.limit)
        return Compiled(
            _page(rows, plan), lambda: select(func.count()).select_from(rows.order_by(None).subquery("rows")), outputs
        )
    places = _places(names, order, columns) if collection.key else ()
    found = select(*columns).select_from(source.clause()).where(*where, *([after(plan, order)] if plan.cursor else []))
    rows = found.order_by(*(one.directed for one in order))
    return Compiled(
        _page(rows, plan),
        lambda: _count(plan, schema, collection),
        outputs,
        tuple(order) if places else (),
        places,
        collection.link,
    )


def _places(names: Sequence[str], order: Sequence[Sort], columns: list[ColumnElement[Any]]) -> tuple[int, ...]:
    """Where the values of the order are among the columns, which get those that are not there."""
    places = []
    for one in order:
        if one.name in names and one.column.kind not in NOT_WHOLE:
            places.append(names.index(one.name))
        else:
            places.append(len(columns))
            columns.append(spelled(one.expression).label(f"o{len(columns)}"))
    return tuple(places)


def _count(plan: QueryPlan, schema: Schema, collection: Collection) -> Select[*tuple[Any, ...]]:
    """The records that the filter leaves. References that only fields need are left out: they never drop a record."""
    source = Source(schema, collection)
    where = [condition(source, part) for part in plan.where]
    return select(func.count()).select_from(source.clause()).where(*where)


def _page(rows: Select[*tuple[Any, ...]], plan: QueryPlan) -> Select[*tuple[Any, ...]]:
    return rows.limit(plan.limit + 1).offset(plan.offset or None)
