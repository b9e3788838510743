"""Own tools that behave in every way in which a tool may."""

import asyncio
import sys
import threading
from decimal import Decimal

from pydantic import BaseModel

from askbus.errors import InvalidInput
from askbus.metrics.registered import Measure, Reads, metric
from askbus.records.model import QueryPlan
from askbus.records.names import ResolveRequest
from askbus.tools.own import Call, Scope, tool

held = threading.Event()
seen: list[object] = []


class Given(BaseModel):
    word: str = ""


class Word(BaseModel):
    word: str


own = tool(scope=Scope.DATA_READ, repeatable=True)
once = tool(scope=Scope.DATA_READ, repeatable=False)


@own
def plain(call: Call, given: Given) -> Word:
    "Runs in a thread."
    seen.append((call.id, call.by.user_id, call.project_id, threading.current_thread().name))
    return Word(word=given.word)


@own
async def reads(call: Call, given: Given) -> Word:
    "Reads records."
    seen.append(threading.current_thread().name)
    found = await call.records.resolve(ResolveRequest(collection="customers", text=given.word))
    assert found.match is not None
    rows = await call.records.query(QueryPlan(collection="customers", fields=("country",), limit=1))
    return Word(word=f"{found.match.label} {rows.display[0][-1]}")


@own
async def denied(call: Call, given: Given) -> Word:
    "Reads what nobody may read."
    rows = await call.records.query(QueryPlan(collection="logins", fields=("password_hash",)))
    return Word(word=rows.display[0][0])


@own
def blocks_a_thread(call: Call, given: Given) -> Word:
    "Never returns."
    held.wait()
    return Word(word="too late")


@once
async def blocks_the_loop(call: Call, given: Given) -> Word:
    "Never returns, and lets nobody else have the loop."
    held.wait()
    return Word(word="too late")


@own
async def waits_for_ever(call: Call, given: Given) -> Word:
    "Never returns, politely."
    await asyncio.Event().wait()
    return Word(word="never")


@own
def refuses(call: Call, given: Given) -> Word:
    "Refuses."
    raise InvalidInput("Say which harbour.")


@own
def breaks(call: Call, given: Given) -> Word:
    "Breaks."
    raise RuntimeError("the password is 1234")


@own
def exits(call: Call, given: Given) -> Word:
    "Ends the process, or tries to."
    sys.exit(3)


@own
async def exits_its_loop(call: Call, given: Given) -> Word:
    "The same, on the loop."
    sys.exit(3)


@own
def returns_something_else(call: Call, given: Given) -> Word:
    "Breaks its promise."
    return {"word": "the password is 1234"}  # type: ignore[return-value]  # that is the point


@own
def talks_much(call: Call, given: Given) -> Word:
    "Returns a megabyte."
    return Word(word="many words " * 100_000)


class Asked(BaseModel):
    collection: str
    field: str
    limit: int = 50


def column(asked: Asked) -> dict[str, QueryPlan]:
    return {"it": QueryPlan(collection=asked.collection, fields=(asked.field,), limit=asked.limit)}


@metric(reads=column, measure=Measure(currency="EUR"))
def mean(asked: Asked, read: Reads) -> Decimal:
    """The mean of a column."""
    numbers = read["it"].numbers(asked.field)
    return sum(numbers, Decimal(0)) / len(numbers)
