"""What a probe says: requests, and what must and must not happen. Pure."""

import re
import tomllib
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from askbus.turns.model import Context, MessageText


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]


class Part(BaseModel):
    """Base: a misspelt word in a probe is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class WantedCall(Part):
    """A call that must have been made and come to a result, by one of these tools. `has` is part of its arguments: an object must have
    these keys, a list must hold these things, "*" is anything."""

    tools: tuple[str, ...] = Field(min_length=1)
    has: dict[str, JsonValue] = {}


class Must(Part):
    """What must happen. Of `says` each text, or one of each list, stands in the answer or in what the user is asked, case ignored;
    `asks` wants a question to the user, by ask_user or at the end of the answer."""

    calls: tuple[WantedCall, ...] = ()
    says: tuple[str | tuple[str, ...], ...] = ()
    asks: bool = False


class MustNot(Part):
    """What must not happen: these tools are not called, and no such text is said (regular expressions, case ignored)."""

    calls: tuple[str, ...] = ()
    says: tuple[Pattern, ...] = ()


class Step(Part):
    """One message of the user, and what is wanted of the turn.

    `before` is SQL that changes the records first. `grounded`: each number that is said stands in a result of this turn, or in the user's
    own words. `plain`: no persona and no manners.
    """

    says: MessageText
    before: str = ""
    context: tuple[Context, ...] = ()
    must: Must = Must()
    must_not: MustNot = MustNot()
    grounded: bool = True
    plain: bool = False


class Probe(Part):
    """A conversation of one or more messages. `holds` is the sentence that it keeps true."""

    name: str
    holds: str
    turns: tuple[Step, ...] = Field(min_length=1)

    @classmethod
    def parse(cls, name: str, text: str) -> Self:
        """A probe's file. Raises pydantic's ValidationError, and tomllib.TOMLDecodeError."""
        return cls.model_validate({"name": name, **tomllib.loads(text)})


def probes(names: Sequence[str] = ()) -> tuple[Probe, ...]:
    """The probes that come with askbus, or those of these names, by name. Raises KeyError for one that is not there."""
    folder = files("askbus.probes").joinpath("cases")
    found = {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}
    return tuple(Probe.parse(name, found[name].read_text("utf-8")) for name in (names or sorted(found)))


def schema() -> str:
    """The tables that every probe is asked about, as SQL that replaces what is in the database."""
    return files("askbus.probes").joinpath("schema.sql").read_text("utf-8")


def rows() -> str:
    """What is in them when a probe begins."""
    return files("askbus.probes").joinpath("rows.sql").read_text("utf-8")
