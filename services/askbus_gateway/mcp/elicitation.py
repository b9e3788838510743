"""Sending whoever sits before a client to the page where a question is answered, and the call that comes back from there (M9).

MCP 2026-07-28, elicitation in URL mode: a result names the page and carries a `requestState`; the client opens the page if its user agrees,
and makes the same call again with that state. What the client says came of it counts for nothing but the wait: the person answers on the
page, in their own session, and the row says what they answered. The earlier revisions say what a client can in `initialize` alone, and ask
it by requests of the server's, which nobody can send where nothing is remembered between two requests: they have none of this.
"""

import hashlib
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic_core import to_json

from askbus.access.mcp_states import give_state, use_state
from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus.questions.model import LONGEST_WAIT, Question
from askbus_gateway.mcp.protocol import Code, Object, ProtocolError
from askbus_gateway.mcp.results import Pages
from askbus_gateway.mcp.tool import Call, InputRequired, read

KEY = "answer"
"""The one request of a result that sends to a page, by its name in `inputRequests`."""
MAY_DIFFER = frozenset({"wait_seconds", "dedupe_key"})
"""Arguments that a retry may say differently: they do not say what is asked, and bridges set them."""
SHOWN = 300
"""Characters of a question in the client's own prompt; the page has all of them."""


class _Wait(BaseModel):
    wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT)] = 0


class _Response(BaseModel):
    """What came of sending somebody to a page: `accept` says that they went, and nothing of what they did there."""

    action: Literal["accept", "decline", "cancel"]


class _Responses(BaseModel):
    answer: _Response | None = None


class AnswerPage:
    """Sends to a question's page, and knows the calls that come back from it."""

    def __init__(self, pool: Pool, pages: Pages) -> None:
        self.pool = pool
        self.pages = pages

    def opens(self, call: Call, question: Question) -> bool:
        """Whether this call's client can open a page, and the caller's owner is one who answers there."""
        elicits = call.incoming.capabilities.get("elicitation")
        can = call.incoming.modern and isinstance(elicits, dict) and isinstance(elicits.get("url"), dict)
        return can and not question.settled and question.assignee_id in {None, call.by.user_id}

    async def send(self, call: Call, question: Question) -> InputRequired:
        """What makes the client open the page and call again."""
        text = question.title or question.text
        shown = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
        asked: Object = {
            "mode": "url",
            "message": f"Your agent has a question for you: {shown}",
            "url": self.pages.question(question),
        }
        state = await give_state(self.pool, call.by, question.id, _digest(call))
        return InputRequired({KEY: {"method": "elicitation/create", "params": asked}}, state)

    async def back(self, call: Call) -> tuple[UUID, float] | None:
        """Of a call that comes back: its question, and how many seconds it may wait for the answer, none where nobody went to the page.
        None for a first call. Raises ProtocolError where the state is none of this caller's for this request, and Conflict where it was
        used before or its time is over."""
        state, said = call.incoming.params.get("requestState"), call.incoming.params.get("inputResponses")
        if state is None and said is None:
            return None
        if not isinstance(state, str):
            raise ProtocolError(
                Code.INVALID_PARAMS, "inputResponses come with the requestState that was given with their requests."
            )
        response = _response(said)
        wait = read(_Wait, {name: value for name, value in call.arguments.items() if name == "wait_seconds"})
        try:
            question_id = await use_state(self.pool, call.by, state, _digest(call))
        except InvalidInput as error:
            raise ProtocolError(Code.INVALID_PARAMS, error.message) from None
        return question_id, wait.wait_seconds if response is None or response.action == "accept" else 0


def _response(said: JsonValue) -> _Response | None:
    """What is said of our request; None where nothing is. Others are ignored."""
    if said is None:
        return None
    try:
        return _Responses.model_validate(said).answer
    except ValidationError:
        raise ProtocolError(
            Code.INVALID_PARAMS, f"inputResponses.{KEY} is an object whose action is accept, decline or cancel."
        ) from None


def _digest(call: Call) -> bytes:
    """What is asked, as a state is bound to it. JSON objects have no order, so names are sorted."""
    asked = {name: value for name, value in call.arguments.items() if name not in MAY_DIFFER}
    return hashlib.sha256(to_json([call.incoming.params.get("name"), _sorted(asked)])).digest()


def _sorted(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {name: _sorted(value[name]) for name in sorted(value)}
        case list():
            return [_sorted(one) for one in value]
        case _:
            return value
