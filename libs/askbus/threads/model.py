"""Threads and their messages, as people see them. Pure."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from askbus.bus.envelope import Command, Service
from askbus.tools.work import ShownCall
from askbus.usage.model import Totals

Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
LONGEST_MADE_TITLE = 80


class Thread(BaseModel):
    """A conversation. `revision` counts its messages."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    title: str
    title_given: bool
    revision: int
    created_at: datetime
    updated_at: datetime


class Message(BaseModel):
    """What the user said, or a model. `cut` says why an answer did not come to its end: stopped, failed, length."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    turn_id: UUID
    step: int | None
    role: str
    text: str
    model: str | None
    cut: str | None
    created_at: datetime
    calls: tuple[ShownCall, ...] = ()


class ThreadDetail(Thread):
    """A thread with everything said in it, turn by turn, its turn at work if there is one, and what all of it cost."""

    messages: tuple[Message, ...]
    open_turns: tuple[UUID, ...]
    usage: Totals


class ThreadFilter(BaseModel):
    """Which of one's own threads to list, latest first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None


class ThreadPage(BaseModel):
    """A page of threads; `next` is the `before` of the following page."""

    threads: tuple[Thread, ...]
    next: UUID | None


class CreateThread(Command[Thread], owner=Service.AGENT_LOOP):
    """Begin a conversation. Without a title the first question gives one."""

    thread_id: UUID
    project_id: UUID
    title: Title | None = None


def title_from(text: str) -> str:
    """A title from a first message: white space collapsed, shortened at a word."""
    words = " ".join(text.split())
    if len(words) <= LONGEST_MADE_TITLE:
        return words
    kept = words[: LONGEST_MADE_TITLE - 1]
    return (kept.rpartition(" ")[0] or kept) + "…"
