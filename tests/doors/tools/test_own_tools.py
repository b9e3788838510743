"""A deployment's own tools at work, however they behave: each call ends with a result, and nothing else waits for it."""

import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from structlog.testing import capture_logs
from tests.doors.tools import strange_tools
from tests.doors.tools.stage import RELAY, RUNNER, Stage

from askbus.testing.turns import finished_run
from askbus.testing.waiting import until
from askbus.tools.model import RunState
from askbus_tool_runner.tools import own as at_work

TOOLS = "tests.doors.tools.strange_tools"


@pytest.fixture
def held() -> Iterator[None]:
    """What waits in a tool is let go afterwards: a thread cannot be ended."""
    strange_tools.held.clear()
    strange_tools.seen.clear()
    yield
    strange_tools.held.set()


@pytest.fixture
async def own(stage: Stage, held: None) -> AsyncIterator[Stage]:
    """A tool-runner that was told of them."""
    async with stage.running(RELAY, RUNNER, tools=TOOLS, tool_seconds=1.0, tool_result_bytes=2048):
        yield stage


@pytest.mark.requirement("C30")
async def test_an_own_tool_knows_for_whom_it_works_and_reads_what_they_may(own: Stage) -> None:
    """Plain functions have a thread each, `async` ones a loop; both are off askbus's own."""
    run = await own.call("plain", {"word": "hello"})
    assert run.content == {"word": "hello"}
    assert strange_tools.seen == [(run.id, own.turn.person.id, own.turn.project_id, "own tool")]
    assert (await own.call("reads", {"word": "emile zola"})).content == {"word": "Émile Zola UK"}
    assert strange_tools.seen[-1] == "own tools"
    assert (await own.call("denied")).code == "permission_denied"
    assert threading.current_thread().name not in {"own tool", "own tools"}


@pytest.mark.requirement("C20", "C30")
async def test_a_tool_that_never_returns_times_out_and_holds_nothing_up(own: Stage) -> None:
    """Blocking a thread, blocking the loop of own tools, or waiting for ever: the model is told, and the next calls run."""
    stuck = [await own.request(name) for name in ("blocks_a_thread", "waits_for_ever", "blocks_the_loop")]
    codes = [(await finished_run(own.pool, call_id)).code for call_id in stuck]
    assert codes[0] == codes[1] == "timed_out"
    assert codes[2] == "outcome_unknown"
    assert (await own.call("plain", {"word": "still here"})).content == {"word": "still here"}
    assert (await own.call("reads", {"word": "Zoë"})).state is RunState.SUCCEEDED


@pytest.mark.requirement("C20", "C30")
async def test_whatever_an_own_tool_does_is_a_result_that_tells_nothing_of_it(own: Stage) -> None:
    """A refusal in its own words; a defect, an exit, or an output of another kind as an error without any; a flood cut with a mark."""
    assert (await own.call("refuses")).result_text == '{"error":{"code":"invalid_input","message":"Say which harbour."}}'
    broken = ("breaks", "exits", "exits_its_loop", "returns_something_else")
    with capture_logs() as logged:
        for name in broken:
            run = await own.call(name)
            assert (name, run.state, run.code) == (name, RunState.FAILED, "internal")
            assert "1234" not in run.result_text
    assert [entry["tool"] for entry in logged if entry["event"] == "tool.failed"] == list(broken)
    assert "1234" not in str(logged)
    assert (await own.call("plain", {"word": 7})).code == "invalid_input"
    flood = await own.call("talks_much")
    assert flood.result is not None
    assert flood.result.cut
    assert "[cut: " in flood.result_text
    assert len(flood.result_text.encode()) < 2048 + 200
    assert (await own.call("plain", {"word": "still here"})).content == {"word": "still here"}


@pytest.mark.requirement("C30")
async def test_a_function_that_never_returns_keeps_its_thread_and_no_more_than_that(
    stage: Stage, held: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all are taken the model is told to try later; one that comes back is free again."""
    monkeypatch.setattr(at_work, "MOST_THREADS", 1)
    async with stage.running(RELAY, RUNNER, tools=TOOLS, tool_seconds=0.5):
        assert (await stage.call("blocks_a_thread")).code == "timed_out"
        assert (await stage.call("plain")).code == "unavailable"
        strange_tools.held.set()

        async def free() -> bool:
            return (await stage.call("plain")).state is RunState.SUCCEEDED

        await until(free)
