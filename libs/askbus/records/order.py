"""Orders that are total: what was asked for first, then what tells any two rows apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select

from askbus.records.model import Direction, Order
from askbus.records.schema import SORTABLE, Collection, Column, computed_column
from askbus.records.source import Field, as_number


@dataclass(frozen=True)
class Sort:
    """One part of an order. Missing values last either way: the top three are three values."""

    name: str
    column: Column
    expression: ColumnElement[Any]
    descending: bool
    nullable: bool

    @property
    def directed(self) -> ColumnElement[Any]:
        """Postgres's own order has NULLs last when ascending; nothing is said of them there, so that an index serves."""
        if not self.descending:
            return self.expression.asc()
        return self.expression.desc().nulls_last() if self.nullable else self.expression.desc()


def sort(name: str, field: Field, direction: Direction = Direction.ASC) -> Sort:
    column = field.column
    if column.base_name == "money":
        column = computed_column(name, "numeric", "numeric", column.type)
    return Sort(name, column, as_number(field), direction is Direction.DESC, field.nullable)


def records_order(wanted: Sequence[Order], field: Callable[[str], Field], collection: Collection) -> list[Sort]:
    """The order asked for, made total by the key; a collection without one is ordered by everything that has an order."""
    made = [sort(order.field, field(order.field), order.direction) for order in wanted]
    rest = collection.key or tuple(name for name, column in collection.columns.items() if column.kind in SORTABLE)
    named = {order.field for order in wanted}
    return made + [sort(name, field(name)) for name in rest if name not in named]


def first_of_each(
    rows: Select[*tuple[Any, ...]], each: Sequence[ColumnElement[Any]], order: Sequence[Sort], most: int
) -> tuple[Select[*tuple[Any, ...]], int]:
    """The first `most` of `rows` for each value of `each`, ordered by it and within it; and how many columns `rows` had."""
    width = len(rows.selected_columns)
    place = func.row_number().over(partition_by=list(each) or None, order_by=[one.directed for one in order]).label("place")
    groups = [one.label(f"p{number}") for number, one in enumerate(each)]
    ranked = rows.add_columns(*groups, place).subquery("ranked")
    columns = list(ranked.c)
    chosen = select(*columns[:width]).where(ranked.c.place <= most)
    return chosen.order_by(*(one.asc().nulls_last() for one in columns[width:])), width
