"""Runs probes: messages sent over HTTP like anybody's, their turns made by the real services, and looked at in Postgres afterwards."""

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import httpx2

from askbus.db.pool import SETTINGS, prepare
from askbus.db.statements import Executor, Statement
from askbus.probes.check import MadeCall, Seen, findings
from askbus.probes.model import Probe, Step, rows
from askbus.testing.streams import events
from askbus.tools.model import ToolResult

CALLS = Statement("askbus.probes", "sql/calls.sql")
ASKED = Statement("askbus.probes", "sql/asked.sql")
MARK_USAGE = Statement("askbus.probes", "sql/mark_usage.sql")
PATIENCE = 600.0
"""Seconds for one turn; its own clock is shorter."""


@dataclass(frozen=True)
class Place:
    """Where probes run: the gateway, a person's session there, a project that they see, and the two databases as their owners see them."""

    http: str
    cookie: str
    project_id: UUID
    database_url: str
    records_url: str


@dataclass(frozen=True)
class Result:
    """What became of a probe. `findings` is empty where it holds; `answers` is what was said, a turn each."""

    probe: Probe
    findings: tuple[str, ...]
    answers: tuple[str, ...]
    calls: int
    seconds: float

    @property
    def holds(self) -> bool:
        return not self.findings

    @property
    def said(self) -> str:
        """The last of the answers: where the probe ended."""
        return self.answers[-1] if self.answers else ""


async def run(place: Place, probe: Probe) -> Result:
    """The probe in a thread of its own, on rows as they were at first. It ends at the first turn that is not what it should be.

    A turn that never ends, or a door that refuses, is a finding too.
    """
    began = time.monotonic()
    found: list[str] = []
    answers: list[str] = []
    words: list[str] = []
    calls = 0
    db = await asyncpg.connect(place.database_url, server_settings=SETTINGS)
    try:
        await prepare(db)
        await change(place.records_url, rows())
        cookies = {f"askbus_session{suffix}": place.cookie for suffix in ("", _port(place.http))}
        async with httpx2.AsyncClient(base_url=place.http, cookies=cookies, timeout=30) as person:
            thread_id = await _post(person, "/v1/threads", project_id=str(place.project_id))
            for number, step in enumerate(probe.turns, 1):
                if step.before:
                    await change(place.records_url, step.before)
                try:
                    seen = await _turn(person, db, thread_id, step)
                except (httpx2.HTTPError, TimeoutError) as error:
                    found = [f"turn {number}: askbus did not do it: {type(error).__name__} {error}"]
                    break
                words += [step.says, *(f"{context.label} {context.text}" for context in step.context)]
                answers.append(seen.said)
                calls += len(seen.calls)
                found = [f"turn {number}: {finding}" for finding in findings(step, seen, words, datetime.now(UTC))]
                if found:
                    break
            await MARK_USAGE.run(db, thread_id=UUID(thread_id))
    finally:
        await db.close()
    return Result(probe, tuple(found), tuple(answers), calls, time.monotonic() - began)


async def change(records_url: str, statements: str) -> None:
    """Changes the records as their owner does."""
    db = await asyncpg.connect(records_url)
    try:
        await db.execute(statements)
    finally:
        await db.close()


async def _turn(person: httpx2.AsyncClient, db: Executor, thread_id: str, step: Step) -> Seen:
    context = [context.model_dump() for context in step.context]
    turn_id = await _post(person, f"/v1/threads/{thread_id}/turns", text=step.says, context=context)
    async with asyncio.timeout(PATIENCE):
        turn = await _settled(person, turn_id)
    calls = [_made(row) for row in await CALLS.rows(db, turn_id=UUID(turn_id))]
    asked = [" ".join([row["text"], *row["options"]]) for row in await ASKED.rows(db, turn_id=UUID(turn_id))]
    if turn["state"] == "waiting":
        await _post(person, f"/v1/turns/{turn_id}/cancel")
    error = turn["error"]
    code = str(error["code"]) if isinstance(error, dict) else None
    marked = turn["ungrounded"]
    return Seen(
        str(turn["state"]),
        code,
        str(turn["answer"] or ""),
        tuple(asked),
        tuple(calls),
        tuple(str(number["text"]) for number in marked) if isinstance(marked, list) else (),
    )


async def _settled(person: httpx2.AsyncClient, turn_id: str) -> dict[str, object]:
    """The turn once it is over or waits for its user. A stream that ends before is taken up again."""
    while True:
        async with person.stream("GET", f"/v1/turns/{turn_id}/events", timeout=None) as response:
            response.raise_for_status()
            async for event in events(response):
                if event.name == "done" or (event.name == "turn" and event.data["state"] == "waiting"):
                    answer = await person.get(f"/v1/turns/{turn_id}")
                    answer.raise_for_status()
                    turn: dict[str, object] = answer.json()
                    return turn


async def _post(person: httpx2.AsyncClient, path: str, **body: object) -> str:
    """The id of what was made."""
    response = await person.post(path, json=body)
    response.raise_for_status()
    return str(response.json()["id"])


def _made(row: dict[str, object]) -> MadeCall:
    name, arguments = str(row["name"]), str(row["arguments"])
    if row["refusal"] is not None:
        return MadeCall(name, arguments, ok=False, text=str(row["refusal"]))
    if row["result"] is None:
        return MadeCall(name, arguments, ok=row["state"] == "asked", text="")
    result = ToolResult.model_validate(row["result"])
    return MadeCall(name, arguments, ok=result.ok, text=result.text())


def _port(http: str) -> str:
    """The suffix of the session's cookie: browsers keep cookies by host alone, so its name has the port."""
    port = httpx2.URL(http).port
    return f"_{port}" if port else ""
