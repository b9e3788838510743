"""What a read of the team's records asks for and brings back. Pure; the request types are what a language model fills in."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from askbus.access.zones import known_zone

MOST_CONDITIONS = 100
DEEPEST_FILTER = 8


class Kind(StrEnum):
    """What a value is, whatever the database calls its type. `other` is read and written as Postgres spells it."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    ENUM = "enum"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamp with time zone"
    UUID = "uuid"
    JSON = "json"
    ARRAY = "array"
    BINARY = "binary"
    OTHER = "other"

    @property
    def is_number(self) -> bool:
        return self in {Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT}


class Operator(StrEnum):
    """How a condition compares. A missing value differs from every value: `ne` and `not_in` match it, the others do not."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LTE = "lte"
    GT = "gt"
    GTE = "gte"
    IN = "in"
    NOT_IN = "not_in"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    IS_NULL = "is_null"
    BETWEEN = "between"


class AggregateOp(StrEnum):
    COUNT = "count"
    COUNT_DISTINCT = "count_distinct"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    MEDIAN = "median"
    PERCENT_OF_TOTAL = "percent_of_total"


class Unit(StrEnum):
    """A stretch of time. A week begins on Monday (ISO 8601)."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Direction(StrEnum):
    ASC = "asc"
    DESC = "desc"


class Request(BaseModel):
    """Base of what is asked: nothing beyond the named fields is accepted, and null means not given."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: object) -> object:
        return {name: value for name, value in given.items() if value is not None} if isinstance(given, dict) else given


class Filter(Request):
    """One condition (`field`, `op`, `value`), or exactly one of `and`, `or`, `not` around other filters."""

    field: str = Field(default="", description="A field, also through references: customer.name")
    op: Operator = Operator.EQ
    value: JsonValue = Field(
        default=None,
        description="What to compare with: a list for in and not_in, [low, high] (both included) for between, "
        "true or false for is_null. Decimals as strings. contains and starts_with ignore case.",
    )
    and_: "tuple[Filter, ...]" = Field(default=(), alias="and")
    or_: "tuple[Filter, ...]" = Field(default=(), alias="or")
    not_: "Filter | None" = Field(default=None, alias="not")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if sum((bool(self.field), bool(self.and_), bool(self.or_), self.not_ is not None)) != 1:
            raise ValueError("a filter is one condition with a field, or exactly one of and, or, not")
        return self

    def size(self) -> tuple[int, int]:
        """How many conditions it holds, and how deep they are nested."""
        inner = [part.size() for part in (*self.and_, *self.or_, *([self.not_] if self.not_ else []))]
        return (1 if self.field else sum(count for count, _ in inner)), 1 + max((depth for _, depth in inner), default=0)


class Order(Request):
    """Sort by a field; missing values come last either way."""

    field: str
    direction: Direction = Direction.ASC


class Group(Request):
    """Records that share a value, or with `unit` a stretch of time."""

    field: str
    unit: Unit | None = None
    as_: str = Field(default="", alias="as", max_length=60, description="field, or field_unit, unless given.")

    @property
    def name(self) -> str:
        return self.as_ or (f"{self.field}_{self.unit.value}" if self.unit else self.field)


NEED_NO_FIELD = frozenset({AggregateOp.COUNT, AggregateOp.PERCENT_OF_TOTAL})


class Aggregate(Request):
    """One figure computed by the database. `count` and `percent_of_total` without a field count records."""

    op: AggregateOp
    field: str = ""
    as_: str = Field(default="", alias="as", max_length=60, description="Its name in the result; op_field unless given.")

    @model_validator(mode="after")
    def _has_field(self) -> Self:
        if not self.field and self.op not in NEED_NO_FIELD:
            raise ValueError(f"{self.op.value} needs a field")
        return self

    @property
    def name(self) -> str:
        return self.as_ or (f"{self.op.value}_{self.field}" if self.field else self.op.value)


class Selection(Request):
    """The records that aggregates are computed over: the first `limit` in this order, after `where`; of each `per`, if given."""

    order_by: tuple[Order, ...] = Field(min_length=1, max_length=10)
    limit: int = Field(ge=1, le=10_000)
    per: tuple[str, ...] = Field(default=(), max_length=5)


class Top(Request):
    """Only the first rows of each: the three largest orders `per` customer. Exactly so many, ties broken by the key."""

    per: tuple[str, ...] = Field(min_length=1, max_length=5, description="Fields; for figures, some of the groups.")
    limit: int = Field(ge=1, le=100)


def _as_list(value: object) -> object:
    """A lone object where a list is meant: models write both."""
    return [value] if isinstance(value, dict | BaseModel) else value


def _as_groups(value: object) -> object:
    """Names of fields stand for groups."""
    listed = _as_list(value)
    if isinstance(listed, list | tuple):
        return [{"field": one} if isinstance(one, str) else one for one in listed]
    return listed


def _zone(name: str) -> str:
    return known_zone(name) if name else name


Filters = Annotated[tuple[Filter, ...], BeforeValidator(_as_list)]


class QueryPlan(Request):
    """A read of one collection. With `aggregates` or `group_by` the rows are figures, else records."""

    collection: str
    fields: tuple[str, ...] = Field(default=(), max_length=60, description="Fields to return; all own fields unless given.")
    where: Filters = Field(default=(), description="All of these must hold.")
    order_by: Annotated[tuple[Order, ...], BeforeValidator(_as_list)] = Field(
        default=(),
        max_length=10,
        description="The primary key unless given. For figures: groups or aggregates by name.",
    )
    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=1_000_000, description="Rows to skip: next_offset of the previous page.")
    cursor: str = Field(default="", max_length=4000, description="Instead of offset: next_cursor of the previous page.")
    group_by: Annotated[tuple[Group, ...], BeforeValidator(_as_groups)] = Field(default=(), max_length=10)
    zone: Annotated[str, AfterValidator(_zone)] = Field(
        default="", description="IANA zone in which units begin; the person's own unless given."
    )
    aggregates: Annotated[tuple[Aggregate, ...], BeforeValidator(_as_list)] = Field(default=(), max_length=20)
    having: Filters = Field(default=(), description="Like where, on groups and aggregates by name.")
    over: Selection | None = Field(
        default=None,
        description="Compute the aggregates over the first records in an order: the combined value of the top three.",
    )
    top: Top | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.figures and self.fields:
            raise ValueError("fields are for records; with aggregates or group_by name the columns there")
        if self.over is not None and not self.aggregates:
            raise ValueError("over needs aggregates; to list the first records use order_by and limit, or top")
        if self.having and not self.figures:
            raise ValueError("having is for figures; filter records with where")
        if self.cursor and (self.offset or self.figures or self.top):
            raise ValueError("cursor is for pages of records, without offset or top")
        names = [*(group.name for group in self.group_by), *(aggregate.name for aggregate in self.aggregates)]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two columns would be called {min(twice)}; name one with `as`")
        for filters in (self.where, self.having):
            sizes = [part.size() for part in filters]
            if (
                sum(count for count, _ in sizes) > MOST_CONDITIONS
                or max((depth for _, depth in sizes), default=0) > DEEPEST_FILTER
            ):
                raise ValueError(f"at most {MOST_CONDITIONS} conditions, nested at most {DEEPEST_FILTER} deep")
        return self

    @property
    def figures(self) -> bool:
        """Whether rows are computed over records rather than being records."""
        return bool(self.aggregates or self.group_by)


class ResultColumn(BaseModel):
    """A column of a result. A `decimal` is a string that holds it exactly; an `integer` is a string beyond 2^53 - 1 (RFC 8259,
    section 6); a `binary` is its length in bytes; dates and times are ISO 8601; `other` is text as Postgres spells it."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: Kind
    type: str
    """The type as Postgres names it; for a figure, that of its field. A stretch of time says its unit and zone, a share `percent`."""


class Rows(BaseModel):
    """What a read brought back. `rows` holds typed values, `display` the same cells ready to be shown to a person."""

    model_config = ConfigDict(frozen=True)

    collection: str
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[JsonValue, ...], ...]
    display: tuple[tuple[str, ...], ...]
    total: int
    """How many rows there are without limit and offset."""
    truncated: bool
    """Whether anything that was asked for is not here: more rows exist, or a long value was cut."""
    cut: tuple[str, ...] = ()
    """What is not here and how to get it, a sentence each."""
    next_offset: int | None = None
    next_cursor: str | None = None
    """Where the next page of records begins, whatever is inserted or deleted before it meanwhile."""
    links: tuple[str, ...] = ()
    """Where the team's own app shows each record, if the deployment says so."""
