"""A model with another that answers when it cannot. Pure but for the models' own work."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import structlog

from askbus.models.billing import total
from askbus.models.model import Accepts, Answering, Completion, Fault, Model, ModelEvent, ModelRequest, ProviderError

log = structlog.get_logger()

_ITS_OWN = frozenset({Fault.BAD_REQUEST, Fault.TOO_LONG})
"""Faults of the request, which another provider would find too."""
_SHARE = 0.5
"""Of the caller's patience, what the first model gets: the other needs the rest."""


class FallbackModel:
    """Asks `first`; where that fails before it said anything, and not because of the request, asks `second`.

    It owns neither: who opened them closes them.
    """

    def __init__(self, first: Model, second: Model) -> None:
        self._first = first
        self._second = second

    @property
    def name(self) -> str:
        return self._first.name

    @property
    def accepts(self) -> Accepts:
        """What both take: nobody knows beforehand which will answer."""
        first, second = self._first.accepts, self._second.accepts
        return Accepts(images=first.images and second.images, documents=first.documents and second.documents)

    async def close(self) -> None:
        """Nothing of its own."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """What one of the two answers; `Answering` comes first where it is the second. Raises ProviderError."""
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with aclosing(self._first.stream(_within(request, lambda patience: patience * _SHARE))) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            if error.partial_text or error.fault in _ITS_OWN:
                raise
            failed = error
        else:
            return
        log.warning("model.fell_back", model=self._first.name, to=self._second.name, fault=failed.fault)
        yield Answering(self._second.name)
        try:
            async with aclosing(self._second.stream(_within(request, lambda patience: patience - (clock() - began)))) as events:
                async for event in events:
                    if isinstance(event, Completion) and failed.usage:
                        event = event.model_copy(update={"usage": total(failed.usage, event.usage)})  # noqa: PLW2901
                    yield event
        except ProviderError as error:
            error.usage = total(failed.usage, error.usage)
            raise


def _within(request: ModelRequest, of: Callable[[float], float]) -> ModelRequest:
    """The request with this part of its patience."""
    return request if request.patience is None else request.model_copy(update={"patience": max(of(request.patience), 0.0)})
