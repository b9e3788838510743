"""Time zones by their IANA names, and moments that have one. Pure."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime, BeforeValidator


def known_zone(name: str) -> str:
    """`name`, where it is a time zone's. Raises ValueError."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not the name of a time zone, such as Europe/Berlin") from None
    return name


TimeZone = Annotated[str, AfterValidator(known_zone)]


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC. Raises ValueError where the calendar of UTC does not hold it, such as the last minute of the year 9999 west
    of Greenwich: no database driver takes it either."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the time is beyond the calendar") from None


def no_number(value: object) -> object:
    """As it is. Raises ValueError for a number, which would be taken for seconds since 1970, or for milliseconds."""
    if isinstance(value, int | float) or (isinstance(value, str) and value.replace(".", "", 1).lstrip("+-").isdecimal()):
        raise ValueError("send a time such as 2026-02-01T09:00:00Z, not a number")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(no_number), AfterValidator(in_utc)]
"""A time with its zone, in UTC from then on."""
