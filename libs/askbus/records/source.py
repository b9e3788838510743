"""Collections as SQLAlchemy Core sees them: quoted names from the catalogue, bound values, joins that cannot multiply records."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Numeric, TableClause, Text, and_, bindparam, cast, column, func, select, table
from sqlalchemy.sql.elements import quoted_name
from sqlalchemy.types import UserDefinedType

from askbus.errors import InvalidInput
from askbus.records.model import AggregateOp, Kind
from askbus.records.schema import Collection, Column, Relation, Schema, refusal

MOST_HOPS = 6
LONGEST_CELL = 4000
"""Characters of one value that a read brings back."""
APART = frozenset({AggregateOp.COUNT, AggregateOp.SUM, AggregateOp.MIN, AggregateOp.MAX})
"""Figures that are the same figure over the figures of each record alone."""


class PgType(UserDefinedType[str]):
    """A type as the catalogue spells it (format_type), quoted where it has to be; for casts."""

    cache_ok = True

    def __init__(self, spelled: str) -> None:
        self.spelled = spelled

    def get_col_spec(self, **_: Any) -> str:
        return self.spelled


@dataclass(frozen=True)
class Field:
    """A field of a collection, or of one that it refers to, inside a statement."""

    column: Column
    expression: ColumnElement[Any]
    nullable: bool
    reference: bool = False
    """Whether it identifies a record: shown digit by digit."""


class Source:
    """What a statement selects from: one collection, and those it refers to, joined when a field needs them."""

    def __init__(self, schema: Schema, collection: Collection, names: "count[int] | None" = None) -> None:
        self.schema = schema
        self.collection = collection
        self._names = names or count()
        self.root = self._alias(collection)
        self._joined: dict[tuple[str, ...], tuple[FromClause, ColumnElement[bool]]] = {}

    def beside(self, relation: Relation) -> "Source":
        """A source of its own for the other side of `relation`, for a subquery."""
        return Source(self.schema, self.schema.collection(relation.target), self._names)

    def field(self, path: str) -> Field:
        """The field at `path`: own, or through references that lead to at most one record.

        Raises NotFound or PermissionDenied for names, InvalidInput where a record would be multiplied.
        """
        hops, found = walk(self.schema, self.collection, path)
        if many := next((hop for hop in hops if hop.many), None):
            raise InvalidInput(
                f"{path}: a record here has any number of {many.target}, so it would be counted more than once. "
                f"Query {many.target} instead; a filter may use this field.",
                {"field": path},
            )
        place = self.join(hops)
        collection = self.schema.collection(hops[-1].target) if hops else self.collection
        reference = found.name in collection.key or any(
            found.name in r.columns and not r.many for r in collection.relations.values()
        )
        return Field(found, place.c[found.name], found.nullable or bool(hops), reference)

    def measure(self, path: str, op: AggregateOp) -> tuple[Field, bool]:
        """What an aggregate is computed over, and whether it stands for what each record has many of, computed apart for each.

        Raises as `field` does; InvalidInput too where the same value would be reached from several records.
        """
        hops, found = walk(self.schema, self.collection, path)
        if not any(hop.many for hop in hops):
            return self.field(path), False
        to_one = [place for place, hop in enumerate(hops) if not hop.many]
        if op not in APART or any(hop.many for hop in hops[to_one[0] if to_one else len(hops) :]):
            many = next(hop for hop in hops if hop.many)
            raise InvalidInput(
                f"{path}: {op.value} through {many.name} would count a record more than once. Query {many.target} instead.",
                {"field": path, "operator": op.value},
            )
        child = self.beside(hops[0])
        place = child.join(hops[1:])
        measured = Field(found, place.c[found.name], nullable=True)
        value = as_decimal(measured) if op is AggregateOp.SUM else as_number(measured)
        linked = matches(child.root, hops[0].target_columns, self.root, hops[0].columns)
        each = select(getattr(func, op.value)(value)).select_from(child.clause()).where(linked).correlate(self.root)
        return Field(found, each.scalar_subquery(), nullable=True), True

    def join(self, hops: Sequence[Relation]) -> FromClause:
        """The alias at the end of to-one `hops`, joined once however many fields need it."""
        place: FromClause = self.root
        path: tuple[str, ...] = ()
        for hop in hops:
            path = (*path, hop.name)
            if path not in self._joined:
                target = self._alias(self.schema.collection(hop.target))
                self._joined[path] = (target, matches(target, hop.target_columns, place, hop.columns))
            place = self._joined[path][0]
        return place

    def clause(self) -> FromClause:
        """The FROM clause with every join so far."""
        made: FromClause = self.root
        for target, on in self._joined.values():
            made = made.outerjoin(target, on)
        return made

    def _alias(self, collection: Collection) -> FromClause:
        return rows_of(collection, f"t{next(self._names)}")


def walk(schema: Schema, collection: Collection, path: str) -> tuple[list[Relation], Column]:
    """The references to follow and the column at their end. A name that holds a dot is found before a dot divides.

    Raises NotFound or PermissionDenied with the nearest permitted names.
    """
    hops: list[Relation] = []
    while path not in collection.columns:
        prefixes = [name for name in collection.relations if path.startswith(f"{name}.")]
        if not prefixes or len(hops) == MOST_HOPS:
            head, dot, _ = path.partition(".")
            if dot and not any(column.name == path for column in collection.all_columns):
                raise refusal(f"reference {head!r} from {collection.name}", head, collection.relations, denied=False)
            collection.column(path)
        name = max(prefixes, key=len)
        hops.append(collection.relations[name])
        path = path.removeprefix(f"{name}.")
        collection = schema.collection(hops[-1].target)
    return hops, collection.columns[path]


@lru_cache(maxsize=1024)
def table_of(collection: Collection) -> TableClause:
    """The collection with all its columns; every name is quoted, so that `user` is the column and not the role."""
    columns = (column(quoted_name(found.name, quote=True), Text()) for found in collection.all_columns)
    return table(quoted_name(collection.table, quote=True), *columns, schema=quoted_name(collection.schema, quote=True))


def own(place: FromClause, collection: Collection) -> list[ColumnElement[bool]]:
    """What holds for records of the project that is meant, where each belongs to one."""
    project = collection.project
    if project is None or not project.column:
        return []
    column = next(found for found in collection.all_columns if found.name == project.column)
    return [place.c[column.name] == bound(project.name, column)]


def rows_of(collection: Collection, name: str) -> FromClause:
    """The records that may be seen: all, or those of the project that is meant."""
    found = table_of(collection)
    held = own(found, collection)
    return select(*found.c).where(*held).subquery(name) if held else found.alias(name)


def matches(left: FromClause, left_names: Sequence[str], right: FromClause, right_names: Sequence[str]) -> ColumnElement[bool]:
    pairs = zip(left_names, right_names, strict=True)
    return and_(*(left.c[one] == right.c[other] for one, other in pairs))


def bound(text: str | None, found: Column) -> ColumnElement[Any]:
    """A bound value, read by Postgres as the column's type."""
    return cast(bindparam(None, text, Text()), PgType(found.base))


def spelled(expression: ColumnElement[Any]) -> ColumnElement[Any]:
    """The whole value as Postgres spells it: what is compared and kept."""
    return cast(expression, Text())


def readable(field: Field) -> ColumnElement[Any]:
    """The value as text for a reader, its length bounded."""
    expression = as_number(field)
    match field.column.kind:
        case Kind.TEXT | Kind.OTHER | Kind.JSON:
            return func.left(cast(expression, Text()), LONGEST_CELL + 1)
        case Kind.ARRAY:
            return func.left(cast(func.to_json(expression), Text()), LONGEST_CELL + 1)
        case Kind.BINARY:
            return cast(func.octet_length(expression), Text())
        case _:
            return cast(expression, Text())


def as_number(field: Field) -> ColumnElement[Any]:
    """The value itself; money, whose spelling depends on the server's locale, as numeric."""
    return cast(field.expression, Numeric()) if field.column.base_name == "money" else field.expression


def as_decimal(field: Field) -> ColumnElement[Any]:
    """A float as the decimal that it is read as, the shortest that stands for it; every other number as `as_number` has it.

    Postgres's own cast keeps 6 digits of a real and 15 of a double precision, fewer than tell two of them apart.
    """
    return cast(cast(field.expression, Text()), Numeric()) if field.column.kind is Kind.FLOAT else as_number(field)
