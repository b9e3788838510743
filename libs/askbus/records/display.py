"""Values as a person reads them, in their language and time zone. What is shown is never less exact than the value, but for
averages and floats, which are rounded."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_datetime, format_interval, format_skeleton, format_time
from babel.numbers import NumberPattern, get_currency_precision, parse_pattern
from pydantic import BaseModel, ConfigDict

from askbus.records.model import Kind, Unit

MISSING = "—"
LONGEST = 300
"""Characters of a text that are shown; the value itself holds the rest."""


class Presentation(BaseModel):
    """For whom values are shown. `locale` as CLDR names it, `zone` as IANA does."""

    model_config = ConfigDict(frozen=True)

    locale: str = "en"
    zone: str = "UTC"


class Style(BaseModel):
    """How one column is shown. `plain`: digits without grouping, for keys and years. `places`: round to so many. `unit`: stands
    behind the number. `percent`: the number is in percent; `fraction`: a hundred times it is. `stretch`: a value is where a stretch
    of time begins, in `zone` where moments are meant."""

    model_config = ConfigDict(frozen=True)

    kind: Kind
    plain: bool = False
    places: int | None = None
    currency: str = ""
    unit: str = ""
    percent: bool = False
    fraction: bool = False
    stretch: Unit | None = None
    zone: str = ""


PLAIN = Presentation()


def display(text: str | None, style: Style, presentation: Presentation = PLAIN) -> str:
    """What Postgres wrote, as the person reads it. Whatever has no better form is shown as it is."""
    if text is None:
        return MISSING
    try:
        return _shown(text, style, presentation)
    except (ValueError, ArithmeticError):
        # Infinity, years before Christ: valid in Postgres, no form in the calendar or the number format.
        return text


def _shown(text: str, style: Style, presentation: Presentation) -> str:
    if style.stretch is not None:
        return _stretch(text, style.stretch, style.zone, _locale(presentation.locale))
    match style.kind:
        case Kind.INTEGER | Kind.DECIMAL | Kind.FLOAT:
            return _number(text, style, presentation.locale)
        case Kind.BOOLEAN:
            return "yes" if text == "true" else "no"
        case Kind.DATE:
            return format_date(date.fromisoformat(text), "medium", _locale(presentation.locale))
        case Kind.TIME:
            return format_time(time.fromisoformat(text), "medium", locale=_locale(presentation.locale))
        case Kind.TIMESTAMP:
            return format_datetime(datetime.fromisoformat(text), "medium", locale=_locale(presentation.locale))
        case Kind.TIMESTAMPTZ:
            return _moment(text, presentation)
        case Kind.BINARY:
            return f"{_number(text, style, presentation.locale)} bytes"
        case _:
            return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _number(text: str, style: Style, locale: str) -> str:
    if style.plain:
        return text
    number = Decimal(text)
    if not number.is_finite():
        return text
    exponent = number.as_tuple().exponent
    places = max(0, -exponent) if isinstance(exponent, int) else 0
    if style.places is not None and places > style.places:
        places = style.places
    if style.currency:
        places = max(places, get_currency_precision(style.currency))
    if style.percent or style.fraction:
        return _percentage(number, max(0, places - 2) if style.fraction else places, locale, fraction=style.fraction)
    shown: str = _pattern(locale, places, style.currency).apply(number, _locale(locale), currency=style.currency or None)
    return f"{shown}\u00a0{style.unit}" if style.unit else shown


def _percentage(number: Decimal, places: int, locale: str, *, fraction: bool) -> str:
    return str(_percent(locale, places).apply(number if fraction else number.scaleb(-2), _locale(locale)))


def _moment(text: str, presentation: Presentation) -> str:
    """The moment in the person's zone, which is named: a clock time alone is ambiguous when clocks go back."""
    zone = ZoneInfo(presentation.zone)
    moment = datetime.fromisoformat(text).astimezone(zone)
    shown = format_datetime(moment, "medium", tzinfo=zone, locale=_locale(presentation.locale))
    return f"{shown} {moment.tzname()}"


def local(text: str, zone: str) -> str:
    """A moment as Postgres writes it, on the clocks of `zone` with their offset (ISO 8601); what no calendar holds stays as it is."""
    try:
        return datetime.fromisoformat(text).astimezone(ZoneInfo(zone)).isoformat()
    except (ValueError, OverflowError):
        return text


def _stretch(text: str, unit: Unit, zone: str, locale: Locale) -> str:
    """A month by its name, a week by its first and last day, an hour with its zone, since one may come twice."""
    begins = datetime.fromisoformat(text)
    if zone:
        begins = begins.astimezone(ZoneInfo(zone))
    name, begins = begins.tzname(), begins.replace(tzinfo=None)
    match unit:
        case Unit.HOUR:
            shown = format_datetime(begins, "short", locale=locale)
            return f"{shown} {name}" if name else shown
        case Unit.DAY:
            return format_date(begins, "medium", locale)
        case Unit.WEEK:
            return format_interval(begins.date(), begins.date() + timedelta(days=6), "yMMMd", locale=locale)
        case Unit.MONTH:
            return format_skeleton("yMMM", begins, locale=locale)
        case Unit.QUARTER:
            return format_skeleton("yQQQ", begins, locale=locale)
        case Unit.YEAR:
            return format_skeleton("y", begins, locale=locale)


@lru_cache(maxsize=64)
def _locale(name: str) -> Locale:
    return Locale.parse(name.replace("-", "_"))


@lru_cache(maxsize=512)
def _pattern(locale: str, places: int, currency: str) -> NumberPattern:
    """The locale's pattern with exactly `places` decimals; its own would round to three (CLDR, Unicode TR 35 part 3)."""
    formats = _locale(locale).currency_formats["standard"] if currency else _locale(locale).decimal_formats[None]
    made = parse_pattern(formats.pattern)
    made.frac_prec = (places, places)
    return made


@lru_cache(maxsize=256)
def _percent(locale: str, places: int) -> NumberPattern:
    made = parse_pattern(_locale(locale).percent_formats[None].pattern)
    made.frac_prec = (places, places)
    return made
