"""Turns in the middle of their tools, put into the database as the agent-loop would have, and what their calls came to."""

import json
from dataclasses import dataclass
from uuid import UUID, uuid4

from pydantic import JsonValue

from askbus.bus.envelope import Service
from askbus.db.ids import new_id
from askbus.db.statements import Executor
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus.testing.people import Company, Person
from askbus.testing.waiting import until
from askbus.tools.model import RunState, ToolResult

TOOLS_STEP = 2
"""The model spoke in step 1; its calls are step 2."""


@dataclass(frozen=True)
class RunningTurn:
    """A turn whose model has asked for tools."""

    id: UUID
    thread_id: UUID
    workspace_id: UUID
    project_id: UUID
    person: Person


@dataclass(frozen=True)
class StoredRun:
    """A run as its row says."""

    id: UUID
    state: RunState
    attempt: int
    holder: UUID | None
    result: ToolResult | None
    question_id: UUID | None
    action_id: UUID | None

    @property
    def content(self) -> JsonValue:
        """What it brought back."""
        assert self.result is not None
        assert self.result.ok, self.result
        return self.result.content

    @property
    def result_text(self) -> str:
        """What the model is given."""
        assert self.result is not None
        return self.result.text()

    @property
    def code(self) -> str:
        """The code of its error."""
        assert self.result is not None
        assert self.result.error is not None, self.result
        return self.result.error.code


async def running_turn(db: Executor, company: Company, who: str = "mia") -> RunningTurn:
    """A turn of this person's in the project north, at the step of its tools."""
    person = company[who]
    turn = RunningTurn(new_id(), new_id(), company.workspace_id, company.north, person)
    await db.execute(
        "INSERT INTO threads (id, workspace_id, project_id, user_id, title, command_id) VALUES ($1, $2, $3, $4, 'A thread', $5)",
        turn.thread_id,
        turn.workspace_id,
        turn.project_id,
        person.id,
        uuid4(),
    )
    await db.execute(
        "INSERT INTO turns (id, workspace_id, project_id, user_id, thread_id, client_message_id, state, step, principal) "
        "VALUES ($1, $2, $3, $4, $5, 'first', 'running', $6, $7)",
        turn.id,
        turn.workspace_id,
        turn.project_id,
        person.id,
        turn.thread_id,
        TOOLS_STEP,
        person.principal,
    )
    return turn


async def request_call(
    db: Executor, turn: RunningTurn, name: str, arguments: dict[str, JsonValue] | str = "{}", *, position: int = 0
) -> UUID:
    """A call of the turn's current step. `arguments` given as text stand as they are, valid or not."""
    call_id = new_id()
    await db.execute(
        "INSERT INTO tool_calls (id, workspace_id, project_id, user_id, turn_id, step, position, provider_id, name, arguments) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        call_id,
        turn.workspace_id,
        turn.project_id,
        turn.person.id,
        turn.id,
        TOOLS_STEP,
        position,
        f"call-{position}",
        name,
        arguments if isinstance(arguments, str) else json.dumps(arguments),
    )
    return call_id


async def cancel_turn(db: Executor, turn: RunningTurn) -> None:
    """Its person pressed Stop."""
    await db.execute(
        "UPDATE turns SET state = 'cancelled', cancel_reason = 'stopped', settled_at = now(), holder = NULL, lease_until = NULL "
        "WHERE id = $1",
        turn.id,
    )


async def run_of(db: Executor, call_id: UUID) -> StoredRun | None:
    """The call's run as it stands."""
    row = await db.fetchrow(
        "SELECT id, state, attempt, holder, result, question_id, action_id FROM tool_runs WHERE id = $1", call_id
    )
    if row is None:
        return None
    result = None if row["result"] is None else ToolResult.model_validate(row["result"])
    return StoredRun(**{**dict(row), "state": RunState(row["state"]), "result": result})


async def finished_run(db: Executor, call_id: UUID) -> StoredRun:
    """The call's run, once it has an outcome."""

    async def there() -> bool:
        run = await run_of(db, call_id)
        return run is not None and run.state is not RunState.STARTED

    await until(there)
    run = await run_of(db, call_id)
    assert run is not None
    return run


async def started_run(db: Executor, call_id: UUID) -> StoredRun:
    """The call's run, once somebody has begun it."""

    async def there() -> bool:
        return await run_of(db, call_id) is not None

    await until(there)
    run = await run_of(db, call_id)
    assert run is not None
    return run


def relay_alone(settings: Settings) -> App:
    """In the agent-loop's place: its facts go to the bus, and nobody goes on with its turns."""

    async def wire(ground: Ground) -> None:
        ground.relays()

    return App(Service.AGENT_LOOP, settings, wire)
