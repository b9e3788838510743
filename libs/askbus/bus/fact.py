"""A fact on the bus: something that is now true, by id and state, never by content. Pure."""

from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from askbus.bus import subjects
from askbus.feed.model import Change


class Fact(BaseModel):
    """What a worker is woken with. The message is a wake-up: the handler reads the row, which is the truth.

    `fact` is the word, `turn.queued`; `parent_id` what the entity belongs to (a call's turn). `seq` is the change's place in the
    log and `xid` the transaction that wrote it; both are None when an owner's sweep repeats a fact, which no dedupe may drop.
    `traceparent` (W3C) travels in the header of that name. `delivery` counts from 1 and is the receiver's alone.
    """

    model_config = ConfigDict(frozen=True)

    fact: str
    entity: str
    entity_id: UUID
    status: str
    workspace_id: UUID
    project_id: UUID | None = None
    user_id: UUID | None = None
    parent_id: UUID | None = None
    seq: int | None = None
    xid: int | None = None
    traceparent: str | None = Field(default=None, exclude=True)
    delivery: int = Field(default=1, exclude=True)

    @classmethod
    def of(cls, change: Change) -> Self:
        """The fact that a row of the change log stands for."""
        return cls(
            fact=change.fact,
            entity=change.entity,
            entity_id=change.entity_id,
            status=change.status,
            workspace_id=change.workspace_id,
            project_id=change.project_id,
            user_id=change.user_id,
            parent_id=change.parent_id,
            seq=change.seq,
            xid=change.xid,
            traceparent=change.trace,
        )

    @property
    def subject(self) -> str:
        return subjects.fact(self.fact, self.parent_id or self.entity_id)

    @property
    def message_id(self) -> str | None:
        """What JetStream drops duplicates by; the entity is in it, since a restored database counts anew."""
        return None if self.seq is None else f"{self.fact}.{self.entity_id}.{self.seq}"
