"""Logs: what happened and where, and never what an error or a library has to say about it."""

import json
import subprocess
import sys

import pytest

from askbus.redaction import REDACTED

SECRET = "sk-planted-4711"
SCRIPT = f"""
import asyncio, gc, logging, sys
import structlog, uvloop
from askbus.runtime import logs
from askbus.runtime.settings import Settings
logs.configure("gateway", Settings(database_url="postgresql://localhost/x", nats_url="nats://localhost", log_format=sys.argv[1]))
log, library = structlog.get_logger(), logging.getLogger("somebody.else")

def fails():
    try:
        raise KeyError("{SECRET}")
    except KeyError as error:
        raise ValueError("the value {SECRET}") from error

log.info("ours.told", where="postgresql://me:hunter2@db/x", many=[{{"key": "Bearer abcdefgh12345678"}}], id="01a22e5c-26f3-72b4")
library.warning("library says postgresql://me:hunter2@db/x")

try:
    fails()
except ValueError as error:
    log.exception("ours.failed", error=error, step=3)
    library.exception("read %d of %s", 7, "{SECRET}")
    library.error(error)
    library.error("100 %% of %s", "{SECRET}", exc_info=error)
    library.warning("%(what)s failed", {{"what": "{SECRET}"}})
    library.warning("no template %s %s", "{SECRET}")
    logging.getLogger("pypdf._reader").error("invalid header {SECRET}")

async def main():
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(logs.on_loop_exception)

    async def forgotten():
        fails()

    async def beside():
        fails()

    task = asyncio.create_task(forgotten())
    await asyncio.wait({{task}})
    del task
    gc.collect()
    loop.call_soon(lambda said: fails(), "{SECRET}")
    called = asyncio.Event()
    loop.call_soon(called.set)
    await called.wait()
    async with asyncio.TaskGroup() as group:
        group.create_task(beside())

class Closing:
    def __del__(self):
        fails()

Closing()
uvloop.run(main())
"""


def said(log_format: str) -> str:
    """What such a process writes until it dies."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, log_format], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stdout == ""
    return done.stderr


@pytest.mark.requirement("C21", "I11")
def test_no_log_line_holds_the_words_of_an_error_or_what_a_library_was_given() -> None:
    """Ours and a library's, of what nobody awaited, of what cannot be raised, of what ends the process: kind, place and cause remain."""
    text = said("json")
    assert SECRET not in text
    lines = [json.loads(line) for line in text.splitlines()]
    told, *lines = [line for line in lines if line["event"] != f"library says postgresql://me:{REDACTED}@db/x"]
    assert (told["where"], told["many"]) == (f"postgresql://me:{REDACTED}@db/x", [{"key": f"Bearer {REDACTED}"}])
    assert (told["id"], "hunter2" in text) == ("01a22e5c-26f3-72b4", False)
    assert [line["event"] for line in lines] == [
        "ours.failed",
        "read 7 of <str>",
        "library.message",
        "100 % of <str>",
        "<str> failed",
        "no template %s %s",
        "library.message",
        "process.unraisable",
        "loop.exception",
        "loop.exception",
        "process.failed",
    ]
    ours = lines[0]
    assert (ours["error"], ours["step"], ours["service"]) == ("ValueError", 3, "gateway")
    assert ours["frames"][-1].endswith("in fails")
    assert [cause.partition(" at ")[0] for cause in ours["causes"]] == ["KeyError"]
    forgotten, callback, died = lines[-3:]
    assert (forgotten["what"], forgotten["work"]) == ("Task exception was never retrieved", "main.<locals>.forgotten")
    assert forgotten["frames"][-1] == callback["frames"][-1] == ours["frames"][-1]
    assert callback["what"] == "Exception"
    assert died["error"] == "ExceptionGroup"
    assert died["causes"][0].startswith("ValueError at ")


@pytest.mark.requirement("C21")
def test_a_person_who_reads_the_log_finds_no_more_in_it() -> None:
    """The format for people renders exceptions by itself, were it given any."""
    text = said("console")
    assert SECRET not in text
    assert "in fails" in text
