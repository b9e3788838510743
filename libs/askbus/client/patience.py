"""Trying again: what every service and server of askbus may be doing at any moment is starting anew."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from askbus.errors import RateLimited, TimedOut, Unavailable

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds that a call goes on trying, unless the client was made with others."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 3.0
"""Bounds of the pause between two tries, in seconds. The real one is drawn: a thousand agents must not come back at once."""


async def persistently(call: Callable[[], Awaitable[T]], seconds: float) -> T:
    """What `call` returns, made again after each Unavailable and TimedOut for `seconds`, and after RateLimited where the time that it says
    to wait ends before these do. It must be safe to make twice.

    Raises the last of these once the time is over, and everything else at once.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    longest = FIRST_PAUSE
    while True:
        try:
            return await call()
        except (Unavailable, TimedOut):
            left = deadline - loop.time()
            if left <= 0:
                raise
        except RateLimited as error:
            pause = error.details.get("retry_after")
            if not isinstance(pause, int | float) or pause > deadline - loop.time():
                raise
            await asyncio.sleep(pause)
            continue
        await asyncio.sleep(min(left, jittered(longest)))
        longest = min(2 * longest, LONGEST_PAUSE)


def jittered(seconds: float) -> float:
    """Somewhere between half of it and all of it."""
    return seconds * random.uniform(0.5, 1)  # noqa: S311  # spreads callers, hides nothing
