"""The client straight on the bus: for agents beside the services, which are told instead of asking again."""

import asyncio
import logging
import math
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from ssl import SSLContext
from typing import Self, TypeVar
from uuid import UUID

from pydantic import BaseModel

from askbus.client.agent import AgentClient, as_id
from askbus.client.link import Link
from askbus.client.patience import PATIENCE, persistently
from askbus.errors import AskbusError
from askbus.questions.agents import (
    MOST_UNTOLD,
    AskRequest,
    AskSetRequest,
    Heard,
    HeardRequest,
    ListRequest,
    OneRequest,
    UntoldRequest,
)
from askbus.questions.model import Ask, Question, QuestionDetail, QuestionFilter, QuestionPage, Untold
from askbus.questions.sets import AskedSet, AskSet

log = logging.getLogger("askbus.client")

M = TypeVar("M", bound=BaseModel)

LAST_WORDS = 5.0
"""Seconds that closing waits for acknowledgements on their way."""


class BusClient(AgentClient):
    """An agent with its API token on NATS. `url` may list several servers, comma-separated: nats://host:4222.

    Entering it connects, and raises Unauthenticated where the token is refused. It reconnects for ever afterwards, over every
    outage, until the token is revoked or expires: then calls that go on raise Unauthenticated too.
    """

    def __init__(self, url: str, token: str, *, patience: float = PATIENCE, tls: SSLContext | None = None) -> None:
        super().__init__(patience)
        self._link = Link(url, token, tls=tls, woken=self._on_woken)
        self._watchers: defaultdict[UUID | None, set[asyncio.Event]] = defaultdict(set)
        self._awaited: Counter[UUID] = Counter()
        self._acknowledging: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        try:
            await self._link.open(self._patience)
        except BaseException:
            await self._link.close()
            raise
        return self

    async def close(self) -> None:
        if self._acknowledging:
            _, late = await asyncio.wait(set(self._acknowledging), timeout=LAST_WORDS)
            for task in late:
                task.cancel()
        await self._link.close()

    async def wait(self, question_id: UUID | str, seconds: float) -> QuestionDetail:
        key = as_id(question_id)
        self._awaited[key] += 1
        try:
            question = await self._until_settled(key, seconds)
        except BaseException:
            self._leave_to_outcomes(key)
            raise
        if question.settled:
            self._acknowledge_soon(question)
        else:
            self._leave_to_outcomes(key)
        return question

    async def _until_settled(self, key: UUID, seconds: float) -> QuestionDetail:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        with self._woken_by(key) as moved:
            while True:
                moved.clear()
                patience = max(deadline - loop.time(), self._patience)
                question = await self._call("get", OneRequest(question_id=key), QuestionDetail, patience)
                left = deadline - loop.time()
                if question.settled or left <= 0:
                    return question
                expires_in = (question.expires_at - datetime.now(UTC)).total_seconds()
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, max(expires_in, 0) + 0.05)):
                        await moved.wait()

    async def get(self, question_id: UUID | str) -> QuestionDetail:
        return await self._call("get", OneRequest(question_id=as_id(question_id)), QuestionDetail)

    async def cancel(self, question_id: UUID | str) -> Question:
        return await self._call("cancel", OneRequest(question_id=as_id(question_id)), Question)

    async def outcomes(self) -> AsyncGenerator[QuestionDetail]:
        """What became of this token's questions: first all that it has not heard, then each as it comes, without end.

        A question comes when it is settled and, still open, when somebody asked back (read `notes`). It counts as heard once the
        next one is asked for, or by `heard`; until then it comes again, here or in another process, so act on each as if it
        may come twice. Questions that `wait` waits for are left to it. Raises Unauthenticated once the token is refused.
        """
        with self._woken_by(None) as news:
            while True:
                news.clear()
                untold = await self._call("untold", UntoldRequest(), Untold, math.inf)
                mine = [told for told in untold.told if told.question.id not in self._awaited]
                for told in mine:
                    yield told.question
                    await self.heard(told.question)
                if not mine or len(untold.told) < MOST_UNTOLD:
                    await news.wait()

    async def heard(self, question: QuestionDetail) -> None:
        """Acknowledges all that `question` tells, so that it does not come again: for whoever leaves `outcomes` in the middle."""
        if events := question.note_count + question.settled:
            await self._call("heard", HeardRequest(question_id=question.id, heard=events), Heard, math.inf)

    async def _ask(self, question_id: UUID, ask: Ask) -> Question:
        return await self._call("ask", AskRequest(question_id=question_id, ask=ask), Question)

    async def _ask_many(self, set_id: UUID, said: AskSet) -> tuple[UUID, ...]:
        asked = await self._call("ask_many", AskSetRequest(set_id=set_id, said=said), AskedSet)
        return tuple(one.id for one in asked.questions)

    async def _page(self, wanted: QuestionFilter) -> QuestionPage:
        return await self._call("list", ListRequest(filter=wanted), QuestionPage)

    async def _call(self, verb: str, body: BaseModel, into: type[M], seconds: float | None = None) -> M:
        patience = self._patience if seconds is None else seconds
        return await persistently(partial(self._link.request, verb, body, into), patience)

    def _acknowledge_soon(self, question: QuestionDetail) -> None:
        """Only after the outcome was given to whoever waited: a process that dies before that hears it again."""

        async def acknowledge() -> None:
            try:
                await self.heard(question)
            except (AskbusError, RuntimeError) as error:
                log.warning("bus: not acknowledged, it will be told again: %s", type(error).__name__)
            finally:
                self._leave_to_outcomes(question.id)

        task = asyncio.create_task(acknowledge(), name="askbus acknowledge")
        self._acknowledging.add(task)
        task.add_done_callback(self._acknowledging.discard)

    def _leave_to_outcomes(self, key: UUID) -> None:
        self._awaited[key] -= 1
        if self._awaited[key] == 0:
            del self._awaited[key]
            self._on_woken(key)

    @contextmanager
    def _woken_by(self, question_id: UUID | None) -> Iterator[asyncio.Event]:
        """An event that is set when this question moves (None: any), and when something may have been missed."""
        event = asyncio.Event()
        self._watchers[question_id].add(event)
        try:
            yield event
        finally:
            self._watchers[question_id].discard(event)
            if not self._watchers[question_id]:
                del self._watchers[question_id]

    def _on_woken(self, question_id: UUID | None) -> None:
        keys = tuple(self._watchers) if question_id is None else (question_id, None)
        for key in keys:
            for event in self._watchers.get(key, ()):
                event.set()
