"""What the scripted model says: lines chosen by what the user said, with values taken from the tools' results. Pure.

A script is a JSON list of entries. The first entry whose `when` (a substring, case ignored) or `matching` (a regular expression)
fits the last user message speaks; an entry with neither fits everything. Its step is the number of assistant messages that follow
that user message; past the end, the last step is repeated.

    [{"when": "largest invoices",
      "steps": [{"tool_calls": [{"name": "query_records", "arguments": {"collection": "invoices"}}]},
                {"text": "Together they come to {{results[0].total}}.", "chunks": 5}]}]

`{{path}}` reaches into `results` (the tools' results since the user spoke, oldest first, JSON where they are), `match` (the
groups of `matching`; 0 is all of it) and `said` (the user's words): `{{results[-1].rows[0].id}}`. A string that is one `{{path}}`
becomes the value itself.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from askbus.models.quoting import NOTE, unquoted

_PLACE = re.compile(r"\{\{\s*(?P<root>results|match|said)(?P<path>(?:\[-?\d+\]|\.[A-Za-z_][\w-]*)*)\s*\}\}")
_MOVE = re.compile(r"\[(?P<at>-?\d+)\]|\.(?P<key>[A-Za-z_][\w-]*)")


class ScriptError(Exception):
    """The script cannot go on; the text says where and why, for whoever wrote it."""


class ScriptModel(BaseModel):
    """Base: a misspelt word in a script is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedCall(ScriptModel):
    """A tool call. `arguments` given as text is sent as it stands, valid or not."""

    name: str
    arguments: dict[str, JsonValue] | str = {}
    id: str | None = None


class Step(ScriptModel):
    """One answer of the model, and what shall go wrong with it. A piece is a bit of text or a fragment of a call."""

    text: str = ""
    chunks: int | None = Field(default=None, ge=1, description="In how many pieces the text comes; none: one for each word.")
    tool_calls: list[ScriptedCall] = []
    thinking: str = Field(default="", description="What the model thinks first, apart from its text.")
    finish: str | None = Field(default=None, description="The finish_reason, where it shall not be the right one.")

    delay_ms: float = Field(default=0, ge=0, description="Pause before each piece.")
    hold: str | None = Field(default=None, description="Wait at this name, places filled in, until it is released.")
    hold_after: int = Field(default=0, ge=0, description="Hold after so many pieces.")
    hang: int | None = Field(default=None, ge=0, description="Fall silent for good after so many pieces.")
    cut: int | None = Field(default=None, ge=0, description="Drop the connection after so many pieces.")
    error_status: int | None = Field(default=None, ge=400, le=599, description="Refuse with this HTTP status.")
    error_message: str = "the script says so"
    retry_after: float | None = Field(default=None, ge=0, description="Retry-After of such a refusal, in seconds.")
    times: int | None = Field(
        default=None, ge=1, description="What goes wrong does so only the first times that this step is asked for."
    )

    def without_faults(self) -> Self:
        """The same answer with nothing going wrong."""
        return self.model_copy(update={"hold": None, "hang": None, "cut": None, "error_status": None})


class Entry(ScriptModel):
    """What is said to one kind of user message."""

    when: str | None = None
    matching: str | None = None
    steps: list[Step] = Field(min_length=1)

    def fits(self, said: str) -> list[str] | None:
        """The groups of the match, the whole first; None if the entry is not meant for these words."""
        if self.when is not None and self.when.casefold() not in said.casefold():
            return None
        if self.matching is None:
            return [said]
        found = re.search(self.matching, said, re.IGNORECASE)
        return [found.group(), *(group or "" for group in found.groups())] if found else None


@dataclass(frozen=True)
class Cue:
    """The step that answers a request, its places filled in. `key` is the same for each request of the same step."""

    key: tuple[int, int]
    step: Step


class ChatMessage(BaseModel):
    """Of a chat message, what a script looks at."""

    role: str
    content: str | list[dict[str, JsonValue]] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


_ENTRIES = TypeAdapter(list[Entry])


class Script:
    """The entries, in the order in which they are tried."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = tuple(entries)

    @classmethod
    def load(cls, *paths: Path) -> Self:
        """The entries of one or more files, one after the other. Raises pydantic's ValidationError."""
        return cls([entry for path in paths for entry in cls.parse(path.read_text()).entries])

    @classmethod
    def parse(cls, text: str) -> Self:
        """The entries of a script's text. Raises pydantic's ValidationError."""
        return cls(_ENTRIES.validate_json(text))

    def cue(self, messages: Sequence[ChatMessage]) -> Cue:
        """What to say to this history. Raises ScriptError if a place leads nowhere."""
        at = max(
            (at for at, message in enumerate(messages) if message.role == "user" and not message.text.startswith(NOTE)),
            default=-1,
        )
        said = messages[at].text if at >= 0 else ""
        since = messages[at + 1 :]
        for number, entry in enumerate(self.entries):
            groups = entry.fits(said)
            if groups is None:
                continue
            index = min(sum(message.role == "assistant" for message in since), len(entry.steps) - 1)
            results = [_result(message.text) for message in since if message.role == "tool"]
            step = entry.steps[index]
            return Cue((number, index), _fill_step(step, {"results": results, "match": [*groups], "said": said}))
        known = ", ".join(f"“{entry.when or entry.matching}”" for entry in self.entries)
        return Cue((-1, 0), Step(text=f"This is a script, not a model, and it has no line for that. It knows: {known}."))


class _Number(float):
    """A number that is quoted as the tool wrote it: 1234.50 stays 1234.50."""

    written: str

    def __new__(cls, written: str) -> Self:
        number = super().__new__(cls, written)
        number.written = written
        return number


def _result(text: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(unquoted(text), parse_float=_Number)
    except ValueError:
        return unquoted(text)
    return value


def _fill_step(step: Step, roots: Mapping[str, JsonValue]) -> Step:
    if "{{" not in step.text and "{{" not in (step.hold or "") and not step.tool_calls:
        return step
    calls = [call.model_copy(update={"arguments": _fill(call.arguments, roots)}) for call in step.tool_calls]
    hold = None if step.hold is None else _say(step.hold, roots)
    return step.model_copy(update={"text": _say(step.text, roots), "tool_calls": calls, "hold": hold})


def _fill(value: JsonValue, roots: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _fill(item, roots) for key, item in value.items()}
    if isinstance(value, list):
        return [_fill(item, roots) for item in value]
    if not isinstance(value, str):
        return value
    whole = _PLACE.fullmatch(value)
    return _look_up(whole, roots) if whole else _say(value, roots)


def _say(text: str, roots: Mapping[str, JsonValue]) -> str:
    return _PLACE.sub(lambda place: _written(_look_up(place, roots)), text)


def _look_up(place: re.Match[str], roots: Mapping[str, JsonValue]) -> JsonValue:
    value = roots[place["root"]]
    for move in _MOVE.finditer(place["path"]):
        try:
            value = value[int(move["at"])] if move["at"] else value[move["key"]]  # type: ignore[index]  # that is the question
        except (IndexError, KeyError, TypeError):
            raise ScriptError(f"{place.group()} leads nowhere at {move.group()}: there is {json.dumps(value)[:300]}") from None
    return value


def _written(value: JsonValue) -> str:
    if isinstance(value, _Number):
        return value.written
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
