"""Asking the owner of a state, patiently: it may be restarting, and the same command sent again gets the same success."""

import asyncio
from typing import TypeVar

from pydantic import BaseModel

from askbus.bus.commands import Commands
from askbus.bus.envelope import Command
from askbus.errors import TimedOut, Unavailable

R = TypeVar("R", bound=BaseModel)

PATIENCE = 20.0
LONGEST_REST = 2.0


async def ask_owner(commands: Commands, command: Command[R]) -> R:
    """The owner's reply. While it is away, or did not answer in time, it is asked again for `PATIENCE` seconds.

    Raises what the owner refuses with; Unavailable or TimedOut in the end.
    """
    clock = asyncio.get_running_loop().time
    until, rest = clock() + PATIENCE, 0.1
    while True:
        try:
            return await commands.ask(command)
        except (Unavailable, TimedOut):
            if clock() + rest > until:
                raise
        await asyncio.sleep(rest)
        rest = min(LONGEST_REST, 2 * rest)
