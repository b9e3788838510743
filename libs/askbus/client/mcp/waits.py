"""One long wait made of as many short ones as it takes: each call is held by the gateway for as long as it holds anybody."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

from pydantic import JsonValue

from askbus.client.mcp.gateway import Answer, Gateway, Heard
from askbus.client.mcp.messages import KEYED, Message, Object
from askbus.client.patience import jittered
from askbus.errors import AskbusError, Unauthenticated
from askbus.questions.model import LONGEST_WAIT

ASKS_AGAIN = "get_question_answer"
WAITING = KEYED | {ASKS_AGAIN}
"""The tools that take `wait_seconds`."""
CUT_SHORT = 1.0
"""Seconds: a call that comes back sooner with the question open was held by nobody, since its gateway is stopping."""
AT_LEAST = 0.05
"""Seconds: a shorter wait is none."""


def wished(message: Message, hold: float) -> float:
    """How many seconds the call is to wait, at most `hold`; 0 for whatever else it is."""
    seconds = (message.arguments or {}).get("wait_seconds")
    if message.tool not in WAITING or message.goes_on or isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return 0.0
    return min(float(seconds), hold) if 0 < seconds <= LONGEST_WAIT else 0.0


async def call(gateway: Gateway, message: Message, agreed: str | None, heard: Heard, *, hold: float) -> Answer:
    """What a message is answered with, a wait after all the time that it was to take or `hold` seconds. A gateway that lets go, stops or is
    killed meanwhile is asked again, as is the next one."""
    message = message.with_keys(f"askbus mcp {uuid4()}")
    seconds = wished(message, hold)
    if not seconds:
        return await gateway.ask(message, agreed, heard)
    message = message.without_progress().with_params(arguments={**(message.arguments or {}), "wait_seconds": seconds})
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    began = loop.time()
    answer = await gateway.ask(message, agreed, heard, patience=max(seconds, gateway.patience))
    while ids := list(_open(answer)):
        if (left := deadline - loop.time()) > AT_LEAST and loop.time() - began < CUT_SHORT:
            await asyncio.sleep(min(left, jittered(CUT_SHORT)))
        if (left := deadline - loop.time()) <= AT_LEAST:
            break
        again = message.with_params(name=ASKS_AGAIN, arguments={"ids": ids, "wait_seconds": round(left, 3)})
        began = loop.time()
        try:
            latest = await gateway.ask(again, agreed, heard, patience=left)
        except Unauthenticated:
            raise
        except AskbusError:
            break
        if latest.result is None or latest.failure is not None:
            break
        answer = latest
    return answer


def _open(answer: Answer) -> Iterator[JsonValue]:
    """The ids of everything that the answer tells of, where some of it is still open."""
    told: Object = answer.structured
    if "ask_again_after" in told and answer.failure is None:
        for kind in ("questions", "actions"):
            listed = told.get(kind)
            yield from (one["id"] for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
