"""The examples of docs/agents, run as they stand."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from tests.client.conftest import Stage

from askbus.access.model import Scope
from askbus.db.pool import Pool
from askbus.testing.people import Company, give_token
from askbus.testing.waiting import until

PAGE = Path(__file__).parents[2] / "docs" / "agents" / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)

(SHELL,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
COMMANDS = {"http": [sys.executable, "-c", EXAMPLES[0]], "bus": [sys.executable, "-c", EXAMPLES[1]], "shell": ["sh", "-c", SHELL]}


def test_there_are_examples_for_both_doors() -> None:
    """One over HTTP, one on the bus."""
    assert [re.findall(r"\w+Client(?=\()", example) for example in EXAMPLES] == [["HttpClient"], ["BusClient"]]


@pytest.mark.requirement("Q6", "Q15")
@pytest.mark.parametrize("example", list(COMMANDS))
async def test_an_example_of_the_documentation_does_what_it_says(
    stage: Stage, company: Company, pool: Pool, example: str
) -> None:
    """A process of its own asks, a person asks back and answers, it prints the answer and ends."""
    agent = await give_token(pool, company["mia"], (Scope.QUESTIONS_ASK,))
    environment = {
        "ASKBUS_TOKEN": agent.token,
        "ASKBUS_PROJECT": str(company.north),
        "ASKBUS_URL": stage.http,
        "ASKBUS_NATS_URL": stage.nats.url,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    process = await asyncio.create_subprocess_exec(
        *COMMANDS[example], env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )

    async def asked() -> bool:
        return bool(await pool.fetchval("SELECT count(*) FROM questions"))

    await until(asked)
    question = await pool.fetchrow("SELECT id, options FROM questions")
    assert question is not None
    await stage.ask_back(company["max"], question["id"], "Are you sure?")
    await stage.answer(company["max"], question["id"], "merge")
    async with asyncio.timeout(30):
        output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert output.decode().splitlines()[-1].endswith("answered merge"), output.decode()
    assert await pool.fetchval("SELECT count(*) FROM questions") == 1
