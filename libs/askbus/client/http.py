"""The client over HTTP: for agents that reach the web and nothing else."""

import asyncio
from functools import partial
from ssl import SSLContext
from typing import TypeVar
from uuid import UUID

import httpx2
from pydantic import BaseModel, ValidationError

from askbus.client.agent import AgentClient, as_id
from askbus.client.patience import PATIENCE, jittered, persistently
from askbus.errors import BY_CODE, AskbusError, ErrorBody, Internal, InvalidInput, TimedOut, Unavailable
from askbus.questions.model import Ask, Question, QuestionDetail, QuestionFilter, QuestionPage
from askbus.questions.sets import AskSet

M = TypeVar("M", bound=BaseModel)

CONNECT_TIMEOUT, ANSWER_TIMEOUT = 5.0, 15.0
ONE_WAIT = 60.0
"""Seconds that one request of a long wait may stay open: proxies cut what is silent for longer."""
CUT_SHORT = 1.0
"""Seconds before asking again when a wait came back early: that gateway is stopping."""

OUTAGES = {502, 503, 504}


class Together(BaseModel):
    """What a set is answered with."""

    questions: tuple[QuestionDetail, ...]


class HttpClient(AgentClient):
    """An agent with its API token on askbus's HTTP API. `url` is what people open, such as https://askbus.example.

    `tls` is for servers whose certificate the system does not know. Raises InvalidInput for an address without http(s)://.
    """

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE, tls: SSLContext | None = None) -> None:
        super().__init__(patience)
        if not url.startswith(("http://", "https://")):
            raise InvalidInput(f"{url!r} is no address of the HTTP API: it starts with https://")
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers={"authorization": f"Bearer {token}"},
            verify=True if tls is None else tls,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
        )

    async def wait(self, question_id: UUID | str, seconds: float) -> QuestionDetail:
        path = f"/v1/questions/{as_id(question_id)}"
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds

        async def attend() -> QuestionDetail:
            wait = min(max(deadline - loop.time(), 0), ONE_WAIT)
            return await self._send("GET", path, QuestionDetail, params={"wait": f"{wait:.3f}"}, slow=wait)

        while True:
            started = loop.time()
            question = await persistently(attend, max(deadline - started, self._patience))
            left = deadline - loop.time()
            if question.settled or left <= 0:
                return question
            if loop.time() - started < min(ONE_WAIT, deadline - started) / 2:
                await asyncio.sleep(min(left, jittered(CUT_SHORT)))

    async def get(self, question_id: UUID | str) -> QuestionDetail:
        return await self._call("GET", f"/v1/questions/{as_id(question_id)}", QuestionDetail)

    async def cancel(self, question_id: UUID | str) -> Question:
        key = as_id(question_id)
        return await self._call("POST", f"/v1/questions/{key}/cancel", Question, key=key, body="{}")

    async def close(self) -> None:
        await self._http.aclose()

    async def _ask(self, question_id: UUID, ask: Ask) -> Question:
        return await self._call(
            "POST", "/v1/questions", Question, key=question_id, body=ask.model_dump_json(exclude_defaults=True)
        )

    async def _ask_many(self, set_id: UUID, said: AskSet) -> tuple[UUID, ...]:
        body = said.model_dump_json(exclude_defaults=True)
        asked = await self._call("POST", "/v1/questions/batch", Together, key=set_id, body=body)
        return tuple(one.id for one in asked.questions)

    async def _page(self, wanted: QuestionFilter) -> QuestionPage:
        params = {name: str(value) for name, value in wanted.model_dump(mode="json", exclude_defaults=True).items()}
        return await self._call("GET", "/v1/questions", QuestionPage, params=params)

    async def _call(
        self,
        method: str,
        path: str,
        into: type[M],
        *,
        params: dict[str, str] | None = None,
        key: UUID | None = None,
        body: str | None = None,
    ) -> M:
        return await persistently(partial(self._send, method, path, into, params=params, key=key, body=body), self._patience)

    async def _send(
        self,
        method: str,
        path: str,
        into: type[M],
        *,
        params: dict[str, str] | None = None,
        key: UUID | None = None,
        body: str | None = None,
        slow: float = 0,
    ) -> M:
        headers = {"content-type": "application/json"} if body is not None else {}
        if key is not None:
            headers["idempotency-key"] = str(key)
        timeout = httpx2.Timeout(ANSWER_TIMEOUT + slow, connect=CONNECT_TIMEOUT, pool=None)
        try:
            response = await self._http.request(method, path, params=params, content=body, headers=headers, timeout=timeout)
        except httpx2.TimeoutException:
            raise TimedOut("askbus did not answer in time.") from None
        except httpx2.TransportError as error:
            raise Unavailable(f"askbus cannot be reached: {type(error).__name__}.") from error
        if not response.is_success:
            raise refusal(response, response.content)
        try:
            return into.model_validate_json(response.content)
        except ValidationError:
            raise Internal(f"What answers at {self._http.base_url} is not askbus, or not this version of it.") from None


def refusal(response: httpx2.Response, content: bytes) -> AskbusError:
    """The error that the gateway sent; or, where something in front of it answered, the one that the status stands for."""
    status = response.status_code
    try:
        body = ErrorBody.model_validate_json(content)
    except ValidationError:
        if status in OUTAGES:
            return Unavailable(f"askbus is not there right now: something in front of it answered {status}.")
        kind = next((kind for kind in BY_CODE.values() if kind.http_status == status), Internal)
        return kind(f"{response.url.host} answered {status} without saying why. Is this the address of askbus?")
    return AskbusError.of(body)
