"""Streams that are told the same, and the sockets that they are written to."""

import asyncio
from dataclasses import dataclass

from askbus_gateway.sse.rules import Viewer
from askbus_gateway.sse.stream import Stream


@dataclass(frozen=True, eq=False, slots=True)
class Members:
    """A group as it was at one moment: its streams, and the socket of each. Ten thousand of them are walked by the second alone, since
    at that number looking at an object costs as much as the call that follows."""

    streams: tuple[Stream, ...]
    sockets: tuple[int, ...]


NO_SOCKET = -1
"""No descriptor of any file: a write to it fails, and goes through the transport."""


class Group:
    """Streams that are told the same. Whoever is in it is writable."""

    __slots__ = ("_members", "_sockets", "epoch", "viewer")

    def __init__(self, viewer: Viewer, epoch: str) -> None:
        self.viewer = viewer
        self.epoch = epoch
        self._sockets: dict[Stream, int] = {}
        self._members: Members | None = None

    def __len__(self) -> int:
        return len(self._sockets)

    @property
    def members(self) -> Members:
        """Those who are in it now; the same object until somebody joins or leaves."""
        if self._members is None:
            self._members = Members(tuple(self._sockets), tuple(self._sockets.values()))
        return self._members

    def add(self, stream: Stream, transport: asyncio.Transport) -> None:
        stream.group = self
        sock = transport.get_extra_info("socket")
        self._sockets[stream] = NO_SOCKET if sock is None else sock.fileno()
        self._members = None

    def remove(self, stream: Stream) -> None:
        stream.group = None
        del self._sockets[stream]
        self._members = None
