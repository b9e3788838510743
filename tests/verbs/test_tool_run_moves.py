"""The whole table of a run's moves on the database, and what the database refuses."""

from itertools import product

import asyncpg
import pytest
from tests.verbs.tool_runs import DONE, LATER, start, started

from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus.testing.turns import RunningTurn, request_call, run_of
from askbus.tools import verbs
from askbus.tools.model import MOVES, Outcome, RunState, RunVerb, StartedRun, ToolResult

OUTCOMES = {
    RunVerb.SUCCEED: Outcome(RunState.SUCCEEDED, ToolResult(ok=True, content=1)),
    RunVerb.FAIL: Outcome.failed(InvalidInput("no")),
    RunVerb.ASK: DONE,
    RunVerb.LOSE: Outcome.unknown(),
}


async def test_every_state_takes_just_the_verbs_that_it_may(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """The whole table of moves, on the database: what has an outcome keeps it."""
    for position, (state, verb) in enumerate(product(RunState, RunVerb)):
        call_id = await request_call(pool, turn, "resolve", position=position)
        run = await started(runner, call_id)
        if state is not RunState.STARTED:
            reached = next(outcome for outcome in OUTCOMES.values() if outcome.state is state)
            assert await verbs.finish_run(runner, run, reached, trace=None)
        if verb is RunVerb.TAKE_OVER:
            moved = isinstance(await start(runner, call_id, now=LATER), StartedRun)
        else:
            moved = await verbs.finish_run(runner, run, OUTCOMES[verb], trace=None)
        stored = await run_of(pool, call_id)
        assert stored is not None
        assert (state, verb, moved) == (state, verb, (state, verb) in MOVES)
        assert (state, verb, stored.state) == (state, verb, MOVES.get((state, verb), state))


NONSENSE = (
    "state = 'succeeded'",
    "state = 'succeeded', finished_at = now(), holder = NULL, lease_until = NULL",
    "state = 'asked', finished_at = now(), holder = NULL, lease_until = NULL",
    "holder = NULL, lease_until = NULL",
    "result = '{}'",
    "question_id = gen_random_uuid()",
)


async def test_nonsense_cannot_be_stored(runner: Pool, pool: Pool, turn: RunningTurn) -> None:
    """A run has an outcome or a holder, and an outcome has its result or its question."""
    call_id = await request_call(pool, turn, "resolve")
    await started(runner, call_id)
    for nonsense in NONSENSE:
        with pytest.raises(asyncpg.CheckViolationError):
            await runner.execute(f"UPDATE tool_runs SET {nonsense} WHERE id = $1", call_id)


async def test_the_tool_runner_writes_runs_alone(runner: Pool) -> None:
    """What belongs to other services its role cannot change."""
    for table in ("turns", "tool_calls", "threads", "questions", "actions"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await runner.execute(f"DELETE FROM {table}")
