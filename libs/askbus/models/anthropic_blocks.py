"""The content blocks of an Anthropic stream, put together from their pieces. Pure.

A block begins with `content_block_start`, grows by deltas that name its index, and ends. Relays leave out the start, the index or the
end, send a start twice, or send the input of a tool as an object in the start, in a delta, or as nothing at all.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from askbus.models.assembler import MOST_CHARACTERS, MOST_PARTS, TooManyParts
from askbus.models.clean import clean_text
from askbus.models.model import JsonObject, ToolCall

TEXT = "text"
THINKING = "thinking"
REDACTED = "redacted_thinking"
TOOL_USE = "tool_use"
_DELTAS = {"text_delta": TEXT, "thinking_delta": THINKING, "signature_delta": THINKING, "input_json_delta": TOOL_USE}
_KINDS = frozenset({TEXT, THINKING, REDACTED, TOOL_USE})
_ARGUMENT_KEYS = ("partial_json", "input", "arguments", "args")


@dataclass(slots=True)
class Block:
    """A block in the making. `pieces` are shown text, thought, or written input; `data` is what a redacted thought holds."""

    kind: str
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    given: str = ""  # the input that the start held already
    signature: str = ""
    data: str = ""

    @property
    def written(self) -> str:
        return "".join(self.pieces) or self.given


class Blocks:
    """The blocks of one answer, in their order."""

    def __init__(self) -> None:
        self.all: list[Block] = []
        self._at: dict[int, Block] = {}
        self._last: Block | None = None
        self._length = 0

    def start(self, event: Mapping[str, JsonValue]) -> tuple[Block, str]:
        """Take in a `content_block_start`; returns the block and the text that it begins with. Unknown kinds are passed over."""
        content = event.get("content_block")
        given: Mapping[str, JsonValue] = content if isinstance(content, dict) else {}
        block = self._known(given) or Block(_word(given.get("type")))
        self._add(block)
        self._last = block
        if (index := _index(event)) is not None:
            self._at[index] = block
        block.id = block.id or _word(given.get("id"))
        block.name = block.name or _word(given.get("name"))
        if block.kind == TOOL_USE:
            block.given = _input(given) or block.given
            self._count(block.given)
        block.signature += _word(given.get("signature"))
        block.data = block.data or _word(given.get("data"))
        if block.kind == THINKING:
            block.pieces.append(_word(given.get("thinking")))
        return block, _word(given.get("text")) if block.kind == TEXT else ""

    def delta(self, event: Mapping[str, JsonValue]) -> tuple[Block, str]:
        """Take in a `content_block_delta`; returns the block and the text that it adds."""
        content = event.get("delta")
        delta: Mapping[str, JsonValue] = content if isinstance(content, dict) else {}
        kind = _DELTAS.get(_word(delta.get("type")), "")
        block = self._grown(_index(event), kind)
        if kind == THINKING and block.kind == THINKING:
            block.pieces.append(_word(delta.get("thinking")))
            block.signature += _word(delta.get("signature"))
        elif kind == TOOL_USE and block.kind == TOOL_USE:
            self._write(block, delta)
        return block, _word(delta.get("text")) if kind == TEXT and block.kind == TEXT else ""

    def calls(self, *, truncated: bool) -> tuple[list[ToolCall], int]:
        """The calls in order, ids made unique, and the number of nameless ones, which nobody could run and were dropped."""
        taken: set[str] = set()
        calls: list[ToolCall] = []
        uses = [block for block in self.all if block.kind == TOOL_USE]
        for number, block in enumerate(uses, 1):
            if not block.name:
                continue
            call_id = clean_text(block.id) or f"call_{number}"
            while call_id in taken:
                call_id = f"{call_id}_{number}"
            taken.add(call_id)
            block.id = call_id
            written = clean_text(block.written)
            calls.append(ToolCall.read(id=call_id, name=clean_text(block.name), arguments_text=written, truncated=truncated))
        return calls, sum(1 for block in uses if not block.name)

    def thoughts(self) -> list[JsonObject] | None:
        """What goes back to its maker: the thoughts as they came, among the texts and calls around them. None without any that can.

        A thought without its signature, or one that could not be stored as it is, is left out whole: its maker refuses a changed one.
        """
        kept: list[JsonObject] = []
        for block in self.all:
            if block.kind == THINKING and block.signature:
                kept.append({"type": THINKING, "thinking": block.written, "signature": block.signature})
            elif block.kind == REDACTED and block.data:
                kept.append({"type": REDACTED, "data": block.data})
            elif block.kind == TEXT and block.written:
                kept.append({"type": TEXT, "text": block.written})
            elif block.kind == TOOL_USE and block.name:
                kept.append({"type": TOOL_USE, "id": block.id})
        thinks = [block for block in kept if block["type"] in {THINKING, REDACTED}]
        storable = all(clean_text(str(value)) == value for block in thinks for value in block.values())
        return kept if thinks and storable else None

    def _add(self, block: Block) -> None:
        """Raises TooManyParts."""
        if any(block is known for known in self.all):
            return
        if len(self.all) == MOST_PARTS:
            raise TooManyParts
        self.all.append(block)

    def _count(self, written: str) -> None:
        """Raises TooManyParts."""
        self._length += len(written)
        if self._length > MOST_CHARACTERS:
            raise TooManyParts

    def _known(self, given: Mapping[str, JsonValue]) -> Block | None:
        """The tool use that is started a second time."""
        call_id = _word(given.get("id"))
        same = [block for block in self.all if block.kind == given.get("type") == TOOL_USE and call_id and block.id == call_id]
        return same[-1] if same else None

    def _grown(self, index: int | None, kind: str) -> Block:
        """The block that a delta belongs to: that at its index, else the last of its kind; one that was never started opens here."""
        block = self._at.get(index) if index is not None else self._last
        if block is not None and block.kind not in _KINDS:
            return block  # of a kind that this version passes over, its pieces too
        if block is None or (kind and block.kind != kind):
            block = self._last if self._last is not None and self._last.kind == kind and index is None else Block(kind)
        self._add(block)
        if index is not None:
            self._at[index] = block
        self._last = block
        return block

    def _write(self, block: Block, delta: Mapping[str, JsonValue]) -> None:
        written = next((delta[key] for key in _ARGUMENT_KEYS if delta.get(key) is not None), "")
        self._count(written if isinstance(written, str) else "")
        if isinstance(written, str):
            block.pieces.append(written)
        else:
            block.pieces = [json.dumps(written)]


def _input(given: Mapping[str, JsonValue]) -> str:
    """The input that a start holds as text; an empty object says only that it is to come."""
    value = next((given[key] for key in ("input", "arguments", "args") if given.get(key)), None)
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _word(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _index(event: Mapping[str, JsonValue]) -> int | None:
    index = event.get("index")
    return index if isinstance(index, int) and not isinstance(index, bool) else None
