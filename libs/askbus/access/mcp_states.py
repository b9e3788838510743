"""The `requestState` of a call over MCP that sent its client to a question's page: given to one caller, for one request, and used once.

It is 256 random bits that stand for a row, not a sealed text: so nobody can make or alter one, no key has to be handed out or rotated,
and that it is used once is the row's guard.
"""

from datetime import datetime
from uuid import UUID

from askbus.access.credentials import digest, new_secret
from askbus.access.model import Principal
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, InvalidInput

GIVE = Statement("askbus.access", "sql/give_mcp_state.sql")
USE = Statement("askbus.access", "sql/use_mcp_state.sql")
DROP = Statement("askbus.access", "sql/drop_mcp_states.sql")

LASTS = 3600
"""Seconds for which it may be shown: as long as somebody may leave a prompt of their client open."""


async def give_state(db: Executor, by: Principal, question_id: UUID, request: bytes, *, now: datetime | None = None) -> str:
    """A new one, for this caller to come back with to this question. `request`: the SHA-256 of what it was asked with."""
    state = new_secret()
    who = {"id": new_id(), "hash": digest(state), "token_id": by.token_id}
    await GIVE.run(db, question_id=question_id, request=request, seconds=LASTS, now=now, **who)
    return state


async def use_state(db: Executor, by: Principal, state: str, request: bytes, *, now: datetime | None = None) -> UUID:
    """The question that it stands for; it counts no more. Raises InvalidInput where it is none of this caller's for this request, and
    Conflict, with the question's id, where it was used before or its time is over. What is refused uses nothing up."""
    row = await USE.row(db, hash=digest(state), token_id=by.token_id, request=request, now=now)
    if row is None:
        raise InvalidInput(
            "This requestState was not given to this caller for this request. Call the tool without it, or get_question_answer."
        )
    question_id: UUID = row["question_id"]
    if not row["moved"]:
        why = "was used already" if row["replayed"] else "has expired"
        raise Conflict(
            f"This requestState {why}. The question stays as it is: call get_question_answer with its id.",
            {"ids": [str(question_id)]},
        )
    return question_id


async def drop_states(db: Executor, *, batch: int = 100, now: datetime | None = None) -> int:
    """Deletes up to `batch` of those past their time; how many."""
    return len(await DROP.rows(db, batch=batch, now=now))
