"""`askbus ask` and its kin, as processes of their own."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner
from tests.client.conftest import Stage

from askbus.cli import main
from askbus.db.pool import Pool
from askbus.testing.people import Agent, Company, give_token

pytestmark = pytest.mark.requirement("Q1", "Q15")

RUN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import askbus.cli; askbus.cli.main()"
"""Hears Ctrl-C also where the tests run in the background of a shell, which has its children ignore it."""


async def start(stage: Stage, agent: Agent, *words: str) -> Process:
    """`askbus …` with this agent's token in its environment."""
    known = {"ASKBUS_URL": stage.http, "ASKBUS_TOKEN": agent.token, "PYTHONPATH": os.pathsep.join(sys.path)}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUN, *words, env=known, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )


async def result(process: Process, said: str = "") -> tuple[int | None, str, str]:
    """Its exit code, what it printed, and what it said beside that."""
    async with asyncio.timeout(60):
        output, errors = await process.communicate(said.encode())
    return process.returncode, output.decode().strip(), errors.decode().strip()


async def test_a_shell_agent_asks_leaves_comes_back_and_takes_back(stage: Stage, company: Company, pool: Pool) -> None:
    """Each outcome has its exit code; Ctrl-C leaves the question open and says how to attach again; the same key finds it."""
    agent = await give_token(pool, company["mia"])
    project = ("--project", str(company.north))

    waiting = await start(stage, agent, "ask", "-", *project, "--dedupe-key", "k", "--option", "blue", "--wait", "600")
    assert waiting.stdin is not None
    waiting.stdin.write(b"Which one?\nThink.\n")
    waiting.stdin.close()
    assert waiting.stderr is not None
    question = (await waiting.stderr.readline()).decode().split()[-1]
    waiting.send_signal(signal.SIGINT)
    code, _, errors = await result_of(waiting)
    assert (code, errors.splitlines()[-1]) == (130, f"The question stays open. Attach again: askbus wait {question}")
    again, listed = await asyncio.gather(
        result(await start(stage, agent, "ask", "Which one?", *project, "--dedupe-key", "k")),
        result(await start(stage, agent, "list")),
    )
    assert again[:2] == (3, question)
    assert listed[:2] == (0, f"{question}  Which one?")
    attached = await start(stage, agent, "wait", question)
    await stage.answer(company["max"], question, "blue")
    assert (await result(attached))[:2] == (0, "blue")
    found = await result(await start(stage, agent, "wait", question, "--json"))
    assert (found[0], json.loads(found[1])["answer"], json.loads(found[1])["text"]) == (0, "blue", "Which one?\nThink.")
    other = (await result(await start(stage, agent, "ask", "Still?", *project)))[1]
    ends = (("cancel", other), ("wait", other), ("cancel", question))
    assert [(await result(await start(stage, agent, *words)))[0] for words in ends] == [0, 6, 1]


@pytest.mark.requirement("Q12")
async def test_a_shell_agent_asks_for_fields_and_says_whom_to_turn_to(
    stage: Stage, company: Company, pool: Pool, tmp_path: Path
) -> None:
    """A schema in a file, or on the command line; a reminder and an escalation to a role or a person; half of one is a wrong call."""
    agent, max_ = await give_token(pool, company["mia"]), company["max"]
    schema = json.dumps({"properties": {"region": {"type": "string", "enum": ["north", "south"]}}, "required": ["region"]})
    file = tmp_path / "schema.json"
    file.write_text(schema)
    ask = ("ask", "Where?", "--project", str(company.north), "--json")
    calls = (
        ("--schema", str(file), "--remind-after", "60", "--escalate-after", "120", "--escalate-to", "admin"),
        ("--schema", schema, "--escalate-after", "120", "--escalate-to", str(max_.id)),
    )
    done = await asyncio.gather(*[result(await start(stage, agent, *ask, *words)) for words in calls])
    assert [code for code, _, _ in done] == [3, 3], done
    by_file, in_words = [json.loads(output) for _, output, _ in done]
    assert by_file["answer_schema"] == in_words["answer_schema"] == {"type": "object", **json.loads(schema)}
    assert (by_file["escalate_role"], in_words["escalate_user"], in_words["remind_at"]) == ("admin", str(max_.id), None)
    asked, reminded, escalated = (datetime.fromisoformat(by_file[name]) for name in ("asked_at", "remind_at", "escalate_at"))
    assert (reminded - asked, escalated - asked) == (timedelta(seconds=60), timedelta(seconds=120))
    wrong = {
        ("--escalate-after", "120"): "--escalate-to together",
        ("--escalate-after", "120", "--escalate-to", "boss"): "owner, admin, member",
        ("--schema", str(tmp_path / "none.json")): "No such file",
        ("--schema", "{"): "no JSON",
    }
    for words, says in wrong.items():
        refused = CliRunner().invoke(main, [*ask, *words])
        assert (refused.exit_code, says in refused.output) == (2, True), refused.output
    await stage.answer(max_, by_file["id"], {"region": "south"})
    assert (await result(await start(stage, agent, "wait", by_file["id"])))[:2] == (0, '{"region": "south"}')


async def result_of(process: Process) -> tuple[int | None, str, str]:
    """The same for one whose standard input is closed already."""
    assert process.stdout is not None
    assert process.stderr is not None
    async with asyncio.timeout(60):
        output, errors = await asyncio.gather(process.stdout.read(), process.stderr.read())
        await process.wait()
    return process.returncode, output.decode().strip(), errors.decode().strip()


async def test_what_went_wrong_is_an_exit_code_and_a_line(stage: Stage, company: Company, pool: Pool) -> None:
    """A token that is refused, a question that is nobody's, a token as an argument: none shows a traceback."""
    agent = await give_token(pool, company["mia"])
    unknown, revoked, wrong = await asyncio.gather(
        result(await start(stage, agent, "wait", str(uuid4()))),
        result(await start(stage, Agent(agent.token[:-1] + "x", agent.principal), "list")),
        result(await start(stage, agent, "ask", "Hm?", "--project", str(company.north), "--token", agent.token)),
    )
    assert (unknown[0], revoked[0], wrong[0]) == (1, 77, 2)
    for _, output, errors in (unknown, revoked, wrong):
        assert output == ""
        assert "Traceback" not in errors
