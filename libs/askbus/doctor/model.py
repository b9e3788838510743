"""What was looked at and what it came to. Pure."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Level(StrEnum):
    """`ok`; `advice`: it works and could be better; `wrong`: something does not work."""

    OK = "ok"
    ADVICE = "advice"
    WRONG = "wrong"


class Finding(BaseModel):
    """One thing that was looked at. `says` is a sentence; `do` are commands, statements or sentences that mend it, in their order."""

    model_config = ConfigDict(frozen=True)

    area: str
    level: Level
    says: str
    do: tuple[str, ...] = ()


class Report(BaseModel):
    """Everything that was looked at. `healthy`: nothing is wrong."""

    model_config = ConfigDict(frozen=True)

    healthy: bool
    findings: tuple[Finding, ...]


def ok(area: str, says: str) -> Finding:
    return Finding(area=area, level=Level.OK, says=says)


def advice(area: str, says: str, *do: str) -> Finding:
    return Finding(area=area, level=Level.ADVICE, says=says, do=do)


def wrong(area: str, says: str, *do: str) -> Finding:
    return Finding(area=area, level=Level.WRONG, says=says, do=do)
