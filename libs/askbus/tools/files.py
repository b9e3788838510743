"""What the tools for files take and give. Pure."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from askbus.records.model import Request


class ReadAttachment(Request):
    """Which part of which file."""

    file: str = Field(min_length=1, max_length=200, description="Its id or its name, as it was announced.")
    offset: int = Field(
        default=0, ge=0, description="Characters of a text or rows of a CSV file to skip: next of the previous piece."
    )
    limit: int | None = Field(
        default=None, ge=1, le=100_000, description="How many characters, rows or pages; as many as fit unless given."
    )
    page: int = Field(default=1, ge=1, description="The first page of a PDF file to read: next of the previous piece.")


class FileColumn(BaseModel):
    """A column of a CSV file. `kind` is integer, decimal (exact, as text), boolean, date, timestamp or text."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: str


class FilePage(BaseModel):
    """A page of a PDF file."""

    model_config = ConfigDict(frozen=True)

    page: int
    text: str


class FilePiece(BaseModel):
    """A piece of a file: its text, its rows, or its pages. `total` counts all characters, rows or pages that it has; `next` is where the
    following piece begins, if there is one. `notes` say how it was read."""

    model_config = ConfigDict(frozen=True)

    file: UUID
    name: str
    kind: str
    total: int
    next: int | None
    text: str | None = None
    columns: tuple[FileColumn, ...] | None = None
    rows: tuple[tuple[JsonValue, ...], ...] | None = None
    pages: tuple[FilePage, ...] | None = None
    notes: tuple[str, ...] = ()


class GenerateImage(Request):
    """What to show."""

    prompt: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)] = Field(
        description="What the picture shows, in full: the model that makes it knows nothing of the conversation."
    )
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"^[\w -]+$")] = Field(
        default="picture", description="What the file is called, without an ending."
    )


class MadePicture(BaseModel):
    """A picture that was made and is kept."""

    model_config = ConfigDict(frozen=True)

    file: UUID
    name: str
    media_type: str
    bytes: int
    note: str = "The person sees it beside this answer. You have not seen it: do not say what it looks like."
