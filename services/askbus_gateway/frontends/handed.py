"""What a front end hands in beside a message: context, memories and state of any shape, instructions, and the message itself. Pure.

All of it is the client's word. Context and memories reach the model as quoted texts; of the conversation that a client sends along, only
the last message counts, and only where a user said it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic import JsonValue
from pydantic_core import to_json

from askbus.errors import InvalidInput
from askbus.turns.model import MOST_CONTEXT, Context

LONGEST_TEXT = 8_000
LONGEST_LABEL = 200
LABELS = ("label", "description", "name", "title", "key")
TEXTS = ("text", "value", "content", "memory")
FILES = ("image", "document", "file", "audio", "video", "binary")
SYSTEM = ("system", "developer")
"""No sets: what is looked up in them is of any shape, and may have no hash."""


@dataclass(frozen=True)
class NewMessage:
    """What the user said just now. `id` is the front end's own: sent again it finds the first turn."""

    id: str | None
    text: str
    attachments: tuple[UUID, ...]


def contexts(**handed: JsonValue) -> tuple[Context, ...]:
    """Each thing handed in as a labelled text, in order; what is longer is cut with a mark, and what is more than fits is counted."""
    every = [one for name, value in handed.items() for one in _each(name.replace("_", " ").capitalize(), value)]
    if len(every) <= MOST_CONTEXT:
        return tuple(every)
    left = len(every) - MOST_CONTEXT + 1
    return (*every[: MOST_CONTEXT - 1], Context(label="Left out", text=f"{left} more entries were handed in and are not here."))


def _each(name: str, value: JsonValue) -> Sequence[Context]:
    if value is None or value in ({}, [], ""):
        return []
    return [_one(name, each) for each in value if each is not None] if isinstance(value, list) else [_one(name, value)]


def _one(name: str, value: JsonValue) -> Context:
    label, text = name, value
    if isinstance(value, dict):
        label = next((each for key in LABELS if isinstance(each := value.get(key), str) and each.strip()), name)
        texts = [value[key] for key in TEXTS if key in value]
        known = len(value) - sum(key in value for key in (*LABELS, *TEXTS, "id", "type")) == 0
        text = texts[0] if len(texts) == 1 and known else value
    return Context(
        label=_cut(label.strip(), LONGEST_LABEL),
        text=_cut(text if isinstance(text, str) else to_json(text).decode(), LONGEST_TEXT),
    )


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    mark = f"… [cut: {len(text)} characters]"
    return text[: most - len(mark)] + mark


def instructions(given: JsonValue, messages: Sequence[JsonValue]) -> str | None:
    """What the front end wants the model told: its own field, and its system and developer messages. None: nothing."""
    system = (each for each in messages if isinstance(each, dict) and each.get("role") in SYSTEM)
    parts = [*([given] if isinstance(given, str) else []), *(_text(message)[0] for message in system)]
    return "\n\n".join(part.strip() for part in parts if part.strip()) or None


def new_message(messages: Sequence[JsonValue]) -> NewMessage | None:
    """What the user said just now, if the conversation ends with it. Raises InvalidInput where it cannot be taken as it is."""
    last = messages[-1] if messages else None
    if not isinstance(last, dict) or last.get("role") != "user":
        return None
    text, attachments = _text(last)
    name = last.get("id")
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= LONGEST_LABEL):
        raise InvalidInput("A message's id is a text of 1 to 200 characters.", {"field": "messages.id"})
    return NewMessage(name, text, attachments)


def _text(message: dict[str, JsonValue]) -> tuple[str, tuple[UUID, ...]]:
    """The message's words, and the files that go with it."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return content, ()
    texts: list[str] = []
    files: list[UUID] = []
    for part in content if isinstance(content, list) else []:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case dict() if part.get("type") in FILES:
                files.append(_file(part))
            case _:
                pass
    return "\n".join(texts), tuple(files)


def _file(part: dict[str, JsonValue]) -> UUID:
    """The attachment that a part names: AG-UI's file source, or the AI SDK's provider reference. Raises InvalidInput for any other."""
    match part:
        case {"source": {"type": "file", "provider": "askbus", "value": str(name)}} | {
            "providerReference": {"askbus": str(name)}
        }:
            try:
                return UUID(name)
            except ValueError:
                pass
    raise InvalidInput(
        "Store the file with POST /v1/attachments first and send its id: as source {type: file, provider: askbus, value: id} in AG-UI, "
        "or as providerReference {askbus: id} in the AI SDK."
    )
