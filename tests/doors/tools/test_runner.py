"""Whatever a tool does: the clock, a stop, a defect, a message delivered twice, a worker that goes."""

from uuid import uuid4

import pytest
from tests.doors.tools.stage import BROKER, RELAY, RUNNER, Knocker, Stage, runner_with

from askbus.bus import signals
from askbus.testing.turns import finished_run, run_of, started_run
from askbus.tools.model import RunState


@pytest.mark.requirement("C4")
async def test_any_other_long_result_is_cut_with_a_mark(stage: Stage) -> None:
    """A deployment's own tool gets the same cap."""
    async with stage.running(RELAY, runner_with(Knocker("many words " * 1000, opened=True)), tool_result_bytes=2048):
        run = await stage.call("knock")
        assert run.result is not None
        assert run.result.cut is True
        text = run.result.text()
        assert len(text.encode()) < 2048 + 200
        assert "[cut: " in text


@pytest.mark.requirement("C4", "C20")
@pytest.mark.parametrize(
    ("repeatable", "state", "code"),
    [(True, RunState.FAILED, "timed_out"), (False, RunState.UNKNOWN, "outcome_unknown")],
)
async def test_a_tool_that_takes_too_long_is_ended(stage: Stage, repeatable: bool, state: RunState, code: str) -> None:
    """The clock interrupts it; of one that may not be repeated nobody knows what it did."""
    knocker = Knocker()
    async with stage.running(RELAY, runner_with(knocker, repeatable=repeatable), tool_seconds=0.3):
        run = await stage.call("knock")
        assert (run.state, run.code, knocker.count) == (state, code, 1)
        await knocker.cancelled.wait()


@pytest.mark.requirement("C20")
async def test_a_defect_in_a_tool_is_a_result_that_tells_nothing_of_it(stage: Stage) -> None:
    """What it raised stays in the log."""
    async with stage.running(RELAY, runner_with(Knocker(error=RuntimeError("the password is 1234")))):
        run = await stage.call("knock")
        assert (run.state, run.code) == (RunState.FAILED, "internal")
        assert run.result is not None
        assert "1234" not in run.result.text()


async def test_text_that_postgres_cannot_hold_is_replaced(stage: Stage) -> None:
    """NUL and half of an emoji, in what the model wrote and in what the tool returned (case D07)."""
    knocker = Knocker("x\0y \ud83d", opened=True)
    async with stage.running(RELAY, runner_with(knocker)):
        run = await stage.call("knock", '{"word": "a\\u0000b\\ud83d"}')
        assert run.content == {"word": "x\N{REPLACEMENT CHARACTER}y \N{REPLACEMENT CHARACTER}"}
        assert knocker.said == ["a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"]


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("heard_by", ["fact", "signal", "renewal"])
async def test_stop_ends_a_tool_that_is_at_work(stage: Stage, heard_by: str) -> None:
    """By the fact, by the broadcast, or at the latest by the turn's row when the lease is renewed."""
    knocker = Knocker()
    services = [RELAY, runner_with(knocker)] if heard_by == "fact" else [runner_with(knocker)]
    async with stage.running(*services, lease=1.0 if heard_by == "renewal" else 600.0):
        call_id = await stage.request("knock")
        if heard_by != "fact":
            await stage.publish([call_id])
        await knocker.knocked.wait()
        if heard_by == "signal":
            await signals.send_stop(stage.nc, stage.turn.id)
        else:
            await stage.cancel()
        run = await finished_run(stage.pool, call_id)
        assert (run.state, run.code) == (RunState.FAILED, "stopped")
        assert knocker.cancelled.is_set()


@pytest.mark.requirement("C5")
async def test_stop_does_not_wait_for_a_tool_that_ignores_it(stage: Stage) -> None:
    """The run ends as stopped, and what the tool does afterwards is of no interest."""
    knocker = Knocker(stubborn=True)
    async with stage.running(RELAY, runner_with(knocker), lease=600.0):
        call_id = await stage.request("knock")
        await knocker.knocked.wait()
        await stage.cancel()
        assert (await finished_run(stage.pool, call_id)).code == "stopped"
        knocker.open.set()


@pytest.mark.requirement("C5")
async def test_a_result_that_comes_while_the_tool_is_being_stopped_is_kept(stage: Stage) -> None:
    """It is recorded, and the turn stays as it was stopped."""
    knocker = Knocker("late", stubborn=True)
    async with stage.running(RELAY, runner_with(knocker)):
        call_id = await stage.request("knock")
        await knocker.knocked.wait()
        await stage.cancel()
        await knocker.cancelled.wait()
        knocker.open.set()
        assert (await finished_run(stage.pool, call_id)).content == {"word": "late"}


@pytest.mark.requirement("C5")
async def test_no_tool_is_begun_for_a_turn_that_was_stopped(stage: Stage) -> None:
    """Two calls in one batch: the second is requested, and when its fact arrives the turn is over."""
    knocker = Knocker(opened=True)
    first, second = await stage.request("knock"), await stage.request("knock")
    await stage.cancel()
    async with stage.running(RELAY, runner_with(knocker)):
        await stage.acknowledged(3)
    assert knocker.count == 0
    assert await run_of(stage.pool, first) is None
    assert await run_of(stage.pool, second) is None


async def test_a_worker_that_lost_its_run_lets_go_and_records_nothing(stage: Stage) -> None:
    """Somebody else took the call over: this worker finds out when it renews, and ends its tool."""
    knocker, other = Knocker(), uuid4()
    async with stage.running(RELAY, runner_with(knocker)):
        call_id = await stage.request("knock")
        await knocker.knocked.wait()
        await stage.pool.execute(
            "UPDATE tool_runs SET holder = $2, attempt = 2, lease_until = now() + interval '1 hour' WHERE id = $1", call_id, other
        )
        await knocker.cancelled.wait()
        await stage.acknowledged(1)
        run = await run_of(stage.pool, call_id)
        assert run is not None
        assert (run.state, run.holder) == (RunState.STARTED, other)


async def test_the_same_fact_twice_runs_once(stage: Stage) -> None:
    """Two messages, two workers: one runs the call, and the other finds that it is done."""
    knocker = Knocker()
    call_id = await stage.request("knock")
    async with stage.running(runner_with(knocker), runner_with(knocker)):
        await stage.publish([call_id, call_id, call_id])
        await knocker.knocked.wait()
        knocker.open.set()
        assert (await finished_run(stage.pool, call_id)).attempt == 1
        await stage.acknowledged(3)
    assert knocker.count == 1


async def test_a_call_whose_fact_was_lost_is_run_by_the_sweep(stage: Stage) -> None:
    """Nobody relays: the row alone is enough."""
    async with stage.running(RUNNER, stuck_after=0.2):
        assert (await stage.call("describe_records")).state is RunState.SUCCEEDED


async def test_a_draining_worker_hands_its_call_to_the_next(stage: Stage) -> None:
    """What it could not finish in time is begun again at once by another, long before the lease is over."""
    stuck = Knocker()
    async with stage.running(RELAY, runner_with(stuck), lease=600.0, drain=0.2):
        call_id = await stage.request("knock")
        await stuck.knocked.wait()
    assert stuck.cancelled.is_set()
    async with stage.running(RELAY, runner_with(Knocker("second", opened=True)), lease=600.0):
        run = await finished_run(stage.pool, call_id)
        assert (run.attempt, run.content) == (2, {"word": "second"})


async def test_a_call_that_cannot_be_begun_ends_as_an_error(stage: Stage) -> None:
    """Its wake-up becomes a dead letter, and the model is told instead of the turn resting for ever."""
    await stage.pool.execute(
        """
        CREATE FUNCTION askbus.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not today'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON askbus.tool_runs
            FOR EACH ROW WHEN (NEW.state = 'started') EXECUTE FUNCTION askbus.refuse();
        """
    )
    async with stage.running(RELAY, RUNNER):
        run = await stage.call("describe_records")
        assert (run.state, run.code) == (RunState.FAILED, "internal")


async def test_an_owner_that_is_away_is_waited_for(stage: Stage) -> None:
    """The question-broker starts after the question was meant to be asked, and it is asked once."""
    async with stage.running(RELAY, RUNNER):
        call_id = await stage.request("ask_user", {"text": "Well?"})
        await started_run(stage.pool, call_id)
        async with stage.running(BROKER):
            assert (await finished_run(stage.pool, call_id)).state is RunState.ASKED
    assert await stage.pool.fetchval("SELECT count(*) FROM questions") == 1


@pytest.mark.requirement("C20")
async def test_a_question_and_an_effect_in_one_batch_happen_once_each(stage: Stage) -> None:
    """The effect is stored before the turn waits; a restart while it waits repeats neither (case A03)."""
    knocker = Knocker(opened=True)
    async with stage.running(RELAY, runner_with(knocker, repeatable=False), BROKER):
        asked, effect = await stage.request("ask_user", {"text": "Sure?"}), await stage.request("knock")
        await finished_run(stage.pool, asked)
        await finished_run(stage.pool, effect)
    await stage.pool.execute("UPDATE turns SET state = 'waiting' WHERE id = $1", stage.turn.id)
    async with stage.running(RELAY, runner_with(knocker, repeatable=False), BROKER):
        again = await stage.request("ask_user", {"text": "Really?"})
        assert (await finished_run(stage.pool, again)).state is RunState.ASKED
    assert knocker.count == 1
    assert await stage.pool.fetchval("SELECT count(*) FROM questions") == 2
