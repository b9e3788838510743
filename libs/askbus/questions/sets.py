"""Several questions asked as one: all of them, or none. Pure."""

from hashlib import sha256
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import to_json

from askbus.bus.envelope import Command, Service
from askbus.questions.model import Ask

MOST_IN_SET = 20
LARGEST_SET = 800_000
"""Bytes of a set as JSON: it must fit in one message on the bus."""


class AskSet(BaseModel):
    """What an asker says at once. Each is a question of its own from then on: answered, cancelled and expiring by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: Annotated[tuple[Ask, ...], Field(min_length=1, max_length=MOST_IN_SET)]

    @model_validator(mode="after")
    def _askable_together(self) -> Self:
        for what in ("dedupe_key", "supersedes"):
            said = [(getattr(ask, what), ask.project_id) for ask in self.questions if getattr(ask, what) is not None]
            if len(set(said)) < len(said):
                raise ValueError(f"two questions of one set have the same {what}")
        if len(to_json(self)) > LARGEST_SET:
            raise ValueError(f"a set has at most {LARGEST_SET} bytes; ask in two")
        return self


class Placed(BaseModel):
    """One question of a set: the one that was asked, or the one that its dedupe key already stood for."""

    id: UUID
    asked: bool


class AskedSet(BaseModel):
    """The questions of a set, in the order in which they were said."""

    questions: tuple[Placed, ...]


class AskQuestions(Command[AskedSet], owner=Service.QUESTION_BROKER):
    """Ask several at once. The same `set_id` sent again finds the same questions."""

    set_id: UUID
    said: AskSet


def id_in_set(set_id: UUID, place: int) -> UUID:
    """The id of the question at that place: it follows from the set's. UUIDv8 (RFC 9562, 5.8) that sorts where the set's own does."""
    chance = int.from_bytes(sha256(set_id.bytes + place.to_bytes(1)).digest()[:10])
    return UUID(int=(set_id.int >> 80 << 80 | chance) & ~(0xF << 76 | 0b11 << 62) | 8 << 76 | 0b10 << 62)
