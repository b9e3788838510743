"""What stands in a written export, block by block: the same for Markdown and PDF. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import JsonValue

from askbus_gateway.export.transcript import Activity, Asked, Change, Exchange, Transcript, Words


class Kind(StrEnum):
    """How a block looks. Only ANSWER is a model's own Markdown; everything else is text, to be shown as it is."""

    TITLE = "title"
    FACTS = "facts"
    HEADING = "heading"
    SAID = "said"
    ANSWER = "answer"
    ITEM = "item"
    MARK = "mark"


@dataclass(frozen=True)
class Block:
    kind: Kind
    text: str


CUTS = {
    "stopped": "Stopped before its end.",
    "failed": "Broken off before its end.",
    "length": "Cut: the model's longest answer was reached.",
}
STATES = {
    "requested": "not begun",
    "started": "at work",
    "succeeded": "done",
    "asked": "done",
    "unknown": "begun; whether it took effect is not known",
}
ENDS = {
    "queued": "Not begun yet.",
    "running": "Still at work.",
    "waiting": "Waiting for an answer.",
    "stopped": "Stopped.",
    "superseded": "Ended by the next message.",
    "interrupted": "Interrupted by the next message.",
}
NO_SOURCE = "No source was found for:"
SENT_BACK = "The assistant was asked once more, because no source was found for:"
NO_TITLE = "A conversation"


def blocks(transcript: Transcript) -> Iterator[Block]:
    """The transcript from its title to its end. Times are in UTC."""
    yield Block(Kind.TITLE, transcript.title or NO_TITLE)
    yield Block(Kind.FACTS, f"{transcript.project} · {time(transcript.created_at)} to {time(transcript.updated_at)}")
    if transcript.dropped_turns:
        gone = "One earlier exchange is" if transcript.dropped_turns == 1 else f"{transcript.dropped_turns} earlier exchanges are"
        yield Block(Kind.MARK, f"{gone} not kept any more.")
        for change in transcript.earlier_changes:
            yield Block(Kind.ITEM, _change(change))
    for exchange in transcript.exchanges:
        yield from _exchange(exchange)


def time(at: datetime) -> str:
    """2026-03-02 14:05:09 UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _exchange(exchange: Exchange) -> Iterator[Block]:
    for words in exchange.messages:
        yield from _words(words)
    if exchange.error is not None:
        yield Block(Kind.MARK, f"No answer: {exchange.error.message}")
    elif end := ENDS.get(exchange.cancel_reason or exchange.state):
        yield Block(Kind.MARK, end)


def _words(words: Words) -> Iterator[Block]:
    user = words.role == "user"
    who = "You" if user else f"Assistant ({words.model})" if words.model else "Assistant"
    if not (words.text or words.activity or words.files):
        return
    yield Block(Kind.HEADING, f"{who} · {time(words.at)}")
    if words.text:
        yield Block(Kind.SAID if user else Kind.ANSWER, words.text)
    if words.cut is not None:
        yield Block(Kind.MARK, CUTS[words.cut])
    if words.ungrounded:
        numbers = ", ".join(dict.fromkeys(number.text for number in words.ungrounded))
        yield Block(Kind.MARK, f"{SENT_BACK if words.sent_back else NO_SOURCE} {numbers}.")
    for file in words.files:
        yield Block(Kind.ITEM, f"File: {file.name} ({file.media_type}, {file.size} bytes)")
    for activity in words.activity:
        yield from _activity(activity)


def _activity(activity: Activity) -> Iterator[Block]:
    yield Block(Kind.ITEM, f"{activity.label}: {STATES.get(activity.state, activity.state)}")
    if activity.question is not None:
        yield from _question(activity.question)
    if activity.action is not None:
        yield Block(Kind.ITEM, _change(activity.action))


def _question(asked: Asked) -> Iterator[Block]:
    yield Block(Kind.ITEM, f"Question: {asked.title}" if asked.title else "Question:")
    yield Block(Kind.SAID, asked.text)
    if asked.options:
        yield Block(Kind.ITEM, f"To choose from: {', '.join(asked.options)}")
    if asked.state == "answered":
        yield Block(Kind.ITEM, "Answer:")
        yield Block(Kind.SAID, _answer(asked.answer))
    else:
        yield Block(Kind.ITEM, f"The question is {asked.state}" + (f": {asked.reason}" if asked.reason else ""))


def _answer(answer: JsonValue) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        return ", ".join(_answer(each) for each in answer)
    return json.dumps(answer, ensure_ascii=False)


def _change(change: Change) -> str:
    decided = f" on {time(change.decided_at)}" if change.decided_at else ""
    summary = f" ({change.summary})" if change.summary else ""
    reason = f": {change.reason}" if change.reason else ""
    return f"Change: {change.headline}{summary}, {change.state}{decided}{reason}"
