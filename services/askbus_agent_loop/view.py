"""A turn as it is recorded, read once per step: what `decide` and the prompt work on. Pure but for the one function that loads it."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import JsonValue

from askbus.access.model import Principal
from askbus.db.statements import Executor, Statement
from askbus.models.model import Cut
from askbus.tools.model import ToolResult
from askbus.turns.model import OPEN, Context, TurnState

LOAD = Statement("askbus_agent_loop", "sql/load.sql")


@dataclass(frozen=True)
class Call:
    """A tool call and what it came to."""

    id: UUID
    step: int
    provider_id: str
    name: str
    arguments: str
    refusal: str | None
    extra: dict[str, JsonValue] | None
    run: str | None
    result: ToolResult | None
    question: dict[str, JsonValue] | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        return cls(
            id=UUID(row["id"]),
            step=row["step"],
            provider_id=row["provider_id"],
            name=row["name"],
            arguments=row["arguments"],
            refusal=row["refusal"],
            extra=row["extra"],
            run=row["run"],
            result=ToolResult.model_validate(row["result"]) if row["result"] is not None else None,
            question=row["question"],
        )

    @property
    def under_way(self) -> bool:
        """Requested, and the tool-runner has not finished it."""
        return self.refusal is None and self.run in {None, "started"}

    @property
    def waits(self) -> bool:
        """It asked its user something, and the answer is not there."""
        return self.run == "asked" and self.question is not None and self.question["state"] == "open"

    @property
    def failed(self) -> bool:
        return self.refusal is not None or (self.result is not None and not self.result.ok)

    @property
    def outcome(self) -> str | None:
        """What it came to, in a form that can be compared."""
        if self.question is not None:
            return json.dumps([self.question["state"], self.question["answer"], self.question.get("reason")], sort_keys=True)
        return self.refusal if self.result is None else self.result.text()

    @property
    def key(self) -> tuple[str, str]:
        """What makes two calls the same: name and arguments, whatever the order of keys."""
        try:
            return self.name, json.dumps(json.loads(self.arguments), sort_keys=True)
        except ValueError:
            return self.name, self.arguments


@dataclass(frozen=True)
class Said:
    """A message of the thread, with the calls that it asked for. `nudged`: the model was asked once more, because of its
    `ungrounded` numbers or because it said nothing."""

    turn_id: UUID
    step: int | None
    role: str
    text: str
    cut: Cut | None
    provider_data: dict[str, JsonValue] | None
    at: datetime
    calls: tuple[Call, ...]
    nudged: bool = False
    ungrounded: tuple[str, ...] = ()
    attachments: tuple[UUID, ...] = ()

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        return cls(
            turn_id=UUID(row["turn_id"]),
            step=row["step"],
            role=row["role"],
            text=row["text"],
            cut=row["cut"],
            provider_data=row["provider_data"],
            at=datetime.fromisoformat(row["at"]),
            calls=tuple(Call.of(call) for call in row["calls"] or ()),
            nudged=row["nudged"],
            ungrounded=tuple(dict.fromkeys(number["text"] for number in row["ungrounded"])),
            attachments=tuple(UUID(file_id) for file_id in row["attachments"]),
        )


@dataclass(frozen=True)
class TurnView:
    """A turn with everything said up to it.

    `message_of` is the turn whose message it answers: its own, or that of the turn which it repeats. `active_ms` is up to now. `model` is
    what its workspace chose, None for the deployment's own choice; `time_zone` is where its user is. `asks_again`: an
    answer whose numbers have no source goes back once. `visible`: its user sees its project now; `proposed`: its thread has actions.
    """

    id: UUID
    workspace_id: UUID
    project_id: UUID
    user_id: UUID
    thread_id: UUID
    message_of: UUID
    state: TurnState
    step: int
    attempt: int
    model_calls: int
    active_ms: int
    holder: UUID | None
    lease_left: float
    model: str | None
    workspace_instructions: str | None
    instructions: str | None
    context: tuple[Context, ...]
    asks_again: bool
    time_zone: str
    principal: Principal
    visible: bool
    proposed: bool
    trace: str | None
    messages: tuple[Said, ...]

    @property
    def open(self) -> bool:
        return self.state in OPEN

    @property
    def waiting(self) -> bool:
        return self.state is TurnState.WAITING

    @property
    def answers(self) -> tuple[Said, ...]:
        """What the model said in this turn, in order."""
        return tuple(said for said in self.messages if said.turn_id == self.id and said.role == "assistant")

    @property
    def calls(self) -> tuple[Call, ...]:
        """The turn's own calls, in order."""
        return tuple(call for said in self.answers for call in said.calls)

    def calls_of(self, step: int) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.step == step)


async def load(db: Executor, turn_id: UUID, *, exchanges: int, time_zone: str) -> TurnView | None:
    """Reads a turn with its own exchange and so many before it, whole; None where there is none. `time_zone` is the deployment's."""
    row = await LOAD.row(db, id=turn_id, exchanges=exchanges + 1, time_zone=time_zone)
    if row is None:
        return None
    messages = tuple(Said.of(message) for message in row.pop("messages") or ())
    return TurnView(
        **{
            **row,
            "state": TurnState(row["state"]),
            "principal": Principal.model_validate(row["principal"]),
            "context": tuple(Context.model_validate(item) for item in row["context"]),
            "messages": messages,
        }
    )
