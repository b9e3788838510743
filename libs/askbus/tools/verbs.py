"""What happens to the runs of tool calls: one function, one statement each. Only the tool-runner may import this.

`now` is for tests alone: the database's clock rules.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import asyncpg

from askbus.access.model import Principal
from askbus.db.statements import Executor, Statement
from askbus.tools.model import (
    GIVEN_UP,
    MOST_ATTEMPTS,
    OUTCOME_UNKNOWN,
    STOPPED,
    Claimed,
    Held,
    Outcome,
    Over,
    RunState,
    StartedRun,
    ToolResult,
)

START_RUN = Statement("askbus.tools", "sql/start_run.sql")
RENEW = Statement("askbus.tools", "sql/renew.sql")
FINISH_RUN = Statement("askbus.tools", "sql/finish_run.sql")
GIVE_UP = Statement("askbus.tools", "sql/give_up.sql")

RESULTS = {
    "unknown": ToolResult.failure(OUTCOME_UNKNOWN),
    "stopped": ToolResult.failure(STOPPED),
    "given_up": ToolResult.failure(GIVEN_UP),
}
"""What a run is told that is ended without having come to anything, by the verdict of the statement."""


async def start_run(
    db: Executor,
    call_id: UUID,
    *,
    claim: UUID,
    lease: float,
    repeatable: Collection[str],
    trace: str | None,
    most: int = MOST_ATTEMPTS,
    now: datetime | None = None,
) -> Claimed:
    """Claims the call for `lease` seconds under `claim`, a new id each time, or says why there is nothing to run.

    `repeatable` names the tools of which a run without an outcome may be started again. One of another tool ends as unknown here.
    """
    try:
        row = await START_RUN.row(
            db,
            id=call_id,
            claim=claim,
            lease=lease,
            repeatable=list(repeatable),
            most=most,
            results=RESULTS,
            trace=trace,
            now=now,
        )
    except asyncpg.ForeignKeyViolationError:
        return Over("ended")  # its conversation was deleted in this moment
    if row is None or row["state"] is None:
        return Over("ended")
    if row["state"] != RunState.STARTED:
        return Over("finished")
    if not row["mine"]:
        return Held(row["lease_left"])
    return StartedRun(
        call_id=row["id"],
        turn_id=row["turn_id"],
        thread_id=row["thread_id"],
        project_id=row["project_id"],
        name=row["name"],
        arguments=row["arguments"],
        principal=Principal.model_validate(row["principal"]),
        visible=row["visible"],
        trace=row["trace"],
        attempt=row["attempt"],
        claim=claim,
    )


async def renew(db: Executor, run: StartedRun, lease: float, *, now: datetime | None = None) -> bool | None:
    """Keeps the run for `lease` seconds more (0 hands it back). Whether its turn goes on; None where the run is not ours."""
    row = await RENEW.row(db, id=run.call_id, attempt=run.attempt, claim=run.claim, lease=lease, now=now)
    return None if row is None else row["live"]


async def finish_run(db: Executor, run: StartedRun, outcome: Outcome, *, trace: str | None, now: datetime | None = None) -> bool:
    """Records the outcome; False where the run was taken over or ended since, and nothing was recorded."""
    row = await FINISH_RUN.row(
        db,
        id=run.call_id,
        attempt=run.attempt,
        claim=run.claim,
        state=outcome.state.value,
        result=outcome.result,
        question_id=outcome.question_id,
        action_id=outcome.action_id,
        trace=trace,
        now=now,
    )
    return row is not None


async def give_up(
    db: Executor, call_id: UUID, *, repeatable: Collection[str], trace: str | None, now: datetime | None = None
) -> bool:
    """Ends a call whose wake-up is a dead letter; False where it is finished, held by somebody, or its turn is over."""
    row = await GIVE_UP.row(db, id=call_id, repeatable=list(repeatable), results=RESULTS, trace=trace, now=now)
    return row is not None
