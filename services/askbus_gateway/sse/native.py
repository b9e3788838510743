"""askbus's own vocabulary of a turn's stream: the worker's pieces with their ids, and the turn's states by ids."""

import json

from askbus.bus.signals import Piece
from askbus.turns.model import TurnDetail
from askbus_gateway.sse.response import HEADERS
from askbus_gateway.sse.stream import frame
from askbus_gateway.sse.view import Done, Happening, Interrupted, Paused, PositionLost, State, Withdrawn


class NativeView:
    """`step`, `delta`, `calls`, `end`, `cut` and `reset` from the worker; `turn` for its states; `done` with the stored answer."""

    pauses = False
    told = 0
    headers = HEADERS

    async def show(self, what: Happening) -> bytes:
        match what:
            case Piece():
                data = json.loads(what.data)
                return frame(str(data.pop("type")), data, what.id)
            case State(turn):
                return _state(turn)
            case Done(turn):
                return frame("done", turn.model_dump(mode="json"))
            case PositionLost():
                return frame("reset", {"reason": "position"})
            case Withdrawn():
                return frame("end", {"reason": "ended"})
            case Paused() | Interrupted():  # the client comes back with its last id
                return b""


def _state(turn: TurnDetail) -> bytes:
    """The turn's state by ids; without an id of its own, since it is read anew at each connection."""
    return frame("turn", turn.model_dump(mode="json", include={"id", "state", "questions", "actions", "error"}))
