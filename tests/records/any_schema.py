"""Schemas and rows of any shape: chains of tables, names that need quoting, keys of several columns, every type that is computed with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

UNCHECKED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
CHECKS = settings(deadline=None, suppress_health_check=UNCHECKED, print_blob=True)
UNSHRUNK = [Phase.explicit, Phase.reuse, Phase.generate]
"""Each example makes tables of its own: to look for the smallest that fails takes longer than to read it."""

DDL = """
CREATE TYPE mood AS ENUM ('so so', 'bad', 'Good');
CREATE DOMAIN euros AS numeric(12,2) CHECK (VALUE IS NULL OR VALUE > -1000000);
CREATE DOMAIN price AS euros;
CREATE DOMAIN word AS text CHECK (VALUE <> 'never');
"""
MOODS = ("so so", "bad", "Good")
"""In the order in which the type declares them, which is how they compare."""

TURNS = [
    datetime(2026, 3, 8, 4, tzinfo=UTC),  # clocks go forward in New York,
    datetime(2026, 11, 1, 2, tzinfo=UTC),  # and back
    datetime(2026, 3, 28, 22, tzinfo=UTC),  # in Berlin
    datetime(2026, 10, 24, 22, tzinfo=UTC),
    datetime(2026, 4, 4, 12, tzinfo=UTC),  # on Lord Howe, by half an hour
    datetime(2026, 12, 31, 20, tzinfo=UTC),
]
ZONES = ("UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Cairo")

NAMES = (
    "Order", "select", "user name", "ä", "a.b", 'q"t', "x'y", "group", "%p", "CamelCase", "c:d", "2nd", "limit", "value", "c0", "place",
    "naïve \\ name", "t0",
)  # fmt: skip
TABLES = ("User", "order", "Group by", "a%s", "tä.ble", 'we"ird', "ranked", "chosen")


@dataclass(frozen=True)
class Type:
    """A type as it is declared, what its values are here, and how one of them is written in SQL."""

    spelled: str
    kind: str
    values: st.SearchStrategy[Any]


letters = st.text("aAbBéÉß%_\\ ", max_size=3)
moments = st.builds(
    lambda start, minutes, micros: start + timedelta(minutes=minutes, microseconds=micros),
    st.sampled_from(TURNS),
    st.integers(0, 60 * 12),
    st.sampled_from([0, 0, 1]),
)
cents = st.sampled_from([Decimal(one) for one in ("0.00", "0.10", "0.20", "-0.10", "7.00")]) | st.decimals(
    -(10**5), 10**9, places=2
)

TYPES = (
    Type("integer", "integer", st.integers(-2, 3) | st.integers(-(2**31), 2**31 - 1)),
    Type("bigint", "integer", st.integers(0, 2) | st.integers(-(2**63), 2**63 - 1)),
    Type("numeric(12,2)", "decimal", cents),
    Type("numeric", "decimal", cents | st.decimals(-(10**20), 10**20, places=9)),
    Type("euros", "decimal", cents),
    Type("price", "decimal", cents),
    Type("double precision", "float", cents.filter(lambda one: abs(one) < 10**9) | st.integers(-(2**53), 2**53).map(Decimal)),
    Type("real", "float", st.integers(-999, 999).map(lambda one: Decimal(one) / 100) | st.integers(-(2**24), 2**24).map(Decimal)),
    Type("text", "text", letters),
    Type("varchar(3)", "text", letters),
    Type("word", "text", letters),
    Type("date", "date", st.dates(date(2025, 12, 25), date(2026, 1, 8)) | st.sampled_from([date(2024, 2, 29), date(2026, 4, 1)])),
    Type("timestamp", "timestamp", moments.map(lambda one: one.replace(tzinfo=None))),
    Type("timestamptz", "timestamptz", moments),
    Type("mood", "enum", st.sampled_from(MOODS)),
    Type("boolean", "boolean", st.booleans()),
    Type("uuid", "uuid", st.integers(0, 3).map(lambda one: UUID(int=one << 96))),
    Type("text[]", "array", st.lists(st.sampled_from(["a", "b", "b c", 'q"']), max_size=3).map(tuple)),
)
KEYS = tuple(one for one in TYPES if one.spelled in {"integer", "bigint", "text", "date", "uuid", "mood"})


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """`reference`: the columns that hold the key of the table before it in the chain, if it is not the first."""

    name: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]
    reference: tuple[str, ...] = ()

    def field(self, name: str) -> Field:
        return next(one for one in self.fields if one.name == name)


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Data:
    """A chain of tables, each referring to the one before it by the reference `UP`, with their rows."""

    tables: tuple[Table, ...]
    rows: tuple[tuple[Row, ...], ...]

    def statements(self) -> list[str]:
        """What makes the tables and fills them."""
        made = []
        for place, (table, rows) in enumerate(zip(self.tables, self.rows, strict=True)):
            parts = [f"{quoted(one.name)} {one.type.spelled}{'' if one.nullable else ' NOT NULL'}" for one in table.fields]
            parts.append(f"PRIMARY KEY ({listed(table.key)})")
            if place:
                before = self.tables[place - 1]
                parts.append(
                    f"CONSTRAINT up FOREIGN KEY ({listed(table.reference)}) REFERENCES {quoted(before.name)} ({listed(before.key)})"
                )
            made.append(f"CREATE TABLE {quoted(table.name)} ({', '.join(parts)})")
            for row in rows:
                cells = ", ".join(literal(row[one.name], one.type) for one in table.fields)
                made.append(f"INSERT INTO {quoted(table.name)} VALUES ({cells})")
        return made

    def drops(self) -> list[str]:
        return [f"DROP TABLE {quoted(table.name)}" for table in reversed(self.tables)]


UP = "up"
"""What a reference is called: its column without `_id`, or its constraint."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, names))


def literal(value: object, type_: Type) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, tuple):
        return f"ARRAY[{', '.join(text(one) for one in value)}]::{type_.spelled}"
    return f"{text(str(value))}::{type_.spelled}"


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@st.composite
def tables(draw: Callable[..., Any], most: int = 3) -> tuple[Table, ...]:
    names = draw(st.permutations(TABLES))
    made: list[Table] = []
    for place in range(draw(st.integers(1, most))):
        fields = draw(st.permutations(NAMES))
        key = tuple(Field(fields.pop(), draw(st.sampled_from(KEYS))) for _ in range(draw(st.integers(1, 2))))
        reference: tuple[Field, ...] = ()
        if place:
            nullable, before = draw(st.booleans()), made[-1]
            types = [before.field(one).type for one in before.key]
            called = ["up_id"] if len(types) == 1 else [f"up {number}" for number in range(len(types))]
            reference = tuple(Field(name, type_, nullable) for name, type_ in zip(called, types, strict=True))
            if not nullable and draw(st.booleans()):
                key = (*reference, *key[:1])
        own = tuple(
            Field(fields.pop(), draw(st.sampled_from(TYPES)), draw(st.booleans())) for _ in range(draw(st.integers(1, 5)))
        )
        every = dict.fromkeys((*key, *reference, *own))
        shuffled = tuple(draw(st.permutations(list(every))))
        made.append(Table(names[place], shuffled, tuple(one.name for one in key), tuple(one.name for one in reference)))
    return tuple(made)


@st.composite
def data(draw: Callable[..., Any], most_tables: int = 3, most_rows: int = 8) -> Data:
    """Tables with rows whose references hold."""
    chain = draw(tables(most_tables))
    filled: list[tuple[Row, ...]] = []
    for place, table in enumerate(chain):
        before, rows = (chain[place - 1], filled[-1]) if place else (None, ())
        if place and not rows and not table.field(table.reference[0]).nullable:
            filled.append(())
            continue
        unique = st.lists(_row(table, before, rows), max_size=most_rows, unique_by=partial(_key, table))
        filled.append(tuple(draw(unique)))
    return Data(chain, tuple(filled))


def _key(table: Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in table.key)


@st.composite
def _row(draw: Callable[..., Any], table: Table, before: Table | None, rows: tuple[Row, ...]) -> Row:
    made: dict[str, Any] = {}
    if before is not None:
        missing = table.field(table.reference[0]).nullable and (not rows or draw(st.integers(0, 3)) == 0)
        target = None if missing else draw(st.sampled_from(rows))
        for name, other in zip(table.reference, before.key, strict=True):
            made[name] = None if target is None else target[other]
    for field in table.fields:
        if field.name not in made:
            made[field.name] = draw(st.none() | field.type.values if field.nullable else field.type.values)
    return made
