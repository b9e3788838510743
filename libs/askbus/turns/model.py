"""Turns: states, moves, commands, and what is recorded of each step. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from askbus.bus.envelope import Command, Service
from askbus.grounding.model import Ungrounded
from askbus.tools.work import ShownCall
from askbus.usage.model import Totals

LONGEST_MESSAGE = 100_000


class TurnState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class TurnVerb(StrEnum):
    CLAIM = "claim"
    FINISH_STEP = "finish_step"
    WAIT = "wait"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"


OPEN = frozenset({TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING})

MOVES: dict[tuple[TurnState, TurnVerb], TurnState] = {
    (TurnState.QUEUED, TurnVerb.CLAIM): TurnState.RUNNING,
    (TurnState.RUNNING, TurnVerb.CLAIM): TurnState.RUNNING,
    (TurnState.WAITING, TurnVerb.CLAIM): TurnState.RUNNING,
    (TurnState.RUNNING, TurnVerb.FINISH_STEP): TurnState.RUNNING,
    (TurnState.RUNNING, TurnVerb.WAIT): TurnState.WAITING,
    (TurnState.RUNNING, TurnVerb.COMPLETE): TurnState.COMPLETED,
    (TurnState.QUEUED, TurnVerb.FAIL): TurnState.FAILED,
    (TurnState.RUNNING, TurnVerb.FAIL): TurnState.FAILED,
    (TurnState.WAITING, TurnVerb.FAIL): TurnState.FAILED,
    (TurnState.QUEUED, TurnVerb.CANCEL): TurnState.CANCELLED,
    (TurnState.RUNNING, TurnVerb.CANCEL): TurnState.CANCELLED,
    (TurnState.WAITING, TurnVerb.CANCEL): TurnState.CANCELLED,
}
"""Every move there is: terminal is terminal."""


class CancelReason(StrEnum):
    STOPPED = "stopped"
    SUPERSEDED = "superseded"
    INTERRUPTED = "interrupted"


class Overlap(StrEnum):
    """What becomes of a message that comes while the thread's turn is at work (C6)."""

    ENQUEUE = "enqueue"
    REJECT = "reject"
    INTERRUPT = "interrupt"


class Turn(BaseModel):
    """A turn as its user sees it. `retry_of` is the turn whose message it answers anew."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    thread_id: UUID
    client_message_id: str
    state: TurnState
    step: int
    attempt: int
    model_calls: int
    queued_at: datetime
    settled_at: datetime | None
    error_code: str | None
    cancel_reason: CancelReason | None
    superseded_by: UUID | None
    retry_of: UUID | None


class TurnError(BaseModel):
    """Why a turn failed: a fixed code, a sentence for the reader, and who can act on it."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str
    who: str


ERRORS: dict[str, TurnError] = {
    error.code: error
    for error in (
        TurnError(
            code="too_many_steps",
            message="This took more steps than one request may. Ask for less at once.",
            who="reader",
        ),
        TurnError(
            code="out_of_time",
            message="This took longer than one request may. An operator can raise ASKBUS_TURN_SECONDS.",
            who="admin",
        ),
        TurnError(
            code="repeated_failure",
            message="The same lookup failed three times in a row. Ask in another way.",
            who="reader",
        ),
        TurnError(
            code="model_unavailable",
            message="The model cannot be reached right now. Try again in a moment.",
            who="nobody",
        ),
        TurnError(
            code="model_refused",
            message="The model's provider refused the request. An admin should check its settings.",
            who="admin",
        ),
        TurnError(
            code="prompt_too_long",
            message="What this request needs is more than the model can be sent at once. Ask for less, or in a new conversation.",
            who="reader",
        ),
        TurnError(
            code="no_answer",
            message="The model came to no answer, also when it was asked once more. Try again, or ask in another way.",
            who="reader",
        ),
        TurnError(
            code="model_not_configured",
            message="No model is set up for this workspace. An admin must set one up, or choose another.",
            who="admin",
        ),
        TurnError(
            code="files_not_accepted",
            message="The model that answers here takes no pictures, or no PDF files without text. Send it as text, or ask an admin for "
            "a model that takes it.",
            who="reader",
        ),
        TurnError(
            code="access_ended",
            message="The session or token that asked has ended, or may not ask here any more. Sign in and send it again.",
            who="admin",
        ),
        TurnError(
            code="internal",
            message="Something went wrong on our side. It has been logged; try again.",
            who="nobody",
        ),
    )
}
"""The whole set of things that a reader is told; what the provider said stays in the log."""


class TurnDetail(Turn):
    """A turn with its last message, what it waits for, what it proposed, the work that was done, and what it cost. `replaced_by` is the
    latest turn that answers the same message after it. `retry` says that answering the message once more is possible, and safe: nothing
    that may not happen twice was begun. `ungrounded` are the numbers of the answer that have no source."""

    answer: str | None
    cut: str | None
    ungrounded: tuple[Ungrounded, ...] = ()
    model: str | None
    questions: tuple[UUID, ...]
    actions: tuple[UUID, ...]
    work: tuple[ShownCall, ...]
    usage: Totals
    replaced_by: UUID | None = None
    retry: bool = False
    error: TurnError | None = None


MessageText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_MESSAGE)]
ClientMessageId = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Context(BaseModel):
    """What a front end shows beside the conversation, or remembers of its user: quoted to the model, whatever its shape."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    text: Annotated[str, StringConstraints(max_length=8_000)]


MOST_CONTEXT = 20
MOST_ATTACHMENTS = 10
Instructions = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]


class StartTurn(Command[Turn], owner=Service.AGENT_LOOP):
    """A message of the user's. The same `client_message_id` sent again finds the first turn (C8).

    `attachments` are files of this user's that go with it, `context` is what the front end hands in, and `instructions` what a front
    end says that the workspace registered (C36).
    """

    turn_id: UUID
    thread_id: UUID
    client_message_id: ClientMessageId
    text: MessageText
    overlap: Overlap = Overlap.ENQUEUE
    attachments: Annotated[tuple[UUID, ...], Field(max_length=MOST_ATTACHMENTS)] = ()
    context: Annotated[tuple[Context, ...], Field(max_length=MOST_CONTEXT)] = ()
    instructions: Instructions | None = None


class RetryTurn(Command[Turn], owner=Service.AGENT_LOOP):
    """Answer the message of the turn `again` once more: of one that failed or was stopped, or of the last one of its conversation.

    The new turn is `turn_id`. Where that turn was repeated already, the latest repetition is the answer to this command, not another one.
    """

    turn_id: UUID
    again: UUID
    client_message_id: ClientMessageId
    overlap: Overlap = Overlap.ENQUEUE


class CancelTurn(Command[Turn], owner=Service.AGENT_LOOP):
    """Stop."""

    turn_id: UUID


@dataclass(frozen=True)
class NewCall:
    """A tool call to be recorded with the model step that asked for it. Without a `label` there is no tool of this name."""

    id: UUID
    position: int
    provider_id: str
    name: str
    arguments: str
    refusal: str | None
    extra: object
    label: str | None = None
    doing: str | None = None
    may_repeat: bool = False


@dataclass(frozen=True)
class Claim:
    """A step that this worker may do: every later write and signal names it, so that a stale worker changes nothing."""

    turn_id: UUID
    step: int
    attempt: int
