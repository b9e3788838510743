"""How long a call may hold its client while people think: as long as such clients bear, and with a word now and then."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from askbus.access import holds
from askbus.oauth.reads import require_mcp
from askbus_gateway.http.waiting import Waiting
from askbus_gateway.mcp.tool import Call, Progress

T = TypeVar("T")

PATIENT = {"claude-code": False, "mcp-inspector": True}
"""Clients known to bear a call of four minutes, and whether only one that reports progress; by the name that they give themselves, or by
the first product of their User-Agent.

Claude Code: its `clientInfo` is `claude-code` (github.com/anthropics/claude-code, issue 43299) and its User-Agent `claude-code/<version>`;
calls over Streamable HTTP end near 352 s (issue 93143). The MCP inspector, 2.12 (its package): 60 s, counted anew at each report. Its 0.x,
by the name `inspector-client`, bears at most 60 s in all once it hears of progress (client/src/lib/constants.ts), and is none of them.
"""
PATIENT_HOLD = 240.0
"""Seconds for which those are held."""


class Holding:
    """Waits for calls. `usual`: seconds for which a client is held of which nothing is known; `every`: seconds between reports."""

    def __init__(self, waiting: Waiting, *, usual: float, every: float) -> None:
        self.waiting = waiting
        self.usual = usual
        self.every = every

    async def hold(self, call: Call, seconds: float, work: Callable[[float], Awaitable[T]]) -> T:
        """What `work` comes to, which is told how many seconds it may take; the client hears meanwhile that it goes on.

        Raises PermissionDenied where the workspace let agents in no more meanwhile: asked after the last look at what is shown."""
        left = await self._most(call, seconds)
        ticking = asyncio.ensure_future(self._report(call, left)) if left > self.every else None
        try:
            found = await work(left)
        finally:
            if ticking is not None:
                ticking.cancel()
        if left:
            await require_mcp(self.waiting.gate.pool, call.by.workspace_id)
        return found

    async def _most(self, call: Call, seconds: float) -> float:
        if seconds <= self.usual:
            return seconds
        set_by_owner = await holds.hold_of(self.waiting.gate.pool, call.by)
        return min(seconds, self._usual(call) if set_by_owner is None else set_by_owner)

    def _usual(self, call: Call) -> float:
        """Seconds for which this client is held where nobody said otherwise."""
        wants_progress = PATIENT.get(call.incoming.client.lower())
        if wants_progress is None or (wants_progress and call.incoming.progress_token is None):
            return self.usual
        return max(self.usual, PATIENT_HOLD)

    async def _report(self, call: Call, seconds: float) -> None:
        waited = self.every
        while waited < seconds:
            await asyncio.sleep(self.every)
            call.report(Progress(waited, "Waiting for a person.", total=seconds))
            waited += self.every
