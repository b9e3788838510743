"""What a use of a model cost, recorded by the service that used it. A finished step is recorded with its answer, by askbus.turns.verbs."""

from uuid import UUID

from askbus.db.statements import Executor, Statement
from askbus.usage.model import Kind, Spent

RECORD_STEP = Statement("askbus.usage", "sql/record_step.sql")
RECORD_CALL = Statement("askbus.usage", "sql/record_call.sql")


async def record_step(db: Executor, turn_id: UUID, *, step: int, attempt: int, spent: Spent) -> None:
    """Of a model call that came to no recorded answer."""
    await RECORD_STEP.run(db, turn_id=turn_id, step=step, attempt=attempt, **spent.parameters())


async def record_call(db: Executor, call_id: UUID, *, attempt: int, kind: Kind, spent: Spent) -> None:
    """Of a tool's call that used a model itself, such as one that makes pictures."""
    await RECORD_CALL.run(db, call_id=call_id, attempt=attempt, kind=kind.value, **spent.parameters())
