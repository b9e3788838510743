"""Questions: types, states, moves, commands. Pure."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from askbus.access.model import Principal
from askbus.bus.envelope import Command, Service
from askbus.questions.answer import AnswerSchema, storable
from askbus.questions.attention import AnsweringRole, Escalation, Reminder

DEFAULT_LIFE = timedelta(hours=24)
LONGEST_LIFE = timedelta(days=30)
LONGEST_WAIT = 600
"""Seconds that one call may wait for an outcome (Q2)."""


class QuestionState(StrEnum):
    OPEN = "open"
    ANSWERED = "answered"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


class QuestionVerb(StrEnum):
    ANSWER = "answer"
    DECLINE = "decline"
    ASK_BACK = "ask_back"
    CANCEL = "cancel"
    EXPIRE = "expire"
    SUPERSEDE = "supersede"


MOVES: dict[tuple[QuestionState, QuestionVerb], QuestionState] = {
    (QuestionState.OPEN, QuestionVerb.ANSWER): QuestionState.ANSWERED,
    (QuestionState.OPEN, QuestionVerb.DECLINE): QuestionState.DECLINED,
    (QuestionState.OPEN, QuestionVerb.ASK_BACK): QuestionState.OPEN,
    (QuestionState.OPEN, QuestionVerb.CANCEL): QuestionState.CANCELLED,
    (QuestionState.OPEN, QuestionVerb.EXPIRE): QuestionState.EXPIRED,
    (QuestionState.OPEN, QuestionVerb.SUPERSEDE): QuestionState.SUPERSEDED,
}
"""Every move there is: terminal is terminal."""


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


MOST_NOTES = 50
"""How often a question may be asked back; then it is answered or declined."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000), AfterValidator(storable)]
Short = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(storable)]
Remark = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000), AfterValidator(storable)]
Link = Annotated[str, StringConstraints(max_length=2000, pattern=r"^https?://[^\s\x00-\x20]+$")]


class Form(BaseModel):
    """What is asked, and what an answer may be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: Text
    options: Annotated[tuple[Short, ...], Field(max_length=50)] = ()
    multiple: Annotated[bool, Field(description="Whether several options may be chosen.")] = False
    free_text: Annotated[bool, Field(description="Whether an answer in own words is accepted beside the options.")] = True
    answer_schema: Annotated[
        AnswerSchema | None,
        Field(description="A flat JSON schema where the answer is a form to fill in; not together with options."),
    ] = None

    @model_validator(mode="after")
    def _answerable(self) -> Self:
        if len(set(self.options)) < len(self.options):
            raise ValueError("options must differ from each other")
        if self.multiple and not self.options:
            raise ValueError("multiple needs options to choose from")
        if self.answer_schema is not None and self.options:
            raise ValueError("give options or answer_schema, not both")
        if not self.free_text and not self.options and self.answer_schema is None:
            raise ValueError("without free_text there must be options or an answer_schema")
        return self


class Ask(Form):
    """What an asker says. The same dedupe key from the same asker finds the same question, in any state."""

    project_id: UUID
    title: Short | None = None
    link: Link | None = None
    reference: Short | None = None
    priority: Priority = Priority.NORMAL
    expires_in: Annotated[int, Field(ge=1, le=int(LONGEST_LIFE.total_seconds()))] = int(DEFAULT_LIFE.total_seconds())
    assignee_id: UUID | None = None
    dedupe_key: Short | None = None
    supersedes: UUID | None = None
    remind: Annotated[Reminder | None, Field(description="When nobody has answered for so long.")] = None
    escalate: Annotated[Escalation | None, Field(description="When nobody has answered for so long.")] = None

    @model_validator(mode="after")
    def _in_time(self) -> Self:
        for name, later in (("remind", self.remind), ("escalate", self.escalate)):
            if later is not None and later.after >= self.expires_in:
                raise ValueError(f"{name} comes after {later.after} s, and the question expires after {self.expires_in} s")
        return self


class Question(BaseModel):
    """A stored question as people and agents see it. `state` is `expired` from the moment `expires_at` has passed."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    token_id: UUID | None
    asker_id: UUID
    turn_id: UUID | None
    state: QuestionState
    title: str | None
    text: str
    options: tuple[str, ...]
    multiple: bool
    free_text: bool
    answer_schema: AnswerSchema | None
    link: str | None
    reference: str | None
    priority: Priority
    assignee_id: UUID | None
    dedupe_key: str | None
    asked_at: datetime
    expires_at: datetime
    settled_at: datetime | None
    settled_by: UUID | None
    answer: JsonValue
    reason: str | None
    superseded_by: UUID | None
    note_count: int
    remind_at: datetime | None
    remind_role: AnsweringRole | None
    remind_user: UUID | None
    escalate_at: datetime | None
    escalate_role: AnsweringRole | None
    escalate_user: UUID | None
    escalated: bool

    @property
    def settled(self) -> bool:
        return self.state is not QuestionState.OPEN


class Note(BaseModel):
    """What a person asked back."""

    model_config = ConfigDict(frozen=True)

    id: UUID
    user_id: UUID
    text: str
    at: datetime


class NamedQuestion(Question):
    """A question with who asked (`asked_with` names the agent's token) and who settled it; and what it is to the principal that reads
    it: whether they may answer it, whether their person has seen it, and until when they put it off."""

    asked_by: str
    asked_with: str | None
    settled_by_name: str | None
    may_answer: bool
    seen: bool
    snoozed_until: datetime | None


class QuestionDetail(NamedQuestion):
    """The same with what was asked back."""

    notes: tuple[Note, ...]


class AskQuestion(Command[Question], owner=Service.QUESTION_BROKER):
    """Ask. `turn_id` and `call_id` are set by the tool-runner alone, for a chat's own question to its user."""

    question_id: UUID
    ask: Ask
    turn_id: UUID | None = None
    call_id: UUID | None = None


class AnswerQuestion(Command[Question], owner=Service.QUESTION_BROKER):
    """Answer: a text, one or several options, or an object for the question's schema."""

    question_id: UUID
    answer: JsonValue


class DeclineQuestion(Command[Question], owner=Service.QUESTION_BROKER):
    """Refuse to answer, with a reason if there is one to tell."""

    question_id: UUID
    reason: Remark | None = None


class AskBack(Command[Question], owner=Service.QUESTION_BROKER):
    """Ask the asker something first; the question stays open."""

    question_id: UUID
    text: Annotated[Remark, Field(min_length=1)]


class CancelQuestion(Command[Question], owner=Service.QUESTION_BROKER):
    """The asker no longer needs it."""

    question_id: UUID


class QuestionFilter(BaseModel):
    """Which questions to list. `mine`: those this principal asked; `for_me`: those it may answer (assigned to it, to nobody, or escalated
    to it), where they are open without what its person put off; `unseen`: open ones that its person has not seen.

    `asker_id` is a token's or a person's own id, `assignee_id` a person's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: QuestionState | None = None
    project_id: UUID | None = None
    priority: Priority | None = None
    assignee_id: UUID | None = None
    asker_id: UUID | None = None
    mine: bool = False
    for_me: bool = False
    unseen: bool = False
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: UUID | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.mine and self.asker_id is not None:
            raise ValueError("give mine or asker_id, not both")
        if self.unseen and self.state is not QuestionState.OPEN:
            raise ValueError("only open questions are unseen: give state=open too")
        return self


class QuestionCounts(BaseModel):
    """The inbox in numbers (Q11): all that are open; those for this principal to answer; those of them that its person has not seen."""

    model_config = ConfigDict(frozen=True)

    open: int
    for_me: int
    unseen: int


class QuestionPage(BaseModel):
    """A page, newest first (open ones: the most urgent first, then the newest); `next` is the `before` of the following page."""

    questions: tuple[NamedQuestion, ...]
    next: UUID | None


class Told(BaseModel):
    """What an agent on the bus has not acknowledged yet: the question as it stands, and how many events of it are news."""

    question: QuestionDetail
    untold: int


class Untold(BaseModel):
    """Everything an agent on the bus still has to hear."""

    told: tuple[Told, ...]


def asker_of(principal: Principal) -> UUID:
    """Whose dedupe keys and questions these are: a token's own, or the person's."""
    return principal.token_id or principal.user_id
