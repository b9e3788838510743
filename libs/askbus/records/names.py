"""What is asked of names, and what they came to. Pure; the request types are what a language model fills in."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from askbus.records.model import Request


class ResolveRequest(Request):
    """Which record does a name mean?"""

    collection: str
    text: str = Field(min_length=1, max_length=500, description="The name as the person wrote it.")
    fields: tuple[str, ...] = Field(
        default=(), max_length=5, description="Text fields to look in; the record's name unless given."
    )


class Resolution(StrEnum):
    MATCH = "match"
    AMBIGUOUS = "ambiguous"
    NONE = "none"


class Candidate(BaseModel):
    """A record that a name may mean. `difference` says what a reader might not see, and is empty where nothing differs."""

    model_config = ConfigDict(frozen=True)

    key: dict[str, JsonValue]
    label: str
    difference: str = ""


class ResolveResult(BaseModel):
    """The record that is meant (`match`), those to choose from (`ambiguous`), or none. `near` are others that look alike."""

    model_config = ConfigDict(frozen=True)

    outcome: Resolution
    collection: str
    match: Candidate | None = None
    candidates: tuple[Candidate, ...] = ()
    near: tuple[Candidate, ...] = ()
    truncated: bool = False
    """Whether there are more candidates than are listed."""
    note: str = ""
    """What could not be looked for, and why."""


MOST_NAMES = 200


class ResolveNamesRequest(Request):
    """Which records do these names mean?"""

    collection: str
    texts: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field(
        min_length=1, max_length=MOST_NAMES, description="The names as they were written, up to 200 at once."
    )
    fields: tuple[str, ...] = Field(
        default=(), max_length=5, description="Text fields to look in; the record's name unless given."
    )


class NamedRecord(Candidate):
    """The record that a name surely means."""

    text: str


class UnsureName(BaseModel):
    """A name that means several records, or none: `candidates` are to choose from, `near` only look alike."""

    model_config = ConfigDict(frozen=True)

    text: str
    outcome: Resolution
    candidates: tuple[Candidate, ...] = ()
    near: tuple[Candidate, ...] = ()


class ResolvedNames(BaseModel):
    """What each name came to, in the order in which they were asked."""

    model_config = ConfigDict(frozen=True)

    collection: str
    matched: tuple[NamedRecord, ...]
    unsure: tuple[UnsureName, ...]
    note: str = ""
    """What could not be looked for, and why."""


class FoundRecord(BaseModel):
    """A record that is called so; `alike`: only nearly."""

    model_config = ConfigDict(frozen=True)

    collection: str
    key: dict[str, JsonValue]
    label: str
    alike: bool


class FoundRecords(BaseModel):
    """Those that are called so first. `not_searched`: collections that would have taken too long."""

    model_config = ConfigDict(frozen=True)

    records: tuple[FoundRecord, ...] = ()
    not_searched: tuple[str, ...] = ()
