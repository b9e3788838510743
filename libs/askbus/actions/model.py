"""Actions: types, states, moves, commands. Pure."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from askbus.access.model import Principal
from askbus.actions.card import Card, Result
from askbus.actions.decisions import OperationDecision
from askbus.bus.envelope import Command, Service
from askbus.records.changes import MOST_OPERATIONS, Operation

DEFAULT_LIFE = timedelta(hours=24)
LONGEST_LIFE = timedelta(days=30)
LONGEST_WAIT = 600
"""Seconds that one call may wait for an outcome."""


class ActionState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    APPLIED = "applied"
    FAILED = "failed"
    CONFLICTED = "conflicted"
    UNDONE = "undone"


class ActionVerb(StrEnum):
    """What people and agents do with an action (the first four), and what happens to it."""

    CONFIRM = "confirm"
    REJECT = "reject"
    WITHDRAW = "withdraw"
    EXPIRE = "expire"
    APPLY = "apply"
    FAIL = "fail"
    CONFLICT = "conflict"
    UNDO = "undo"


MOVES: dict[tuple[ActionState, ActionVerb], ActionState] = {
    (ActionState.PENDING, ActionVerb.CONFIRM): ActionState.CONFIRMED,
    (ActionState.PENDING, ActionVerb.REJECT): ActionState.REJECTED,
    (ActionState.PENDING, ActionVerb.WITHDRAW): ActionState.WITHDRAWN,
    (ActionState.PENDING, ActionVerb.EXPIRE): ActionState.EXPIRED,
    (ActionState.CONFIRMED, ActionVerb.APPLY): ActionState.APPLIED,
    (ActionState.CONFIRMED, ActionVerb.FAIL): ActionState.FAILED,
    (ActionState.CONFIRMED, ActionVerb.CONFLICT): ActionState.CONFLICTED,
    (ActionState.APPLIED, ActionVerb.UNDO): ActionState.UNDONE,
}
"""Every move there is."""


class UndoState(StrEnum):
    REQUESTED = "requested"
    DONE = "done"
    REFUSED = "refused"


STORABLE = r"^[^\x00]*$"
"""Postgres keeps U+0000 in no text."""

Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=STORABLE)]
Summary = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500, pattern=STORABLE)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000, pattern=STORABLE)]
Digest = Annotated[str, StringConstraints(min_length=1, max_length=128)]


class Proposal(BaseModel):
    """What a proposer says. The same dedupe key from the same proposer finds the same action, in any state.

    `expires_in` is in seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    project_id: UUID
    operations: Annotated[tuple[Operation, ...], Field(min_length=1, max_length=MOST_OPERATIONS)]
    summary: Summary | None = None
    dedupe_key: Short | None = None
    expires_in: Annotated[int, Field(ge=1, le=int(LONGEST_LIFE.total_seconds()))] = int(DEFAULT_LIFE.total_seconds())


class Action(BaseModel):
    """A stored action without what it changes. `state` is `expired` from the moment `expires_at` has passed on a pending one.

    `headline` is made from the operations, `summary` is what the proposer says of them.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    token_id: UUID | None
    proposer_id: UUID
    thread_id: UUID | None
    turn_id: UUID | None
    state: ActionState
    summary: str | None
    headline: str
    digest: str
    dedupe_key: str | None
    proposed_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: UUID | None
    reason: str | None
    settled_at: datetime | None
    approval_id: UUID | None = None
    """The standing approval that confirmed it; `decided_by` is who made that."""


class Undo(BaseModel):
    """A request to undo an action, and what became of it."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    action_id: UUID
    user_id: UUID
    state: UndoState
    requested_at: datetime
    settled_at: datetime | None
    rest: bool = False
    """Whether what was in the way was to be left out instead of refusing the whole."""
    group_id: UUID | None = None
    """The request for a whole turn that this belongs to."""


class UndoDetail(Undo):
    """An undo with who asked for it by name, and what was restored or why it was refused."""

    requested_by: str
    outcome: Result | None


class UndoPreview(BaseModel):
    """What an undo would do now. Nothing was changed."""

    model_config = ConfigDict(frozen=True)

    action_id: UUID
    state: UndoState
    outcome: Result


class NamedAction(Action):
    """An action with who proposed (`proposed_with` names the agent's token) and who decided it."""

    proposed_by: str
    proposed_with: str | None
    decided_by_name: str | None


class ActionDetail(NamedAction):
    """The same with its card, what became of it, and every undo that was asked for."""

    card: Card
    outcome: Result | None
    undos: tuple[UndoDetail, ...]

    @property
    def resting(self) -> bool:
        """Whether nothing is expected to happen to it: it is neither undecided, nor being applied, nor being undone."""
        return self.state not in {ActionState.PENDING, ActionState.CONFIRMED} and not any(
            undo.state is UndoState.REQUESTED for undo in self.undos
        )

    @property
    def ends(self) -> datetime:
        """When it changes by time alone; never, once it was decided."""
        return self.expires_at if self.state is ActionState.PENDING else datetime.max.replace(tzinfo=UTC)


class ProposeChanges(Command[Action], owner=Service.ACTION_APPLIER):
    """Propose. The tool-runner alone sets `call_id`, with `thread_id` and `turn_id`; there the call's id is the action's, so that
    a second run of the call finds what the first one proposed. What is proposed again belongs to the thread and turn of the first."""

    action_id: UUID
    proposal: Proposal
    thread_id: UUID | None = None
    turn_id: UUID | None = None
    call_id: UUID | None = None

    @model_validator(mode="after")
    def _of_one_call(self) -> Self:
        if (self.thread_id is None) != (self.turn_id is None) or (self.turn_id is None and self.call_id is not None):
            raise ValueError("a proposal from a chat names its thread, its turn and its call")
        if self.call_id not in {None, self.action_id}:
            raise ValueError("a proposal from a chat has the id of its call")
        return self


class ConfirmAction(Command[Action], owner=Service.ACTION_APPLIER):
    """Confirm what was shown: `digest` is the card's."""

    action_id: UUID
    digest: Digest


class RejectAction(Command[Action], owner=Service.ACTION_APPLIER):
    """Reject, with a reason if there is one to tell."""

    action_id: UUID
    reason: Reason | None = None


class DecideAction(Command[Action], owner=Service.ACTION_APPLIER):
    """Decide on each operation of what was shown: `digest` is the card's, `decisions` has one for each operation."""

    action_id: UUID
    digest: Digest
    decisions: Annotated[tuple[OperationDecision, ...], Field(min_length=1, max_length=MOST_OPERATIONS)]


class WithdrawAction(Command[Action], owner=Service.ACTION_APPLIER):
    """The proposer no longer wants it."""

    action_id: UUID


class UndoAction(Command[Undo], owner=Service.ACTION_APPLIER):
    """Undo an applied action. `undo_id` is the caller's choice: the same one sent again finds the same request. `rest`: leave out what
    was edited since, and list it, instead of refusing the whole."""

    action_id: UUID
    undo_id: UUID
    rest: bool = False


class PreviewUndo(Command[UndoPreview], owner=Service.ACTION_APPLIER):
    """Say what an undo would do, and do nothing."""

    action_id: UUID
    rest: bool = False


class ProposeAgain(Command[Action], owner=Service.ACTION_APPLIER):
    """Propose what an undone action had changed once more, as a new action that has to be confirmed. `action_id` is the new one's."""

    undone_id: UUID
    action_id: UUID


class ActionFilter(BaseModel):
    """Which actions to list. `mine`: those that this principal proposed. `approval_id`: those that this standing approval confirmed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: ActionState | None = None
    project_id: UUID | None = None
    thread_id: UUID | None = None
    approval_id: UUID | None = None
    mine: bool = False
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None


class ActionPage(BaseModel):
    """A page, newest first; `next` is the `before` of the following page."""

    actions: tuple[NamedAction, ...]
    next: UUID | None


class ToldAction(BaseModel):
    """What an agent on the bus has not acknowledged yet: the action as it stands, and how many outcomes it stands for."""

    action: Action
    untold: int


class UntoldActions(BaseModel):
    """Every action that an agent on the bus still has to hear about."""

    told: tuple[ToldAction, ...]


def proposer_of(principal: Principal) -> UUID:
    """Whose dedupe keys and actions these are: a token's own, or the person's."""
    return principal.token_id or principal.user_id
