"""Tools and the runs of their calls: types, states, moves. Pure."""

import json
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal, Self, TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

from askbus.access.model import Principal, Scope
from askbus.bus.envelope import Command, Service
from askbus.errors import AskbusError, ErrorBody
from askbus.models.clean import clean_json
from askbus.redaction import redact_value
from askbus.tools.work import Label

MAX_RESULT_BYTES = 65_536
"""How much of one result is kept and given to the model, where a deployment says nothing else (UTF-8)."""

MOST_DETAILS = 2_000
"""Bytes of an error's details that the model is given; its message alone must say what to do."""

MOST_ATTEMPTS = 5
"""How often a call is begun before it counts as one that ends whoever runs it."""


class RunState(StrEnum):
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ASKED = "asked"
    UNKNOWN = "unknown"


class RunVerb(StrEnum):
    TAKE_OVER = "take_over"
    SUCCEED = "succeed"
    FAIL = "fail"
    ASK = "ask"
    LOSE = "lose"


MOVES: dict[tuple[RunState, RunVerb], RunState] = {
    (RunState.STARTED, RunVerb.TAKE_OVER): RunState.STARTED,
    (RunState.STARTED, RunVerb.SUCCEED): RunState.SUCCEEDED,
    (RunState.STARTED, RunVerb.FAIL): RunState.FAILED,
    (RunState.STARTED, RunVerb.ASK): RunState.ASKED,
    (RunState.STARTED, RunVerb.LOSE): RunState.UNKNOWN,
}
"""Every move there is: what is recorded as finished never happens again."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the model, the API and the documentation see it: one pydantic model in, one out.

    `scope` is what the person must be allowed. `repeatable` says that a run without an outcome may be started again: it changes
    nothing, or names what it makes by the call, so that a second run finds the first one's. `in_turn` says that it means something
    only inside a conversation: it is not offered to direct calls. `work` is what people read of its calls.
    """

    name: str
    description: str
    input: type[BaseModel]
    output: type[BaseModel]
    scope: Scope
    repeatable: bool
    in_turn: bool = False
    work: Label | None = None

    @property
    def label(self) -> Label:
        """What people read of its calls."""
        return self.work or Label.of(self.name)

    @property
    def direct(self) -> bool:
        """Whether it can be called outside of a conversation: a tool that may not be run twice needs the record that a turn keeps."""
        return self.repeatable and not self.in_turn


class Asked(BaseModel):
    """What `ask_user` comes to: a question that the turn now waits for."""

    model_config = ConfigDict(frozen=True)

    question_id: UUID


class Proposed(BaseModel):
    """What `propose_changes` comes to: an action that a person has still to decide."""

    model_config = ConfigDict(frozen=True)

    action_id: UUID
    state: str
    headline: str
    note: str = (
        "Pending, not applied. Nothing has changed yet: a person confirms or rejects it on the card that they see. "
        "Do not say that it is done."
    )


class ToolResult(BaseModel):
    """What a finished run stores and the model is given: `content`, or an `error`. `cut`: content is only the beginning."""

    model_config = ConfigDict(frozen=True)

    ok: bool
    content: JsonValue = None
    error: ErrorBody | None = None
    cut: bool = False

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.ok == (self.error is not None):
            raise ValueError("a result has content or an error")
        return self

    @classmethod
    def of(cls, output: BaseModel, most: int = MAX_RESULT_BYTES) -> Self:
        """The result that `output` is, without what Postgres or UTF-8 cannot carry, and cut with a mark after `most` bytes.

        Raises ValueError for numbers that are not finite and for absurd nesting.
        """
        content = clean_json(output.model_dump(mode="json", by_alias=True))
        text = compact(content)
        if len(text.encode()) <= most:
            return cls(ok=True, content=content)
        return cls(ok=True, content=cut(text, most), cut=True)

    @classmethod
    def failure(cls, error: AskbusError | ErrorBody) -> Self:
        """The result that says what went wrong."""
        body = error.body() if isinstance(error, AskbusError) else error
        cleaned = clean_json(body.model_dump(mode="json"))
        return cls(ok=False, error=ErrorBody.model_validate(cleaned))

    def redacted(self) -> Self:
        """The same without what is or looks like a secret (I11)."""
        return self.model_copy(update={"content": redact_value(self.content)})  # an error was when it was told

    def text(self) -> str:
        """What the model is given: compact JSON, or its beginning and a mark."""
        if self.error is not None:
            shown: dict[str, JsonValue] = {"code": self.error.code, "message": self.error.message}
            if self.error.details and len(compact(self.error.details).encode()) <= MOST_DETAILS:
                shown["details"] = self.error.details
            return compact({"error": shown})
        if self.cut and isinstance(self.content, str):
            return self.content
        return compact(self.content)


def compact(value: JsonValue) -> str:
    """JSON without blanks, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cut(text: str, most: int) -> str:
    """The first `most` bytes of `text`, never half a word or number, and a mark that says so."""
    size = len(text.encode())
    begun = text.encode()[:most].decode(errors="ignore")
    end = max((match.end() for match in re.finditer(r"[,}\]\s]", begun[-200:])), default=0)
    kept = begun[: len(begun) - len(begun[-200:]) + end] if end else begun
    return f"{kept}\n[cut: {len(kept.encode())} of {size} bytes are here. Ask for less at once to see the rest.]"


OUTCOME_UNKNOWN = ErrorBody(
    code="outcome_unknown",
    message="This call was begun and its outcome is not known: it may have taken effect or not. It was not made again. "
    "Say so, and find out what happened before it is tried again.",
)
STOPPED = ErrorBody(code="stopped", message="Stopped before it finished.")
GIVEN_UP = ErrorBody(code="internal", message="This call could not be run. It has been logged; do without it.")


class ToolAnswer(BaseModel):
    """What a direct call came to; `content` has the shape of the tool's output, unless it was too long: then it is its beginning, as
    text, and `cut` says so."""

    model_config = ConfigDict(frozen=True)

    call_id: UUID
    name: str
    content: JsonValue
    cut: bool


class CallTool(Command[ToolAnswer], owner=Service.TOOL_RUNNER):
    """Run a tool outside of a conversation, as this principal. The command's id is the call's: what the tool makes is named by it, so
    that the same command sent again finds what the first one made."""

    project_id: UUID
    name: str
    arguments: dict[str, JsonValue]


@dataclass(frozen=True)
class Outcome:
    """How a run ends. A question's outcome is the result of a run that ended as asked; the others have their own."""

    state: RunState
    result: ToolResult | None = None
    question_id: UUID | None = None
    action_id: UUID | None = None

    @classmethod
    def of(cls, output: BaseModel, most: int = MAX_RESULT_BYTES) -> Self:
        """The outcome of a tool that returned `output`. Raises ValueError as `ToolResult.of` does."""
        match output:
            case Asked(question_id=question_id):
                return cls(RunState.ASKED, question_id=question_id)
            case Proposed(action_id=action_id):
                return cls(RunState.SUCCEEDED, ToolResult.of(output, most), action_id=action_id)
            case _:
                return cls(RunState.SUCCEEDED, ToolResult.of(output, most))

    def redacted(self) -> Self:
        """As it is kept and given to the model: without what is or looks like a secret."""
        return self if self.result is None else replace(self, result=self.result.redacted())

    @classmethod
    def failed(cls, error: AskbusError | ErrorBody) -> Self:
        return cls(RunState.FAILED, ToolResult.failure(error))

    @classmethod
    def unknown(cls) -> Self:
        return cls(RunState.UNKNOWN, ToolResult.failure(OUTCOME_UNKNOWN))


@dataclass(frozen=True)
class StartedRun:
    """A call that this worker may run. Every later write names `attempt` and `claim`, so that a stale worker changes no row.

    `arguments` is what the model wrote; `visible` whether the person still sees the turn's project.
    """

    call_id: UUID
    turn_id: UUID
    thread_id: UUID
    project_id: UUID
    name: str
    arguments: str
    principal: Principal
    visible: bool
    trace: str | None
    attempt: int
    claim: UUID


@dataclass(frozen=True)
class Held:
    """Somebody else runs the call; their lease lasts so many seconds more."""

    seconds: float


@dataclass(frozen=True)
class Over:
    """There is nothing to run: it has finished, the turn has ended, or the call is gone."""

    why: Literal["finished", "ended"]


Claimed: TypeAlias = StartedRun | Held | Over


@dataclass(frozen=True)
class StuckCall:
    """A call that waits for a machine."""

    id: UUID
    turn_id: UUID
    trace: str | None
