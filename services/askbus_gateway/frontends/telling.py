"""A turn told in a front end's vocabulary: what the views of all of them do alike, around encoders that differ."""

from abc import ABC, abstractmethod
from typing import ClassVar
from uuid import UUID

from askbus.actions.model import ActionDetail
from askbus.bus.signals import Piece
from askbus.turns.model import ERRORS, TurnDetail, TurnError
from askbus_gateway.frontends.conversation import Conversation
from askbus_gateway.frontends.transcript import Transcript
from askbus_gateway.sse.view import Done, Happening, Interrupted, Paused, PositionLost, State, Withdrawn


class Telling(ABC):
    """One response to one client. The steps up to `told` are known to it."""

    pauses = True
    interrupted: ClassVar[TurnError]
    """What is said when the stream ends before the turn does."""

    def __init__(self, conversation: Conversation, told: int) -> None:
        self.conversation = conversation
        self.transcript = Transcript(told)
        self._started = False
        self._cards: set[UUID] = set()

    @property
    def told(self) -> int:
        return self.transcript.told

    async def show(self, what: Happening) -> bytes:
        match what:
            case PositionLost():
                return b""
            case Interrupted():
                return self._start() + self._failed(self.interrupted)
            case Withdrawn():
                return self._start() + self._failed(ERRORS["access_ended"])
        begun = b"" if self._started else await self._begin()
        match what:
            case Piece():
                return begun + await self._piece(what)
            case State(turn):
                return begun + await self._state(turn)
            case Paused(turn):
                return begun + await self._paused(turn)
            case Done(turn):
                return begun + await self._done(turn)

    def _start(self) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._opening()

    async def _new_cards(self, turn: TurnDetail) -> bytes:
        new = tuple(action_id for action_id in turn.actions if action_id not in self._cards)
        self._cards.update(new)
        return b"".join(self._card(action) for action in await self.conversation.actions(new))

    @abstractmethod
    def _opening(self) -> bytes:
        """The first event of all."""

    @abstractmethod
    def _failed(self, error: TurnError) -> bytes:
        """The end in words."""

    @abstractmethod
    def _card(self, action: ActionDetail) -> bytes:
        """A proposed change."""

    @abstractmethod
    async def _begin(self) -> bytes:
        """The opening, and what the client is to be given before anything new."""

    @abstractmethod
    async def _piece(self, piece: Piece) -> bytes:
        """A piece of the stream."""

    @abstractmethod
    async def _state(self, turn: TurnDetail) -> bytes:
        """The turn moved."""

    @abstractmethod
    async def _paused(self, turn: TurnDetail) -> bytes:
        """The turn waits for a person."""

    @abstractmethod
    async def _done(self, turn: TurnDetail) -> bytes:
        """The turn is over."""
