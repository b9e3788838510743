"""What the scripted model needs to know of a wire: how a request is read, and how a step of a script is said on it. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from askbus.testing.script import ChatMessage, Step


@dataclass(frozen=True)
class Answer:
    """An answer, ready to be sent: `opening`, the pieces of content, `ending`."""

    opening: bytes
    pieces: tuple[bytes, ...]
    ending: tuple[bytes, ...]


@dataclass(frozen=True)
class Asked:
    """What a request asks for."""

    messages: Sequence[ChatMessage]
    stream: bool
    usage: bool


@dataclass(frozen=True)
class Wire:
    """One provider's wire from the server's side. `path` is how its address ends."""

    path: str
    asked: Callable[[JsonValue], Asked]
    stream_of: Callable[[Step, int, bool], Answer]
    body_of: Callable[[Step, int], bytes]
    error: Callable[[int, str], bytes]


def slices(text: str, count: int) -> list[str]:
    """`text` in at most `count` pieces of nearly the same length."""
    cuts = [len(text) * at // count for at in range(count + 1)]
    return [text[start:end] for start, end in pairwise(cuts) if start < end]
