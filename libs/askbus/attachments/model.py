"""Attachments: kinds, types and limits. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints

MOST_UNUSED = 50
"""Uploads of one user that wait to go with a message."""
LARGEST_SENT = 3_500_000
"""Bytes of a picture as a model is sent it: Anthropic takes five million, as base64."""
EXCERPT = 400
"""Characters of a text that are quoted where it is announced."""


class Kind(StrEnum):
    """What a file is, by its content."""

    IMAGE = "image"
    PDF = "pdf"
    TEXT = "text"
    CSV = "csv"


TYPES: dict[str, Kind] = {
    "image/png": Kind.IMAGE,
    "image/jpeg": Kind.IMAGE,
    "image/webp": Kind.IMAGE,
    "image/gif": Kind.IMAGE,
    "application/pdf": Kind.PDF,
    "text/plain": Kind.TEXT,
    "text/csv": Kind.CSV,
}
"""Every media type that is stored, and so every type that a content is ever sent with."""

FileName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


@dataclass(frozen=True)
class Reduced:
    """A smaller picture."""

    media_type: str
    content: bytes


@dataclass(frozen=True)
class Found:
    """What looking into a content came to. `pages` is a PDF's; `has_text` whether there is text to read piece by piece; `reduced` is what
    models are sent of a picture that is larger than they take."""

    media_type: str
    encoding: str | None = None
    pages: int | None = None
    has_text: bool = False
    excerpt: str = ""
    reduced: "Reduced | None" = None

    @property
    def kind(self) -> Kind:
        return TYPES[self.media_type]


class Attachment(BaseModel):
    """A file as people see it. `thread_id` is where it went; an upload without one is deleted at `expires_at`. `size` is in bytes."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    thread_id: UUID | None
    kind: Kind
    media_type: str
    name: str
    size: int
    pages: int | None
    created_at: datetime
    expires_at: datetime | None


class Upload(BaseModel):
    """A file to be stored, already looked into."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    id: UUID
    command_id: UUID
    project_id: UUID
    name: str
    found: Found
    content: bytes


@dataclass(frozen=True)
class File:
    """An attachment as a prompt and a tool use it, without its content."""

    id: UUID
    kind: Kind
    media_type: str
    name: str
    size: int
    encoding: str | None
    pages: int | None
    has_text: bool
    excerpt: str


class Picture(BaseModel):
    """A picture that a tool made. Its id is the call's; `thread_id` is where it is seen."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    media_type: str
    name: str
    size: int
