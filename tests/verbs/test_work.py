"""What people see of tool calls, from their rows: how each went, and whether to try again is safe."""

from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import pytest
from tests.verbs.turn_rows import new_thread, queued_turn, said, taken

from askbus.bus.envelope import Service
from askbus.db.ids import new_id
from askbus.db.pool import Pool, open_pool
from askbus.testing.people import Company
from askbus.testing.servers import TestDatabase
from askbus.threads import reads as threads
from askbus.tools.work import ShownCall
from askbus.turns import reads as turns
from askbus.turns import verbs
from askbus.turns.model import NewCall, RetryTurn


@pytest.fixture
async def loop(database: TestDatabase) -> AsyncIterator[Pool]:
    """Two connections as the agent-loop's own role."""
    async with open_pool(database.role_url(Service.AGENT_LOOP), size=2, name="agent-loop") as pool:
        yield pool


def call(name: str, *, refusal: str | None = None, label: str | None = "Did it", may_repeat: bool = True) -> NewCall:
    doing = None if label is None else "Doing it"
    return NewCall(new_id(), 0, "call-0", name, '{"of": "Ada"}', refusal, None, label, doing, may_repeat)


async def turn_of(loop: Pool, company: Company, *calls: NewCall) -> UUID:
    """A turn whose model asked for these."""
    turn_id = await queued_turn(loop, company, await new_thread(loop, company))
    placed = [NewCall(**{**vars(call), "position": position}) for position, call in enumerate(calls)]
    assert await verbs.finish_model_step(loop, await taken(loop, turn_id), said(*placed), trace=None)
    return turn_id


async def ran(pool: Pool, call: NewCall, state: str) -> None:
    """What became of a call."""
    await pool.execute(
        "INSERT INTO tool_runs (id, workspace_id, project_id, user_id, turn_id, state, finished_at, result, question_id) "
        "SELECT id, workspace_id, project_id, user_id, turn_id, $2::tool_run_state, now(), $3, $4 FROM tool_calls WHERE id = $1",
        call.id,
        state,
        None if state == "asked" else {"ok": state == "succeeded"},
        call.id if state == "asked" else None,
    )


async def work_of(pool: Pool, company: Company, turn_id: UUID) -> tuple[ShownCall, ...]:
    """As its user sees it, the same in the turn and in the thread."""
    mia = company["mia"].principal
    turn = await turns.get(pool, mia, turn_id)
    thread = await threads.get(pool, mia, turn.thread_id)
    assert tuple(call for message in thread.messages for call in message.calls) == turn.work
    return turn.work


@pytest.mark.requirement("C27")
async def test_each_call_says_how_it_went_in_the_tools_own_words(loop: Pool, pool: Pool, company: Company) -> None:
    """In order, without arguments, results and refusals; a name that is no tool's is not shown."""
    calls = [call(name) for name in ("one", "two", "three", "four", "five")]
    refused = call("six", refusal="Not run: Ada is no number")
    made_up = call("margin_of_ada", refusal="Not run: there is no such tool", label=None, may_repeat=False)
    turn_id = await turn_of(loop, company, *calls, refused, made_up)
    for one, state in zip(calls, ("succeeded", "failed", "asked", "unknown"), strict=False):
        await ran(pool, one, state)
    work = await work_of(pool, company, turn_id)
    assert [(one.name, one.label, one.state) for one in work] == [
        ("one", "Did it", "succeeded"),
        ("two", "Did it", "failed"),
        ("three", "Did it", "asked"),
        ("four", "Did it", "unknown"),
        ("five", "Did it", "requested"),
        ("six", "Did it", "failed"),
        ("unknown", "Looked for a tool that is not there", "failed"),
    ]
    assert {one.doing for one in work[:6]} == {"Doing it"}
    assert not any(one.retry for one in work)  # the turn is still at work
    assert "ada" not in repr(work).lower()


@pytest.mark.requirement("C27")
@pytest.mark.parametrize(
    ("may_repeat", "state", "safe"), [(True, "succeeded", True), (False, "succeeded", False), (False, "unknown", False)]
)
async def test_trying_again_is_offered_where_nothing_happens_twice(
    loop: Pool, pool: Pool, company: Company, may_repeat: bool, state: str, safe: bool
) -> None:
    """Of what failed, once its turn is over, unless something was begun beside it that may not be done again."""
    failed, beside = call("one"), call("two", may_repeat=may_repeat)
    turn_id = await turn_of(loop, company, failed, beside)
    await ran(pool, failed, "failed")
    await ran(pool, beside, state)
    assert [one.retry for one in await work_of(pool, company, turn_id)] == [False, False]
    assert not (await turns.get(pool, company["mia"].principal, turn_id)).retry
    assert await verbs.fail(loop, turn_id, "internal")
    turn = await turns.get(pool, company["mia"].principal, turn_id)
    assert [turn.retry, *(one.retry for one in turn.work)] == [safe, safe, False]


@pytest.mark.requirement("C27")
async def test_a_call_that_was_only_refused_was_not_begun(loop: Pool, pool: Pool, company: Company) -> None:
    """So it stands in nobody's way, whatever its tool would have done."""
    turn_id = await turn_of(loop, company, call("one", refusal="Not run: wrong", may_repeat=False))
    assert await verbs.fail(loop, turn_id, "internal")
    assert [one.retry for one in await work_of(pool, company, turn_id)] == [True]


@pytest.mark.requirement("C27", "C10")
async def test_what_was_tried_again_is_not_offered_once_more(loop: Pool, pool: Pool, company: Company) -> None:
    """The newer turn has its own work."""
    turn_id = await turn_of(loop, company, call("one", refusal="Not run: wrong"))
    assert await verbs.fail(loop, turn_id, "internal")
    command = RetryTurn(
        command_id=uuid4(), by=company["mia"].principal, turn_id=new_id(), again=turn_id, client_message_id=str(uuid4())
    )
    async with loop.acquire() as db, db.transaction():
        await verbs.retry(db, command, trace=None)
    turn = await turns.get(pool, company["mia"].principal, turn_id)
    assert [turn.retry, *(one.retry for one in turn.work)] == [False, False]
