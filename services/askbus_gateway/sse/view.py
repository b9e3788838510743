"""What happens in a turn, in order, and how one vocabulary shows it: the seam between a turn's stream and those who watch it."""

from dataclasses import dataclass
from typing import Protocol

from askbus.bus.signals import Piece
from askbus.turns.model import TurnDetail


@dataclass(frozen=True)
class PositionLost:
    """The place from which the client wanted to go on is not stored any more: everything stored follows."""


@dataclass(frozen=True)
class State:
    """The turn as it stands: at the beginning of a stream, and whenever its state, its questions or its actions moved."""

    turn: TurnDetail


@dataclass(frozen=True)
class Paused:
    """The turn waits for a person, and all that was said until then has been told."""

    turn: TurnDetail


@dataclass(frozen=True)
class Done:
    """The turn is over: its stored answer replaces what was streamed."""

    turn: TurnDetail


@dataclass(frozen=True)
class Withdrawn:
    """Its watcher may not see the turn any more."""


@dataclass(frozen=True)
class Interrupted:
    """The stream ends before the turn does: it is old, the process drains, or something failed. It can be joined again."""


Happening = Piece | PositionLost | State | Paused | Done | Withdrawn | Interrupted


class View(Protocol):
    """One stream in one vocabulary. `show` is called with each happening in order and returns the bytes to send, if any.

    `pauses`: the stream ends when the turn waits for a person. `told`: the steps up to this one are shown from what is stored, so
    no piece of theirs is waited for. `headers` go before the first byte.
    """

    pauses: bool
    headers: list[tuple[bytes, bytes]]

    @property
    def told(self) -> int: ...

    async def show(self, what: Happening) -> bytes: ...
