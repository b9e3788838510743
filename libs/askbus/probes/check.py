"""Whether a turn was what its probe wants. Pure; it looks at what was called, what came back and what was said."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from askbus.grounding.check import ungrounded
from askbus.grounding.known import Known
from askbus.probes.model import Step, WantedCall

MANNERS = re.compile(
    r"great question|happy to help|glad to help|hope (?:this|that) helps|feel free to|let me know if|as an? (?:ai|assistant|language model)"
    r"|your (?:friendly|personal|trusty) |i(?:'m| am) (?:your|an? \w* ?assistant|here to)|\b(?:certainly|absolutely|of course|sure)!"
    r"|my (?:team|colleagues)\b|\bwe(?:'ve| have) (?:just )?(?:shipped|deployed|released)\b|[\U0001f300-\U0001faff]",
    re.IGNORECASE,
)
"""A persona shows itself by its manners, by pictures, and by speaking as one of the team."""


@dataclass(frozen=True)
class MadeCall:
    """A tool call as it is recorded. `text` is what the model was given for it, `ok` whether that was a result."""

    name: str
    arguments: str
    ok: bool
    text: str


@dataclass(frozen=True)
class Seen:
    """A turn that is over, or waits for its user. `asked` is what it asks, with its options; `marked` are the numbers of
    the answer that are stored as having no source."""

    state: str
    error: str | None
    answer: str
    asked: tuple[str, ...]
    calls: tuple[MadeCall, ...]
    marked: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return "\n".join([self.answer, *self.asked])


def findings(step: Step, seen: Seen, words: Sequence[str], now: datetime) -> list[str]:
    """What is wrong with the turn, a sentence each; nothing where all is well. `words` is what the user has said and shown so far."""
    if seen.state not in {"completed", "waiting"}:
        return [f"the turn ended as {seen.state} ({seen.error})"]
    found = [*_calls(step, seen), *_words(step, seen)]
    if step.grounded:
        known = Known([text for call in seen.calls for text in (call.text, call.arguments)], [*words, str(now.year)])
        strangers = dict.fromkeys(number.text for number in ungrounded(seen.said, known))
        found += [f"says {number}, which no result holds" for number in strangers]
        found += [f"{number} was not marked" for number in strangers if number in seen.answer and number not in seen.marked]
    return found


def _calls(step: Step, seen: Seen) -> Iterator[str]:
    for wanted in step.must.calls:
        if not any(_fits(wanted, call) for call in seen.calls):
            having = f" with {json.dumps(wanted.has, ensure_ascii=False)}" if wanted.has else ""
            yield f"did not call {' or '.join(wanted.tools)}{having}"
    for name in step.must_not.calls:
        if any(call.name == name for call in seen.calls):
            yield f"called {name}"


def _words(step: Step, seen: Seen) -> Iterator[str]:
    said = seen.said.casefold()
    for wanted in step.must.says:
        choices = (wanted,) if isinstance(wanted, str) else wanted
        if not any(choice.casefold() in said for choice in choices):
            yield f"does not say {' or '.join(repr(choice) for choice in choices)}"
    for pattern in step.must_not.says:
        if match := re.search(pattern, seen.said, re.IGNORECASE | re.MULTILINE):
            yield f"says {match.group()!r}"
    if step.must.asks and not (seen.asked or "?" in seen.answer):
        yield "does not ask"
    if step.plain and (match := MANNERS.search(seen.said)):
        yield f"has manners: {match.group()!r}"


def _fits(wanted: WantedCall, call: MadeCall) -> bool:
    if call.name not in wanted.tools or not call.ok:
        return False
    try:
        arguments: JsonValue = json.loads(call.arguments or "{}")
    except ValueError:
        return False
    return has(arguments, wanted.has)


def has(given: JsonValue, wanted: JsonValue) -> bool:
    """Whether `wanted` is part of `given`. A lone thing counts as a list of one, as the tools take it; 1 and "1" are the same."""
    if wanted == "*":
        return given is not None
    if isinstance(wanted, dict):
        return isinstance(given, dict) and all(has(given.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        things = given if isinstance(given, list) else [given]
        return all(any(has(thing, want) for thing in things) for want in wanted)
    return str(given) == str(wanted)
