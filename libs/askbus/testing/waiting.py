"""Waiting for a condition rather than for time to pass."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], Awaitable[bool]], *, within: float = 60) -> None:
    """Returns once the condition holds. Raises TimeoutError where it does not within so many seconds: the default is
    for a machine that does much else, and says nothing of how long anything should take."""
    async with asyncio.timeout(within):
        while not await condition():  # noqa: ASYNC110  # what is waited for has no event: a row, a server's state
            await asyncio.sleep(0.01)
