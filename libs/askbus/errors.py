"""Every error that askbus raises on purpose, and its word on each wire.

    AskbusError
    ├── InvalidInput          invalid_input       400   what was sent is wrong; the message says what to send
    ├── Unauthenticated       unauthenticated     401   no credentials, or none that still work
    ├── PermissionDenied      permission_denied   403   known, but not allowed
    ├── NotFound              not_found           404   does not exist, or not for this principal: the two look alike
    ├── Conflict              conflict            409   the state moved on; `details` shows where it stands now
    ├── TooLarge              too_large           413   over a size cap
    ├── RateLimited           rate_limited        429   too often; `details.retry_after` in seconds
    ├── Internal              internal            500   a defect: logged here, explained to nobody
    ├── Unavailable           unavailable         503   the owner or a dependency is not there now; send it again
    └── TimedOut              timed_out           504   no answer in time: it may have happened; send it again with the same id

Anything else that escapes is turned into `Internal` at the door: logged with its trace, shown to no one.
"""

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from askbus.redaction import redact, redact_value


class ErrorBody(BaseModel):
    """The one shape of an error on every wire: HTTP body, bus reply, stream event."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str
    details: dict[str, JsonValue] = {}


class AskbusError(Exception):
    """Base of the tree. `message` is a sentence for the person who can act; `details` is JSON for programs."""

    code: ClassVar[str] = "internal"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, details: Mapping[str, JsonValue] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, JsonValue] = dict(details or {})

    def body(self) -> ErrorBody:
        """As it leaves, without secrets: an error may repeat what it was given."""
        return ErrorBody(code=self.code, message=redact(self.message), details=redact_value(self.details))

    @classmethod
    def of(cls, body: ErrorBody) -> "AskbusError":
        """The error that `body` describes; an unknown code becomes `Internal`, its words kept."""
        return BY_CODE.get(body.code, Internal)(body.message, body.details)


class InvalidInput(AskbusError):
    code = "invalid_input"
    http_status = 400


class Unauthenticated(AskbusError):
    code = "unauthenticated"
    http_status = 401


class PermissionDenied(AskbusError):
    code = "permission_denied"
    http_status = 403


class NotFound(AskbusError):
    code = "not_found"
    http_status = 404


class Conflict(AskbusError):
    code = "conflict"
    http_status = 409


class TooLarge(AskbusError):
    code = "too_large"
    http_status = 413


class RateLimited(AskbusError):
    code = "rate_limited"
    http_status = 429


class Internal(AskbusError):
    code = "internal"
    http_status = 500

    @classmethod
    def hidden(cls) -> Self:
        """What a stranger is told about a defect: nothing but that it is ours."""
        return cls("Something went wrong on our side. It has been logged; try again.")


class Unavailable(AskbusError):
    code = "unavailable"
    http_status = 503


class TimedOut(AskbusError):
    code = "timed_out"
    http_status = 504


BY_CODE: dict[str, type[AskbusError]] = {
    kind.code: kind
    for kind in (
        InvalidInput, Unauthenticated, PermissionDenied, NotFound, Conflict,
        TooLarge, RateLimited, Internal, Unavailable, TimedOut,
    )
}  # fmt: skip


def problems(error: ValidationError) -> list[tuple[str, str]]:
    """Where input is wrong (`operations.0.values`; nothing for the whole) and how, without repeating it. A list is not called too short
    for want of the items that are wrong themselves."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    places = [one["loc"] for one in found]

    def follows(place: tuple[int | str, ...]) -> bool:
        return any(len(other) > len(place) and other[: len(place)] == place for other in places)

    return [
        (".".join(map(str, one["loc"])), one["msg"].removeprefix("Value error, "))
        for one in found
        if not (one["type"] == "too_short" and follows(one["loc"]))
    ]
