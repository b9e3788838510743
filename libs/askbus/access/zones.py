"""Time zones by their IANA names. Pure."""

from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator


def known_zone(name: str) -> str:
    """`name`, where it is a time zone's. Raises ValueError."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{name!r} is not the name of a time zone, such as Europe/Berlin") from None
    return name


TimeZone = Annotated[str, AfterValidator(known_zone)]
