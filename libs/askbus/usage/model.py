"""Uses of models and their sums. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from askbus.access.zones import no_number
from askbus.errors import InvalidInput
from askbus.models.model import Usage

LONGEST_SPAN = timedelta(days=366)
"""What one question about usage may span."""
USUAL_SPAN = timedelta(days=30)

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Kind(StrEnum):
    """What a model was used for."""

    CHAT = "chat"
    IMAGE = "image"
    PROBE = "probe"


class Outcome(StrEnum):
    """What became of it. Cut: stopped, out of time, or answered too late to count. Lost: its worker died."""

    DONE = "done"
    FAILED = "failed"
    CUT = "cut"
    LOST = "lost"


@dataclass(frozen=True)
class Spent:
    """What one use cost, as far as it is known. `usage` holds every try of a call that was made again."""

    outcome: Outcome
    model: str | None
    usage: Usage | None
    latency_ms: int | None

    def parameters(self) -> dict[str, object]:
        """As statements take it."""
        usage = self.usage
        return {
            "outcome": self.outcome.value,
            "model": self.model,
            "input_tokens": usage.input_tokens if usage else None,
            "cached_tokens": usage.cached_tokens if usage else None,
            "output_tokens": usage.output_tokens if usage else None,
            "latency_ms": self.latency_ms,
        }


class Totals(BaseModel):
    """The sum of some uses. `uncounted` of the `calls` brought no numbers: what they cost is not in the tokens."""

    model_config = ConfigDict(frozen=True)

    calls: int
    uncounted: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    latency_ms: int


class By(StrEnum):
    """What sums are told apart by. A day is one of UTC."""

    MODEL = "model"
    USER = "user"
    DAY = "day"
    KIND = "kind"
    PROJECT = "project"


class Of(StrEnum):
    """Whose usage: one's own, or everybody's, which owners and admins see."""

    ME = "me"
    WORKSPACE = "workspace"


def _whole_day(value: object) -> object:
    return f"{value}T00:00:00Z" if isinstance(value, str) and _DATE.fullmatch(value) else value


Moment = Annotated[AwareDatetime, BeforeValidator(_whole_day), BeforeValidator(no_number)]
"""A time with its zone, or a date: that day's beginning in UTC."""


class UsageFilter(BaseModel):
    """Which uses to sum: from `from` on and before `to`, of the last thirty days where nothing is said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    since: Annotated[Moment | None, Field(alias="from")] = None
    until: Annotated[Moment | None, Field(alias="to")] = None
    by: By = By.DAY
    of: Of = Of.ME

    def span(self, now: datetime) -> tuple[datetime, datetime]:
        """The two moments. Raises InvalidInput where they are the wrong way round or too far apart."""
        until = self.until or now
        impossible = InvalidInput(f"`from` is earlier than `to`, by {LONGEST_SPAN.days} days at most.")
        try:
            until = until.astimezone(UTC)
            since = (self.since or until - USUAL_SPAN).astimezone(UTC)
        except OverflowError:  # beyond the years that there are
            raise impossible from None
        if not timedelta(0) < until - since <= LONGEST_SPAN:
            raise impossible
        return since, until


class Share(Totals):
    """The sum of what has one `key`: a model's name, an id, a date, a kind. Empty where a lost call's model is not known."""

    key: str


class UsageReport(BaseModel):
    """The sums and their total."""

    model_config = ConfigDict(frozen=True)

    by: By
    of: Of
    shares: tuple[Share, ...]
    total: Totals
