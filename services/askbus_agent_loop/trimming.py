"""How much of a conversation is sent: the latest whole exchanges, by a count and by a size. Pure.

An exchange is a user's message with everything that was said and done about it, so a call is never sent without its result.
"""

from collections.abc import Sequence
from typing import TypeAlias

from pydantic_core import to_json

from askbus.models.model import AssistantMessage, Message, ToolResult, UserMessage
from askbus.models.quoting import quoted, unquoted

Exchange: TypeAlias = tuple[Message, ...]

OVERHEAD = 32
"""Bytes that a message costs beside its text: its role and what holds it on the wire, roughly."""
PART = 6_000
"""What a picture or a page costs, roughly, in bytes of text that cost a model as much."""
KEPT = 1_000
"""Bytes that stay of a result that is shortened."""


class PromptTooLong(Exception):
    """Not even the current exchange fits. `size` is what it comes to in bytes, `room` what there is."""

    def __init__(self, size: int, room: int) -> None:
        super().__init__(f"{size} bytes do not fit into {room}")
        self.size = size
        self.room = room


def trimmed(exchanges: Sequence[Exchange], *, most: int, room: int) -> list[Exchange]:
    """The latest exchanges that fit into `room` bytes, `most` of them at most. The last one is the current turn's.

    That one always stays: where it is too large by itself, its tool results are shortened with a mark, oldest first and no more than need
    be. Raises PromptTooLong where that does not help.
    """
    current = shortened(exchanges[-1], room)
    left = room - size_of(current)
    kept = [current]
    for exchange in reversed(exchanges[max(0, len(exchanges) - most) : -1]):
        left -= size_of(exchange)
        if left < 0:
            break
        kept.append(exchange)
    return kept[::-1]


def shortened(exchange: Exchange, room: int) -> Exchange:
    """The exchange with as many of its tool results shortened as it takes to fit, the oldest first. Raises PromptTooLong."""
    over = size_of(exchange) - room
    messages = list(exchange)
    for at, message in enumerate(messages):
        if over <= 0:
            break
        if isinstance(message, ToolResult):
            text = _beginning(message.text)
            over -= _bytes(message.text) - _bytes(text)
            messages[at] = message.model_copy(update={"text": text})
    if over > 0:
        raise PromptTooLong(room + over, room)
    return tuple(messages)


def size_of(messages: Sequence[Message]) -> int:
    """About how many bytes the messages come to on a wire."""
    return sum(_size(message) for message in messages)


def _size(message: Message) -> int:
    size = OVERHEAD + _bytes(message.text)
    if isinstance(message, AssistantMessage):
        size += sum(OVERHEAD + _bytes(call.name) + _bytes(call.arguments_text) for call in message.tool_calls)
        if message.provider_data is not None:
            size += len(to_json(message.provider_data.data))
    elif isinstance(message, UserMessage | ToolResult):
        size += PART * len(message.parts)
    return size


def _beginning(text: str) -> str:
    """The first `KEPT` bytes of a result, in a frame if it stood in one, and outside of the frame a mark; short ones as they are."""
    inner = unquoted(text)
    begun = inner.encode(errors="replace")[:KEPT].decode(errors="ignore")
    mark = f"[shortened: {_bytes(begun)} of {_bytes(inner)} bytes are here. Call again for less at once to see the rest.]"
    short = f"{quoted(begun) if inner is not text else begun}\n{mark}"
    return short if _bytes(short) < _bytes(text) else text


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))
