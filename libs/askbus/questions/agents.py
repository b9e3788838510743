"""What an agent sends on the bus about its questions, to `agent.<p>.question.<verb>`. Pure.

Each is answered with a Reply in the agent's own inbox. No body says who is asking: the subject does.
"""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from askbus.questions.model import Ask, QuestionFilter
from askbus.questions.sets import AskSet

MOST_UNTOLD = 100
"""How many questions one answer of `untold` holds; the next holds the rest, once these are heard."""


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AskRequest(_Request):
    """`ask`. `question_id` is the agent's choice: the same one sent again finds the same question."""

    question_id: UUID
    ask: Ask


class AskSetRequest(_Request):
    """`ask_many`: all of them, or none. `set_id` is the agent's choice: the same one sent again finds the same questions."""

    set_id: UUID
    said: AskSet


class OneRequest(_Request):
    """`get` and `cancel`."""

    question_id: UUID


class ListRequest(_Request):
    """`list`: what this agent asked."""

    filter: QuestionFilter = QuestionFilter(mine=True)


class UntoldRequest(_Request):
    """`untold`: what it has still to hear."""

    limit: Annotated[int, Field(ge=1, le=200)] = MOST_UNTOLD


class HeardRequest(_Request):
    """`heard`: it has heard so many events of this question in all, its notes and its outcome. Safe to send twice."""

    question_id: UUID
    heard: Annotated[int, Field(ge=1)]


class Heard(BaseModel):
    """The acknowledgement is stored."""

    question_id: UUID
