"""Values on their way in and out: what a caller sent becomes the text that Postgres reads, and that text a typed JSON value.

Everything crosses as text, which Postgres reads back to the same value for every type (it is what pg_dump relies on), so that no
number passes through a float.
"""

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from decimal import Context, Decimal, InvalidOperation
from uuid import UUID

from pydantic import JsonValue

from askbus.records.model import Kind
from askbus.records.schema import Column, nearest

SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader keeps (RFC 8259, section 6)."""

_RANGES = {"int2": 2**15, "int4": 2**31, "int8": 2**63}
MOST_LABELS = 20

_WIDE = Context(prec=4000)
_LARGEST = sys.float_info.max
"""Arithmetic without rounding for every number that a caller can write."""
_WHOLE = re.compile(r"[+-]?[0-9]+")
_PLAIN = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


class Unsuitable(ValueError):
    """A value that a field cannot take; the text says what to send instead."""


def to_text(value: JsonValue, column: Column) -> str | None:
    """What Postgres is given for `value` in `column`; None is NULL.

    Raises Unsuitable.
    """
    return None if value is None else _WRITERS[column.kind](value, column)


def from_text(text: str | None, kind: Kind) -> JsonValue:
    """The typed JSON value of what Postgres wrote (see ResultColumn for how each kind comes out)."""
    if text is None:
        return None
    match kind:
        case Kind.INTEGER | Kind.BINARY:
            number = int(text)
            return number if abs(number) <= SAFE_INTEGER else text
        case Kind.FLOAT:
            parsed = float(text)
            return parsed if math.isfinite(parsed) else text
        case Kind.BOOLEAN:
            return text == "true"
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return _iso(text)
        case Kind.JSON | Kind.ARRAY:
            return json_value(text)
        case _:
            return text


def json_value(text: str) -> JsonValue:
    """JSON whose numbers stay exact: those that a double cannot hold come out as strings."""
    value: JsonValue = json.loads(text, parse_float=_exact_float, parse_int=_exact_integer)
    return value


def check_text(text: str) -> str:
    """`text`, if Postgres can store it: no NUL (it ends strings there), no half of a surrogate pair (UTF-8 has none)."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unsuitable("it holds half of a surrogate pair, which cannot be stored") from error
    if "\0" in text:
        raise Unsuitable("it holds a NUL character, which cannot be stored")
    return text


def _iso(text: str) -> str:
    """2024-01-01 12:00:00+00 as ISO 8601 writes it; infinity and years before Christ stay as Postgres spells them."""
    if not text[:1].isdigit() or text.endswith("BC"):
        return text
    moment = text.replace(" ", "T", 1)
    return f"{moment}:00" if re.search(r"T.*[+-]\d\d$", moment) else moment


def _exact_integer(digits: str) -> int | str:
    number = int(digits)
    return number if abs(number) <= SAFE_INTEGER else digits


def _exact_float(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) and Decimal(repr(number)) == Decimal(digits) else digits


def _integer(value: JsonValue, column: Column) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) <= SAFE_INTEGER:
        value = int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) and len(value) < 40:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Unsuitable("send a whole number")
    bound = _RANGES[column.base_name]
    if not -bound <= value < bound:
        raise Unsuitable(f"send a whole number from {-bound} to {bound - 1}")
    return str(value)


def decimal_of(value: JsonValue) -> Decimal:
    """The number that was meant, exactly. A float counts while its shortest spelling is surely what was written."""
    if isinstance(value, float) and math.isfinite(value):
        spelled = repr(value)
        if len(Decimal(spelled).as_tuple().digits) > 15:
            raise Unsuitable("a number with this many digits must be sent as a string to stay exact")
        value = spelled
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value.strip()):
        try:
            return Decimal(value.strip())
        except InvalidOperation as error:
            raise Unsuitable("send a plain decimal such as 1234.50") from error
    raise Unsuitable("send a plain decimal such as 1234.50, without currency or separators, best as a string")


def _decimal(value: JsonValue, column: Column) -> str:
    number = decimal_of(value)
    if column.numeric is not None:
        precision, scale = column.numeric
        if number.copy_abs() >= Decimal(1).scaleb(precision - scale):
            raise Unsuitable(f"send at most {precision - scale} digits before the point")
        if len(number.as_tuple().digits) > _WIDE.prec or _WIDE.remainder(number.scaleb(scale, _WIDE), Decimal(1)):
            raise Unsuitable(f"send at most {scale} decimal places")
    return format(number, "f")


def _float(value: JsonValue, _: Column) -> str:
    number = float(decimal_of(value)) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not -_LARGEST <= number <= _LARGEST:
        raise Unsuitable("send a number")
    return repr(number)


def _boolean(value: JsonValue, _: Column) -> str:
    if isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower()
    if not isinstance(value, bool):
        raise Unsuitable("send true or false")
    return "true" if value else "false"


def _text(value: JsonValue, column: Column) -> str:
    if not isinstance(value, str):
        raise Unsuitable("send a string")
    if column.length is not None and len(value) > column.length:
        raise Unsuitable(f"send at most {column.length} characters; this has {len(value)}")
    return check_text(value)


def _enum(value: JsonValue, column: Column) -> str:
    if not isinstance(value, str) or value not in column.labels:
        labels = list(column.labels)
        shown = labels if len(labels) <= MOST_LABELS else nearest(str(value), labels, MOST_LABELS)
        raise Unsuitable(f"send one of {', '.join(shown)}{', …' if len(labels) > MOST_LABELS else ''}")
    return value


def _moment(parse: Callable[[str], date | time], example: str) -> Callable[[JsonValue, Column], str]:
    def write(value: JsonValue, _: Column) -> str:
        try:
            return parse(str(value).strip()).isoformat()
        except ValueError as error:
            raise Unsuitable(f"send it as {example}") from error

    return write


def _datetime(value: JsonValue) -> datetime:
    try:
        return datetime.fromisoformat(str(value).strip())
    except ValueError as error:
        raise Unsuitable("send it as 2026-11-30T17:45:00") from error


def _timestamp(value: JsonValue, _: Column) -> str:
    moment = _datetime(value)
    if moment.tzinfo is not None:
        raise Unsuitable("this field has no time zone: send it as 2026-11-30T17:45:00, without an offset")
    return moment.isoformat(sep=" ")


def _timestamptz(value: JsonValue, _: Column) -> str:
    moment = _datetime(value)
    if moment.tzinfo is None:
        raise Unsuitable("say which time zone is meant: 2026-11-30T17:45:00-05:00, or Z for UTC")
    return moment.isoformat(sep=" ")


def _uuid(value: JsonValue, _: Column) -> str:
    try:
        return str(UUID(str(value)))
    except ValueError as error:
        raise Unsuitable("send a UUID") from error


def _json(value: JsonValue, _: Column) -> str:
    for text in _texts(value):
        check_text(text)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise Unsuitable("JSON has no form for numbers that are not finite") from error


def _texts(value: JsonValue) -> Iterator[str]:
    """Every string in it, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        if isinstance(value, dict):
            yield from value
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _array(value: JsonValue, _: Column) -> str:
    if not isinstance(value, list):
        raise Unsuitable("send a list")
    return _array_literal(value)


def _array_literal(items: list[JsonValue]) -> str:
    """The items as an array literal (Postgres manual, 8.15.6)."""
    parts = []
    for item in items:
        if item is None:
            parts.append("NULL")
        elif isinstance(item, list):
            parts.append(_array_literal(item))
        elif isinstance(item, dict):
            raise Unsuitable("send a list of plain values")
        else:
            text = item if isinstance(item, str) else json.dumps(item)
            parts.append('"' + check_text(text).replace("\\", "\\\\").replace('"', '\\"') + '"')
    return "{" + ",".join(parts) + "}"


def _binary(_value: JsonValue, _: Column) -> str:
    raise Unsuitable("binary data cannot be read or written here")


def _other(value: JsonValue, column: Column) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Unsuitable(f"send it as text, the way Postgres spells {column.type}")
    return check_text(str(value))


_WRITERS: dict[Kind, Callable[[JsonValue, Column], str]] = {
    Kind.INTEGER: _integer,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.BOOLEAN: _boolean,
    Kind.TEXT: _text,
    Kind.ENUM: _enum,
    Kind.DATE: _moment(date.fromisoformat, "2026-11-30"),
    Kind.TIME: _moment(time.fromisoformat, "17:45:00"),
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _timestamptz,
    Kind.UUID: _uuid,
    Kind.JSON: _json,
    Kind.ARRAY: _array,
    Kind.BINARY: _binary,
    Kind.OTHER: _other,
}
