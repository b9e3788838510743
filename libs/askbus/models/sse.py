"""Server-sent events, parsed as the bytes come (WHATWG HTML, section 9.2.6 "Interpreting an event stream"). Pure.

Lines end in LF, CRLF or CR, a network read may end anywhere, and a byte order mark may stand at the start. One leniency: the last
event counts although its blank line is missing, since servers that close in a hurry leave it out. The SDK's own decoder trips
over the mark and over broken UTF-8, and drops that last event.
"""

from typing import NamedTuple

_BOM = b"\xef\xbb\xbf"
LONGEST = 16 * 1024 * 1024
"""Bytes that one event may hold before the stream is given up."""


class ServerSentEvent(NamedTuple):
    """One event. `event` is "message" where the stream names none; `last_event_id` is the last id that the stream has set."""

    event: str
    data: str
    last_event_id: str


class EventTooLong(ValueError):
    """The stream goes on without ending its event."""


class EventStreamParser:
    """Feed it bytes and get the events that they complete. Broken UTF-8 becomes U+FFFD, as the standard says."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # of the line that is not yet whole
        self._after_cr = False  # an LF that comes next belongs to the CR before it
        self._at_start = True
        self._held = 0
        self._data: list[bytes] = []
        self._event = b""
        self._id = b""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        """The events that `data` completes. Raises EventTooLong."""
        if self._after_cr and data:
            self._after_cr = False
            if data[0] == 0x0A:
                data = data[1:]
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._held += len(data)
        if self._held > LONGEST:
            raise EventTooLong(f"an event of more than {LONGEST} bytes")
        self._pieces.append(data)
        if b"\n" not in data:
            return []
        lines = b"".join(self._pieces).split(b"\n")
        self._pieces = [lines.pop()]
        events: list[ServerSentEvent] = []
        for line in lines:
            if not line:
                self._dispatch(events)
            else:
                self._line(line)
        return events

    def close(self) -> list[ServerSentEvent]:
        """The stream has ended in good order: the event that was not yet ended by a blank line, if there is one."""
        line = b"".join(self._pieces)
        self._pieces = []
        events: list[ServerSentEvent] = []
        if line:
            self._line(line)
        self._dispatch(events)
        return events

    def _line(self, line: bytes) -> None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value
        elif field == b"id" and b"\0" not in value:
            self._id = value

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        """A block without `data` fires nothing."""
        self._at_start = False
        self._held = len(self._pieces[0]) if self._pieces else 0
        if self._data:
            name = self._event.decode(errors="replace") if self._event else "message"
            events.append(
                ServerSentEvent(name, b"\n".join(self._data).decode(errors="replace"), self._id.decode(errors="replace"))
            )
        self._data = []
        self._event = b""
