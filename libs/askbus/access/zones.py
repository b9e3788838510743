"""Time zones by their IANA names, and moments that have one. Pure."""

from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, AwareDatetime


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


Moment = Annotated[AwareDatetime, AfterValidator(in_utc)]
"""A time with its zone, in UTC from then on."""
