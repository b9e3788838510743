"""What `askbus up` shows: one live table on a terminal, plain lines of what changed anywhere else."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from askbus.stack.service import State
from askbus.stack.supervisor import Stack

EVERY = 1.0
"""Seconds between two looks at the services."""

COLOURS = {State.READY: "green", State.STARTING: "yellow", State.NOT_READY: "yellow", State.DOWN: "red", State.STOPPED: "dim"}


@dataclass(frozen=True)
class Row:
    """One process as it is shown."""

    name: str
    state: State
    pid: int | None
    restarts: int
    where: str


def rows(stack: Stack) -> Iterable[Row]:
    """The servers, then the services."""
    for name, server in reversed(stack.servers.items()):
        state = _state(server.running, stack.phase)
        yield Row(name, state, server.pid if server.running else None, 0, f"127.0.0.1:{server.port}")
    for service in stack.services.values():
        pid = None if service.state in {State.DOWN, State.STOPPED} else service.pid
        yield Row(service.name, service.state, pid, service.restarts, f"127.0.0.1:{service.port}")


def _state(running: bool, phase: str) -> State:
    """A server's: it is down only when it should be up."""
    if running:
        return State.READY
    if phase in {"stopping", "stopped"}:
        return State.STOPPED
    return State.DOWN if phase == "ready" else State.STARTING


class View:
    """Shows a stack for as long as `run` is awaited. `say` prints a line above the table."""

    def __init__(self, stack: Stack, console: Console) -> None:
        self._stack = stack
        self._console = console
        self._shown: dict[str, tuple[State, int]] = {}
        self._phase = ""

    def say(self, text: str) -> None:
        """Print a line that stays; it is not wrapped, so that links can be clicked and copied."""
        self._console.print(Text(text), soft_wrap=True)

    async def run(self) -> None:
        """Until cancelled."""
        if self._console.is_terminal:
            with Live(self._picture(), console=self._console, auto_refresh=False, transient=True) as live:
                while True:
                    live.update(self._picture(), refresh=True)
                    await self._look()
        while True:
            self._report()
            await self._look()

    async def _look(self) -> None:
        await asyncio.sleep(EVERY if self._stack.phase == "ready" else 0.1)
        if self._stack.phase == "ready":
            await asyncio.gather(*(service.refresh() for service in self._stack.services.values()))

    def _picture(self) -> Group:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for heading in ("process", "state", "pid", "restarts", "address"):
            table.add_column(heading)
        for row in rows(self._stack):
            state = Text(row.state, style=COLOURS[row.state])
            table.add_row(row.name, state, str(row.pid or ""), str(row.restarts or ""), row.where)
        return Group(
            table,
            Text(f"{self._stack.phase}; Ctrl-C stops everything; logs are in {self._stack.data.path / 'logs'}", style="dim"),
        )

    def _report(self) -> None:
        if self._stack.phase != self._phase:
            self._phase = self._stack.phase
            self.say(self._phase)
        for row in rows(self._stack):
            if self._shown.get(row.name) != (row.state, row.restarts):
                self._shown[row.name] = (row.state, row.restarts)
                self.say(
                    f"{row.name}: {row.state}"
                    + (f" (pid {row.pid})" if row.pid else "")
                    + (f", restarted {row.restarts} times" if row.restarts else "")
                )
