"""Values cross to Postgres and back as text, and arrive as what they were."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from askbus.records.display import Presentation, Style, display
from askbus.records.model import Kind
from askbus.records.schema import Column
from askbus.records.values import Unsuitable, from_text, json_value, to_text


def column(
    base_name: str, *, modifier: int = -1, base_type: str = "b", category: str = "N", labels: tuple[str, ...] = ()
) -> Column:
    return Column(
        name="c", type=base_name, base=base_name, base_name=base_name, base_type=base_type, base_category=category,
        modifier=modifier, nullable=True, has_default=False, identity="", generated=False, may_insert=True, may_update=True,
        comment="", labels=labels,
    )  # fmt: skip


def numeric(precision: int, scale: int) -> Column:
    return column("numeric", modifier=(precision << 16 | scale & 0x7FF) + 4)


TEXT = column("varchar", modifier=9, category="S")
STAGE = column("stage", base_type="e", category="E", labels=("lead", "won"))


@pytest.mark.parametrize(
    ("value", "to", "text"),
    [
        (7, column("int4"), "7"),
        ("-7", column("int4"), "-7"),
        (7.0, column("int8"), "7"),
        ("9223372036854775807", column("int8"), "9223372036854775807"),
        ("12345678901234567890.123456789", column("numeric"), "12345678901234567890.123456789"),
        (0.1, numeric(10, 2), "0.1"),
        ("1e3", numeric(10, 2), "1000"),
        ("1.50000", numeric(3, 2), "1.50000"),
        (1200, numeric(5, -2), "1200"),
        (2, column("float8"), "2"),
        (True, column("bool", category="B"), "true"),
        ("FALSE", column("bool", category="B"), "false"),
        ("héllo", TEXT, "héllo"),
        ("won", STAGE, "won"),
        ("2026-11-30", column("date", category="D"), "2026-11-30"),
        ("17:45", column("time", category="D"), "17:45:00"),
        ("2026-11-30", column("timestamp", category="D"), "2026-11-30 00:00:00"),
        ("2026-11-30T17:45:00.123Z", column("timestamptz", category="D"), "2026-11-30 17:45:00.123000+00:00"),
        ({"a": [1, None, "é"]}, column("jsonb", category="U"), '{"a": [1, null, "é"]}'),
        (["a", 'q"\\', None, 1, True], column("_text", category="A"), '{"a","q\\"\\\\",NULL,"1","true"}'),
        ("1 day", column("interval", category="T"), "1 day"),
        (None, column("int4"), None),
    ],
)
def test_a_value_becomes_what_postgres_reads(value: JsonValue, to: Column, text: str | None) -> None:
    """Each kind of field, in each form that a model may send it."""
    assert to_text(value, to) == text


@pytest.mark.parametrize(
    ("value", "to", "says"),
    [
        (True, column("int4"), "whole number"),
        (7.5, column("int4"), "whole number"),
        (32768, column("int2"), "-32768 to 32767"),
        ("1,000.50", column("numeric"), "plain decimal"),
        ("NaN", column("numeric"), "plain decimal"),
        (0.1234567890123456, column("numeric"), "as a string"),
        ("1.234", numeric(10, 2), "2 decimal places"),
        ("1e-400", numeric(10, 2), "2 decimal places"),
        ("100", numeric(4, 2), "2 digits before"),
        ("1" * 5000, numeric(12, 2), "10 digits before"),
        (f"1.{'0' * 5000}1", numeric(12, 2), "2 decimal places"),
        (1250, numeric(5, -2), "decimal places"),
        (float("inf"), column("float8"), "a number"),
        (float("nan"), column("float8"), "a number"),
        (10**400, column("float8"), "a number"),
        ("abcdef", TEXT, "at most 5 characters; this has 6"),
        (90210, TEXT, "a string"),
        ("a\0", TEXT, "NUL"),
        ("\ud83d", TEXT, "surrogate"),
        ("lost", STAGE, "one of"),
        ("30.11.2026", column("date", category="D"), "2026-11-30"),
        ("2026-11-30T17:45:00Z", column("timestamp", category="D"), "without an offset"),
        ("2026-11-30T17:45:00", column("timestamptz", category="D"), "time zone"),
        ({"a": "\0"}, column("jsonb", category="U"), "NUL"),
        ({"\ud83d": 1}, column("jsonb", category="U"), "surrogate"),
        ("a", column("_text", category="A"), "a list"),
        ([{"a": 1}], column("_text", category="A"), "plain values"),
        ("AAAA", column("bytea", category="U"), "binary"),
        (["x"], column("point", category="G"), "the way Postgres spells"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_to_send(value: JsonValue, to: Column, says: str) -> None:
    """Nothing is cut, rounded or guessed on the way."""
    with pytest.raises(Unsuitable, match=says):
        to_text(value, to)


def test_the_largest_number_that_a_column_holds_fits() -> None:
    """However many digits it has: none of them is rounded on the way to the check."""
    assert to_text("9" * 40, numeric(40, 0)) == "9" * 40
    assert to_text(f"-{'9' * 38}.99", numeric(40, 2)) == f"-{'9' * 38}.99"


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=9))
def test_a_decimal_sent_as_a_string_is_that_decimal(number: Decimal) -> None:
    """However many digits it has."""
    assert Decimal(to_text(str(number), column("numeric")) or "") == number


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4))
def test_a_decimal_sent_as_a_json_number_is_that_decimal_or_refused(number: Decimal) -> None:
    """A double holds fifteen digits; what has more has to come as a string."""
    assert Decimal(to_text(float(number), column("numeric")) or "") == number


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("9007199254740991", Kind.INTEGER, 9007199254740991),
        ("9007199254740992", Kind.INTEGER, "9007199254740992"),
        ("1.50", Kind.DECIMAL, "1.50"),
        ("0.1", Kind.FLOAT, 0.1),
        ("Infinity", Kind.FLOAT, "Infinity"),
        ("true", Kind.BOOLEAN, True),
        ("2026-01-02 03:04:05.6+00", Kind.TIMESTAMPTZ, "2026-01-02T03:04:05.6+00:00"),
        ("0044-03-15 12:00:00 BC", Kind.TIMESTAMP, "0044-03-15 12:00:00 BC"),
        ("infinity", Kind.TIMESTAMP, "infinity"),
        (None, Kind.TEXT, None),
    ],
)
def test_what_postgres_wrote_becomes_a_typed_value(text: str | None, kind: Kind, value: JsonValue) -> None:
    """Exact, or left as Postgres spells it."""
    assert from_text(text, kind) == value


def test_numbers_inside_json_stay_exact() -> None:
    """What a double cannot hold comes out as a string."""
    read = json_value('{"a": 12345678901234567890, "b": 0.1, "c": 0.12345678901234567890, "d": 1e999}')
    assert read == {"a": "12345678901234567890", "b": 0.1, "c": "0.12345678901234567890", "d": "1e999"}


@pytest.mark.parametrize(
    ("text", "style", "shown"),
    [
        ("1234567.50", Style(kind=Kind.DECIMAL), "1,234,567.50"),
        ("5.6519417475728155", Style(kind=Kind.DECIMAL, places=2), "5.65"),
        ("0.123456789012345678", Style(kind=Kind.DECIMAL), "0.123456789012345678"),
        ("1234", Style(kind=Kind.INTEGER), "1,234"),
        ("1234", Style(kind=Kind.INTEGER, plain=True), "1234"),
        ("1234.5", Style(kind=Kind.DECIMAL, currency="USD"), "$1,234.50"),
        ("1234", Style(kind=Kind.DECIMAL, currency="JPY"), "¥1,234"),
        ("false", Style(kind=Kind.BOOLEAN), "no"),
        ("2026-11-01", Style(kind=Kind.DATE), "Nov 1, 2026"),
        ("infinity", Style(kind=Kind.DATE), "infinity"),
        ("2026-11-01 05:30:00+00", Style(kind=Kind.TIMESTAMPTZ), "Nov 1, 2026, 1:30:00\u202fAM EDT"),
        ("2026-11-01 06:30:00+00", Style(kind=Kind.TIMESTAMPTZ), "Nov 1, 2026, 1:30:00\u202fAM EST"),
        ("x" * 400, Style(kind=Kind.TEXT), "x" * 300 + "…"),
        (None, Style(kind=Kind.TEXT), "—"),
    ],
)
def test_a_value_is_shown_as_people_write_it(text: str | None, style: Style, shown: str) -> None:
    """No digit is lost but in averages; the hour that comes twice when clocks go back is told apart by its zone."""
    assert display(text, style, Presentation(zone="America/New_York")) == shown


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))  # noqa: DTZ001  # naive on purpose
def test_moments_go_in_as_they_are_and_never_shift(moment: datetime) -> None:
    """A timestamp without a zone stays; one with a zone keeps its instant."""
    assert datetime.fromisoformat(to_text(moment.isoformat(), column("timestamp")) or "") == moment
    zoned = moment.replace(tzinfo=UTC)
    assert datetime.fromisoformat(to_text(zoned.isoformat(), column("timestamptz")) or "") == zoned
    assert to_text(date(2026, 1, 2).isoformat(), column("date")) == "2026-01-02"
    assert to_text(time(1, 2, 3).isoformat(), column("time")) == "01:02:03"
