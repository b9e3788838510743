"""Tool calls of an OpenAI-compatible stream, put together from fragments. Pure.

The wire says: the first fragment of a call has index, id and name, and later ones repeat the index. Real endpoints leave the
index out, give every call the index 0, send a new id with each fragment, repeat the name, send the name late, or send the
arguments as an object. So a call's slot comes from the state of the stream, never from a fragment's place in its chunk.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from askbus.models.assembler import MOST_CHARACTERS, MOST_PARTS, TooManyParts
from askbus.models.clean import clean_json, clean_text
from askbus.models.model import JsonObject, ToolCall

_ARGUMENT_KEYS = ("arguments", "args", "input")


@dataclass(slots=True)
class _Slot:
    """A call in the making."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    extra: JsonObject | None = None

    @property
    def written(self) -> str:
        return "".join(self.pieces)

    @property
    def complete(self) -> bool:
        """Whether the arguments so far are a whole JSON object, so that nothing more can belong to them."""
        try:
            return isinstance(json.loads(self.written), dict)
        except (ValueError, RecursionError):
            return False


@dataclass(frozen=True, slots=True)
class _Fragment:
    """One entry of a delta's `tool_calls`; empty strings mean absent, on the wire too."""

    index: int | None
    id: str
    name: str
    arguments: str
    whole: bool  # the arguments came as an object, not as text
    extra: JsonObject | None


class CallSlots:
    """The calls of one stream."""

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._last: _Slot | None = None
        self._length = 0

    def feed(self, entries: JsonValue) -> None:
        """Take in a delta's `tool_calls`. Raises ValueError for an extra that cannot be stored, and TooManyParts."""
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict):
                self._merge(_fragment(entry))

    def calls(self, *, truncated: bool) -> tuple[list[ToolCall], int]:
        """The calls in order, ids made unique, and the number of nameless ones, which nobody could run and were dropped."""
        named = [slot for slot in self._slots if slot.name]
        nameless = sum(1 for slot in self._slots if not slot.name and slot.pieces)
        taken: set[str] = set()
        calls: list[ToolCall] = []
        for number, slot in enumerate(named, 1):
            call_id = slot.id or f"call_{number}"
            while call_id in taken:
                call_id = f"{call_id}_{number}"
            taken.add(call_id)
            written = clean_text(slot.written)
            call = ToolCall.read(id=call_id, name=slot.name, arguments_text=written, truncated=truncated, extra=slot.extra)
            calls.append(call)
        return calls, nameless

    def _merge(self, fragment: _Fragment) -> None:
        self._length += len(fragment.arguments)
        if self._length > MOST_CHARACTERS:
            raise TooManyParts
        slot = self._find(fragment)
        if slot is None:
            if not (fragment.id or fragment.name or fragment.arguments):
                return  # a signature on its own is no call
            if len(self._slots) == MOST_PARTS:
                raise TooManyParts
            slot = _Slot(fragment.index)
            self._slots.append(slot)
        self._last = slot
        slot.id = slot.id or fragment.id
        if fragment.name != slot.name:
            slot.name += fragment.name
        if fragment.whole:
            slot.pieces = [fragment.arguments]
        elif fragment.arguments:
            slot.pieces.append(fragment.arguments)
        if fragment.extra is not None:
            slot.extra = {**(slot.extra or {}), **fragment.extra}

    def _find(self, fragment: _Fragment) -> _Slot | None:
        """The slot that the fragment continues, or None if it opens one."""
        if not self._slots:
            return None
        slot = self._candidate(fragment)
        return None if slot is None or _opens_another(fragment, slot) else slot

    def _candidate(self, fragment: _Fragment) -> _Slot | None:
        known = [slot for slot in self._slots if fragment.id and slot.id == fragment.id]
        if fragment.index is None:
            return known[-1] if known else self._last
        at_index = [slot for slot in self._slots if slot.index == fragment.index]
        for slot in known:
            if slot.index in {fragment.index, None}:
                return slot
        if at_index:
            return at_index[-1]
        if not fragment.name and self._last is not None and self._last.index is None:
            self._last.index = fragment.index  # the call began without an index and goes on with one
            return self._last
        return None


def _opens_another(fragment: _Fragment, slot: _Slot) -> bool:
    """Whether a fragment that points at `slot` is really the next call's first: only one with a name can be.

    A new id with a name opens a call, unless arguments have begun and are not whole: then an endpoint repeats the name and makes
    up ids. Without an id another name opens one, and the same name does once the arguments are whole. With the same id the name
    is only repeated.
    """
    if not fragment.name or not slot.name:
        return False
    if fragment.id and slot.id:
        if fragment.id == slot.id:
            return fragment.name != slot.name and slot.complete
        unfinished = bool(slot.pieces) and not slot.complete
        return not (unfinished and fragment.name == slot.name)
    if fragment.name == slot.name:
        return slot.complete and bool(fragment.arguments)
    return fragment.index is None or bool(slot.pieces)


def _fragment(entry: Mapping[str, JsonValue]) -> _Fragment:
    function = entry.get("function")
    inner: Mapping[str, JsonValue] = function if isinstance(function, dict) else entry
    index, call_id, name = entry.get("index"), entry.get("id"), inner.get("name")
    arguments = next((inner[key] for key in _ARGUMENT_KEYS if inner.get(key) is not None), "")
    whole = not isinstance(arguments, str)
    extra = entry.get("extra_content")
    cleaned = clean_json(extra) if isinstance(extra, dict) else None
    return _Fragment(
        index=index if isinstance(index, int) else None,
        id=clean_text(call_id) if isinstance(call_id, str) else "",
        name=clean_text(name) if isinstance(name, str) else "",
        arguments=json.dumps(arguments) if not isinstance(arguments, str) else arguments,
        whole=whole,
        extra=cleaned if isinstance(cleaned, dict) else None,
    )
