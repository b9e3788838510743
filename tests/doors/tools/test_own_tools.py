"""A deployment's own tools at work, however they behave: each call ends with a result, and nothing else waits for it."""

import importlib
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.doors.tools.stage import RELAY, RUNNER, Stage

from askbus.testing.turns import finished_run
from askbus.tools.model import RunState

MODULE = """
import asyncio, sys, threading
from pydantic import BaseModel
from askbus.errors import InvalidInput
from askbus.records.model import QueryPlan, ResolveRequest
from askbus.tools.own import Call, Scope, tool

held = threading.Event()
seen = []

class Given(BaseModel):
    word: str = ""

class Word(BaseModel):
    word: str

def own(repeatable=True):
    return tool(scope=Scope.DATA_READ, repeatable=repeatable)

@own()
def plain(call: Call, given: Given) -> Word:
    "Runs in a thread."
    seen.append((call.id, call.by.user_id, call.project_id, threading.current_thread().name))
    return Word(word=given.word)

@own()
async def reads(call: Call, given: Given) -> Word:
    "Reads records."
    seen.append(threading.current_thread().name)
    found = await call.records.resolve(ResolveRequest(collection="customers", text=given.word))
    rows = await call.records.query(QueryPlan(collection="customers", fields=("country",), limit=1))
    return Word(word=f"{found.match.label} {rows.display[0][-1]}")

@own()
async def denied(call: Call, given: Given) -> Word:
    "Reads what nobody may read."
    rows = await call.records.query(QueryPlan(collection="logins", fields=("password_hash",)))
    return Word(word=rows.display[0][0])

@own()
def blocks_a_thread(call: Call, given: Given) -> Word:
    "Never returns."
    held.wait()
    return Word(word="too late")

@own(repeatable=False)
async def blocks_the_loop(call: Call, given: Given) -> Word:
    "Never returns, and lets nobody else have the loop."
    held.wait()
    return Word(word="too late")

@own()
async def waits_for_ever(call: Call, given: Given) -> Word:
    "Never returns, politely."
    await asyncio.Event().wait()
    return Word(word="never")

@own()
def refuses(call: Call, given: Given) -> Word:
    "Refuses."
    raise InvalidInput("Say which harbour.")

@own()
def breaks(call: Call, given: Given) -> Word:
    "Breaks."
    raise RuntimeError("the password is 1234")

@own()
def exits(call: Call, given: Given) -> Word:
    "Ends the process, or tries to."
    sys.exit(3)

@own()
async def exits_its_loop(call: Call, given: Given) -> Word:
    "The same, on the loop."
    sys.exit(3)

@own()
def returns_something_else(call: Call, given: Given) -> Word:
    "Breaks its promise."
    return {"word": "the password is 1234"}

@own()
def talks_much(call: Call, given: Given) -> Word:
    "Returns a megabyte."
    return Word(word="many words " * 100_000)
"""


@pytest.fixture
async def own(stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ModuleType]:
    """The module of own tools; whatever still waits in it is let go afterwards."""
    (tmp_path / "strange_tools.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("strange_tools")
    async with stage.running(RELAY, RUNNER, tools=("strange_tools",), tool_seconds=1.0, tool_result_bytes=2048):
        yield module
        module.held.set()
    del sys.modules["strange_tools"]


@pytest.mark.requirement("C30")
async def test_an_own_tool_knows_for_whom_it_works_and_reads_what_they_may(stage: Stage, own: ModuleType) -> None:
    """Plain functions have a thread each, `async` ones a loop; both are off askbus's own."""
    run = await stage.call("plain", {"word": "hello"})
    assert run.content == {"word": "hello"}
    assert own.seen == [(run.id, stage.turn.person.id, stage.turn.project_id, "own tool")]
    assert (await stage.call("reads", {"word": "emile zola"})).content == {"word": "Émile Zola UK"}
    assert own.seen[-1] == "own tools"
    assert (await stage.call("denied")).code == "permission_denied"
    assert threading.current_thread().name not in {"own tool", "own tools"}


@pytest.mark.requirement("C20", "C30")
async def test_a_tool_that_never_returns_times_out_and_holds_nothing_up(stage: Stage, own: ModuleType) -> None:
    """Blocking a thread, blocking the loop of own tools, or waiting for ever: the model is told, and the next calls run."""
    stuck = [await stage.request(name) for name in ("blocks_a_thread", "waits_for_ever", "blocks_the_loop")]
    codes = [(await finished_run(stage.pool, call_id)).code for call_id in stuck]
    assert codes[0] == codes[1] == "timed_out"
    assert codes[2] == "outcome_unknown"
    assert (await stage.call("plain", {"word": "still here"})).content == {"word": "still here"}
    assert (await stage.call("reads", {"word": "Zoë"})).state is RunState.SUCCEEDED


@pytest.mark.requirement("C20", "C30")
async def test_whatever_an_own_tool_does_is_a_result_that_tells_nothing_of_it(stage: Stage, own: ModuleType) -> None:
    """A refusal in its own words; a defect, an exit, or an output of another kind as an error without any; a flood cut with a mark."""
    assert (await stage.call("refuses")).result_text == '{"error":{"code":"invalid_input","message":"Say which harbour."}}'
    for name in ("breaks", "exits", "exits_its_loop", "returns_something_else"):
        run = await stage.call(name)
        assert (name, run.state, run.code) == (name, RunState.FAILED, "internal")
        assert "1234" not in run.result_text
    assert (await stage.call("plain", {"word": 7})).code == "invalid_input"
    flood = await stage.call("talks_much")
    assert flood.result is not None
    assert flood.result.cut
    assert "[cut: " in flood.result_text
    assert len(flood.result_text.encode()) < 2048 + 200
    assert (await stage.call("plain", {"word": "still here"})).content == {"word": "still here"}
