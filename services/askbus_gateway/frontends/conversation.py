"""What the views of front ends read: a thread's messages with the calls that each asked for, and the things that people decide on."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal
from askbus.actions import reads as actions
from askbus.actions.model import ActionDetail, ActionFilter, ActionState
from askbus.db.pool import Pool
from askbus.db.statements import Statement
from askbus.errors import PermissionDenied
from askbus.grounding.model import Ungrounded
from askbus.questions import reads as questions
from askbus.questions.model import QuestionDetail

CONVERSATION = Statement("askbus_gateway.frontends", "sql/conversation.sql")
CALLS = Statement("askbus_gateway.frontends", "sql/calls.sql")

MOST_MESSAGES = 500
"""How many of a thread's latest messages a front end is given at once."""
UNDER_WAY = frozenset({"requested", "started", "open"})


class ToldCall(BaseModel):
    """A tool call as front ends are told of it: which tool, and what became of it. No arguments, no results (C27)."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    name: str
    label: str | None = None
    step: int
    state: str
    question_id: UUID | None
    action_id: UUID | None

    @property
    def over(self) -> bool:
        return self.state not in UNDER_WAY


class ToldMessage(BaseModel):
    """A message. What the user said is known by the front end's own id for it, what the model said by turn and step."""

    model_config = ConfigDict(frozen=True)

    turn_id: UUID
    step: int | None
    role: str
    text: str
    client_message_id: str
    ungrounded: tuple[Ungrounded, ...] = ()
    calls: tuple[ToldCall, ...]

    @property
    def id(self) -> str:
        return self.client_message_id if self.step is None else message_id(self.turn_id, self.step)


def message_id(turn_id: UUID, step: int) -> str:
    """How front ends know what the model said in a step: the same while it streams and once it is stored."""
    return f"{turn_id}.{step}"


class Conversation:
    """One person's reading of one thread."""

    def __init__(self, pool: Pool, by: Principal, thread_id: UUID) -> None:
        self.pool = pool
        self.by = by
        self.thread_id = thread_id

    async def messages(self, turn_id: UUID | None = None) -> list[ToldMessage]:
        """The thread's latest messages, or those of one turn."""
        rows = await CONVERSATION.rows(
            self.pool, thread_id=self.thread_id, user_id=self.by.user_id, turn_id=turn_id, most=MOST_MESSAGES
        )
        return [ToldMessage.model_validate(row) for row in rows]

    async def calls(self, turn_id: UUID) -> list[ToldCall]:
        """The calls of a turn."""
        rows = await CALLS.rows(self.pool, turn_id=turn_id, user_id=self.by.user_id)
        return [ToldCall.model_validate(row) for row in rows]

    async def questions(self, ids: tuple[UUID, ...]) -> list[QuestionDetail]:
        """These questions. None of them for a token that may chat and read no questions; NotFound where one is not theirs to see."""
        try:
            return [await questions.get(self.pool, self.by, question_id) for question_id in ids]
        except PermissionDenied:
            return []

    async def actions(self, ids: tuple[UUID, ...]) -> list[ActionDetail]:
        """These actions with their cards. Raises NotFound where one is not theirs to see."""
        return [await actions.get(self.pool, self.by, action_id) for action_id in ids]

    async def pending(self) -> tuple[UUID, ...]:
        """The thread's actions that are still to be decided, oldest first."""
        page = await actions.list_page(
            self.pool, self.by, ActionFilter(state=ActionState.PENDING, thread_id=self.thread_id, limit=50)
        )
        return tuple(action.id for action in reversed(page.actions))
