"""How a question gets attention when nobody answers it: a reminder, an escalation, and what a person marks. Pure."""

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator

from askbus.access.zones import Moment
from askbus.bus.envelope import Command, Service

LONGEST_SNOOZE = timedelta(days=30)
MOST_MARKED = 200
"""How many questions one command marks as seen."""

Seconds = Annotated[int, Field(ge=1, le=30 * 24 * 3600)]


class AnsweringRole(StrEnum):
    """Roles whose holders may answer. Each stands for itself and those above it."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


class _Later(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    after: Annotated[Seconds, Field(description="Seconds from asking.")]
    role: Annotated[AnsweringRole | None, Field(description="To everybody with this role or a higher one in the project.")] = None
    user_id: Annotated[UUID | None, Field(description="To this person.")] = None


class Reminder(_Later):
    """Once that long has passed without an outcome the question is unseen again: for the role or the person named, else for all
    who may answer it."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.role is not None and self.user_id is not None:
            raise ValueError("give role or user_id, not both")
        return self


class Escalation(_Later):
    """Once that long has passed without an outcome the role or the person named may answer too, whoever it is assigned to, and it
    is unseen and not put off for them."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.role is None) == (self.user_id is None):
            raise ValueError("give either role or user_id: whom to escalate to")
        return self


class Marked(BaseModel):
    """Which questions carry the mark now: those of the wanted that are open and that this principal sees."""

    question_ids: tuple[UUID, ...]


class MarkSeen(Command[Marked], owner=Service.QUESTION_BROKER):
    """This person has seen these questions. What is settled, or not theirs to see, is passed over."""

    question_ids: Annotated[tuple[UUID, ...], Field(min_length=1, max_length=MOST_MARKED)]


class SnoozeQuestion(Command[Marked], owner=Service.QUESTION_BROKER):
    """This person does not want the question among what is for them until then; None: they want it back."""

    question_id: UUID
    until: Moment | None
