"""`askbus trace` on the file that running services wrote."""

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner, Result

from askbus.access import verbs
from askbus.access.model import Role, Scope
from askbus.bus.envelope import Service
from askbus.cli import main
from askbus.cli.trace import duration
from askbus.client import BusClient
from askbus.db.ids import new_id
from askbus.db.pool import open_pool
from askbus.questions.model import Ask, AskQuestion
from askbus.questions.verbs import ask
from askbus.runtime.spans import SpanFile
from askbus.stack.options import Options, ServiceSpec
from askbus.stack.supervisor import Stack
from askbus.testing.people import found_company
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until

SERVICES = (Service.GATEWAY, Service.QUESTION_BROKER, Service.EXPIRY)


@pytest.fixture(scope="module")
async def answered(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Path, str, str]]:
    """A data directory where a question was asked over HTTP, answered and told, its id, and the trace id of the asking.

    The stack has ended: spans are read from what is left.
    """
    data = tmp_path_factory.mktemp("trace") / "data"
    options = Options(data=data, services=tuple(map(ServiceSpec, SERVICES)), durable=False, env={"ASKBUS_LOG_LEVEL": "warning"})
    async with Stack(options) as stack, open_pool(stack.database_url, size=2, name="tests") as pool:
        workspace = await verbs.create_workspace(pool, "Traced")
        project = await verbs.create_project(pool, workspace, "north")
        user = await verbs.create_user(pool, "ada@nord.example", "Ada")
        await verbs.set_member(pool, workspace, user, Role.OWNER)
        token, _row = await verbs.issue_token(pool, workspace, user, name="robot", scopes=[Scope.QUESTIONS_ASK])
        session = await verbs.sign_in(pool, await verbs.create_login_code(pool, workspace, user))
        cookies = {f"askbus_session_{stack.services['gateway'].port}": session.cookie}
        async with httpx2.AsyncClient(base_url=stack.http_url, cookies=cookies) as http:
            asked = await http.post(
                "/v1/questions",
                json={"project_id": str(project), "text": "planted text"},
                headers={"authorization": f"Bearer {token}"},
            )
            question_id = asked.json()["id"]
            await http.post(
                f"/v1/questions/{question_id}/answer",
                json={"answer": "planted answer"},
            )
        async with BusClient(stack.nats_url, token) as bus, asyncio.timeout(15):
            assert (await anext(bus.outcomes())).answer == "planted answer"

        async def acted_on() -> bool:
            traces = SpanFile(stack.trace_file).traces_of([question_id])
            return {"question.asked", "question.answered"} <= {span.name for trace in traces for span in trace.spans}

        await until(acted_on)
    yield data, question_id, asked.headers["askbus-trace-id"]
    shutil.rmtree(data)


def trace(sought: str, data: Path, **environment: str) -> Result:
    blank = {name: None for name in os.environ if name.startswith("ASKBUS_")}
    return CliRunner(env={**blank, **environment}).invoke(main, ["trace", sought, "--data", str(data)])


def rows(output: str) -> list[tuple[str, str]]:
    """Service and name of each span drawn, with the guides that show its place."""
    lines = [line for line in output.splitlines() if line[:1] == " " and " ms  " in line[:30]]
    return [(line[22:38].strip(), re.split(r"  [a-z_.]+=", line[40:])[0]) for line in lines]


@pytest.mark.requirement("O5")
async def test_a_question_shows_where_it_was_asked_and_where_it_was_answered(answered: tuple[Path, str, str]) -> None:
    """Two requests, two traces, each over gateway and broker; the wait of the person lies between them."""
    data, question_id, asking = answered
    result = trace(question_id, data)
    assert result.exit_code == 0, result.output
    first, second = result.stdout.split("trace ")[1:3]
    assert first.startswith(asking)
    assert rows(first) == [
        ("gateway", "POST /v1/questions 201"),
        ("gateway", "└─ AskQuestion"),
        ("question-broker", "   └─ AskQuestion"),
        ("question-broker", "      └─ question.asked"),
    ]
    assert " later\n" in second.partition("spans in")[0]
    assert rows(second) == [
        ("gateway", "POST /v1/questions/{id}/answer 200"),
        ("gateway", "└─ AnswerQuestion"),
        ("question-broker", "   └─ AnswerQuestion"),
        ("question-broker", "      └─ question.answered"),
    ]
    assert f"question_id={question_id}" in first
    assert "planted" not in result.output
    assert "\x1b[" not in result.output


@pytest.mark.requirement("O5")
async def test_a_trace_says_where_its_question_went_on(answered: tuple[Path, str, str]) -> None:
    """By the id that the response's header gave: one tree, and the answer's trace by name."""
    data, _question_id, asking = answered
    result = trace(asking, data)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("trace ") == 1
    others = result.stdout.partition("The same went on in other traces:\n")[2]
    assert "later  POST /v1/questions/{id}/answer" in others.splitlines()[0]


async def test_a_span_whose_line_was_cut_off_does_not_hide_the_others(answered: tuple[Path, str, str], tmp_path: Path) -> None:
    """A process may die while it writes; its children are drawn all the same, as roots."""
    data, question_id, asking = answered
    lines = (data / "spans.jsonl").read_text().splitlines()
    mine = [line for line in lines if asking in line]
    root = next(line for line in mine if json.loads(line)["parent_id"] is None)
    file = tmp_path / "spans.jsonl"
    file.write_text("\n".join([root[:200], *(line for line in mine if line != root)]) + "\n")
    result = trace(asking, tmp_path)
    assert result.exit_code == 0, result.output
    assert [name for _service, name in rows(result.stdout)] == ["AskQuestion", "└─ AskQuestion", "   └─ question.asked"]
    assert "1 lines of" in result.stderr
    assert SpanFile(file).traces_of([question_id])[0].services == ("askbus-gateway", "askbus-question-broker")


async def test_a_row_leads_to_its_trace_where_no_span_names_it(database: TestDatabase, tmp_path: Path) -> None:
    """The row keeps the trace in which it was moved last, the change log those before."""
    trace_id, question_id = "ab" * 16, new_id()
    span = {
        "trace_id": trace_id,
        "span_id": "1" * 16,
        "parent_id": None,
        "service": "askbus-gateway",
        "name": "POST /v1/questions",
    }
    (tmp_path / "spans.jsonl").write_text(json.dumps({**span, "kind": "server", "start": 1, "end": 2, "status": "unset"}) + "\n")
    async with open_pool(database.url, size=2, name="tests") as pool:
        company = await found_company(pool)
        question = Ask(project_id=company.north, text="Which trace?")
        command = AskQuestion(command_id=question_id, by=company["mia"].principal, question_id=question_id, ask=question)
        await ask(pool, command, trace=f"00-{trace_id}-{'2' * 16}-01")
    result = await asyncio.to_thread(trace, str(question_id), tmp_path, ASKBUS_DATABASE_URL=database.url)
    assert (result.exit_code, rows(result.output)) == (0, [("gateway", "POST /v1/questions")]), result.output


@pytest.mark.parametrize(
    ("sought", "code", "words"),
    [
        ("0" * 32, 1, "Nothing about"),
        ("01a22c3d-2d9b-7782-b8af-c0beba41da29", 1, "ASKBUS_TRACE_FILE"),
        ("yesterday", 2, "is no id"),
    ],
)
async def test_what_is_not_there_is_explained(tmp_path: Path, sought: str, code: int, words: str) -> None:
    """Nothing was recorded, or it is no id."""
    result = await asyncio.to_thread(trace, sought, tmp_path)
    assert (result.exit_code, words in result.output) == (code, True), result.output


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [(12_345_678, "12.3 ms"), (4_560_000_000, "4.56 s"), (200_000_000_000, "3 min 20 s"), (25_500_000_000_000, "7 h 05 min")],
)
def test_durations_are_written_for_people(nanoseconds: int, words: str) -> None:
    """From a millisecond to the hours that a person may take."""
    assert duration(nanoseconds) == words
