"""Threads and their messages, as people see them. Pure."""

from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from askbus.bus.envelope import Command, Service
from askbus.grounding.model import Ungrounded
from askbus.threads.lines import one_line
from askbus.tools.work import ShownCall
from askbus.usage.model import Totals


def _one_line(value: object) -> object:
    return one_line(value) if isinstance(value, str) else value


Title = Annotated[str, BeforeValidator(_one_line), StringConstraints(min_length=1, max_length=200)]
TEMPORARY = timedelta(hours=24)
"""How long a temporary conversation is kept without a message."""
ClientThreadId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]


class Thread(BaseModel):
    """A conversation. `revision` counts its messages. `temporary`: in no list and no search, and gone at `expires_at` unless something is
    said before. `dropped_turns` of its oldest turns are not kept any more, because one thread keeps no more than a bound."""

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
    temporary: bool
    expires_at: datetime | None
    dropped_turns: int


class ShownFile(BaseModel):
    """A file in a conversation; its content is at /v1/attachments/{id}/content. `size` is in bytes."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    kind: str
    media_type: str
    name: str
    size: int


class Message(BaseModel):
    """What the user said, or a model. `cut` says why an answer did not come to its end: stopped, failed, length. `attachments` went with
    a user's message, or are pictures that the calls of an answer made. `replaced`: a later turn answers the same message."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    turn_id: UUID
    step: int | None
    role: str
    text: str
    model: str | None
    cut: str | None
    created_at: datetime
    replaced: bool = False
    unconfirmed: tuple[UUID, ...] = ()
    """Actions that the answer says are done, and that nobody had confirmed when it said so."""
    ungrounded: tuple[Ungrounded, ...] = ()
    """Its numbers that stand in no result and not in the user's words."""
    sent_back: bool = False
    """It went back to the model because of them; what comes after it in the turn takes its place."""
    calls: tuple[ShownCall, ...] = ()
    attachments: tuple[ShownFile, ...] = ()


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


class Search(BaseModel):
    """What to look for in one's own threads: every word of `q`, in any order, as it is written, in a title or in one message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    q: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    project_id: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=50)] = 20
    before: UUID | None = None


class Hit(BaseModel):
    """A thread that was found, and the part of its latest message that has the words. Without a message the title has them. `snippet` is
    plain text, on one line."""

    thread: Thread
    message_id: UUID | None
    role: str | None
    snippet: str


class Found(BaseModel):
    """A page of threads that were found, latest made first; `next` is the `before` of the following page."""

    hits: tuple[Hit, ...]
    next: UUID | None


class CreateThread(Command[Thread], owner=Service.AGENT_LOOP):
    """Begin a conversation. Without a title the first question gives one.

    A temporary one is kept for as long as it is used. `idle_limit` bounds the time without a message for ordinary ones: for front ends that
    never say when a chat ends, whose name for it is `client_id`.
    """

    thread_id: UUID
    project_id: UUID
    title: Title | None = None
    temporary: bool = False
    idle_limit: Annotated[timedelta, Field(ge=timedelta(minutes=1))] | None = None
    client_id: ClientThreadId | None = None


class RenameThread(Command[Thread], owner=Service.AGENT_LOOP):
    """Give a conversation a name, which nothing replaces but another one that a person gives."""

    thread_id: UUID
    title: Title


class SaveThread(Command[Thread], owner=Service.AGENT_LOOP):
    """Make a temporary conversation an ordinary one."""

    thread_id: UUID


class Gone(BaseModel):
    """The thread that is no more, and its turns that were at work."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    ended: tuple[UUID, ...] = ()


class DeleteThread(Command[Gone], owner=Service.AGENT_LOOP):
    """Delete a conversation with all that it owns. Confirmed actions stay, with their audit trail."""

    thread_id: UUID


class CloseThread(Command[Gone], owner=Service.AGENT_LOOP):
    """The end of a temporary conversation: it is deleted. An ordinary one stays."""

    thread_id: UUID
