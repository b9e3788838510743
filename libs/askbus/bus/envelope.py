"""What a command and its reply look like on the bus. Pure."""

from enum import StrEnum
from typing import ClassVar, Generic, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Principal
from askbus.errors import ErrorBody


class Service(StrEnum):
    """The six processes. Each is the only writer of what it owns."""

    GATEWAY = "gateway"
    AGENT_LOOP = "agent-loop"
    TOOL_RUNNER = "tool-runner"
    ACTION_APPLIER = "action-applier"
    QUESTION_BROKER = "question-broker"
    EXPIRY = "expiry"

    @property
    def role(self) -> str:
        """The Postgres role, and the name of the Python package: `askbus_question_broker`."""
        return f"askbus_{self.value.replace('-', '_')}"


R = TypeVar("R", bound=BaseModel)


class Command(BaseModel, Generic[R]):
    """A request to the one service that owns a state, sent to `cmd.<owner>.<Verb>`.

    `class AskQuestion(Command[Question], owner=Service.QUESTION_BROKER)` travels on `cmd.question-broker.AskQuestion` and is
    answered with a Question. The same `command_id` sent again gets the same success.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    owner: ClassVar[Service]

    command_id: UUID
    by: Principal

    def __init_subclass__(cls, *, owner: Service | None = None, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)  # type: ignore[arg-type]  # pydantic's own keywords
        if owner is not None:
            cls.owner = owner

    @classmethod
    def subject(cls) -> str:
        return f"cmd.{cls.owner.value}.{cls.__name__}"

    @classmethod
    def reply_type(cls) -> type[R]:
        """The model that a success decodes to: the argument of `Command[…]` in the class's bases."""
        for base in cls.__mro__:
            arguments: tuple[type[R], ...] = base.__dict__.get("__pydantic_generic_metadata__", {}).get("args", ())
            if arguments:
                return arguments[0]
        raise TypeError(f"{cls.__name__} does not say what it is answered with: derive from Command[Reply]")


class Reply(BaseModel):
    """What comes back: `ok` holds the reply's JSON, or `error` the refusal. Exactly one is set."""

    model_config = ConfigDict(frozen=True)

    ok: object | None = None
    error: ErrorBody | None = None

    @classmethod
    def success(cls, value: BaseModel) -> Self:
        return cls(ok=value.model_dump(mode="json"))

    @classmethod
    def failure(cls, error: ErrorBody) -> Self:
        return cls(error=error)
