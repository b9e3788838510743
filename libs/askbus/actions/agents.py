"""What an agent sends on the bus about its actions, to `agent.<p>.action.<verb>`. Pure.

Each is answered with a Reply in the agent's own inbox. No body says who is asking: the subject does.
"""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from askbus.actions.model import ActionFilter, Proposal


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProposeRequest(_Request):
    """`propose`. `action_id` is the agent's choice: the same one sent again finds the same action."""

    action_id: UUID
    proposal: Proposal


class OneRequest(_Request):
    """`get` and `withdraw`."""

    action_id: UUID


class ListRequest(_Request):
    """`list`: what this agent proposed."""

    filter: ActionFilter = ActionFilter(mine=True)


class UntoldRequest(_Request):
    """`untold`: what it has still to hear."""

    limit: Annotated[int, Field(ge=1, le=200)] = 100


class HeardRequest(_Request):
    """`heard`: it has heard so many outcomes of this action in all: one, and two once it is undone. Safe to send twice."""

    action_id: UUID
    heard: Annotated[int, Field(ge=1)]


class Heard(BaseModel):
    """The acknowledgement is stored."""

    action_id: UUID
