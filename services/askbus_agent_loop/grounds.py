"""What a turn's answer may take its numbers from: what the model was given, and nothing that a model wrote (R8). Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from pydantic_core import to_json

from askbus.actions.notes import ActionNote
from askbus.grounding.known import Known
from askbus.tools.catalogue import PROPOSE_CHANGES
from askbus_agent_loop.files import Files
from askbus_agent_loop.view import Call, Said, TurnView

NOTED = {"headline", "reason", "changes", "problems"}


def known_of(turn: TurnView, notes: Sequence[ActionNote], files: Files, now: datetime) -> tuple[Known, ...]:
    """What is known in this turn, and what was in the exchanges before it that the model is sent too.

    What a call was asked counts beside what it returned, so that a limit or a date that was filtered by may be said; but for what is
    proposed, which is the model's own.
    """
    own = [said for said in turn.messages if said.turn_id in {turn.id, turn.message_of}]
    earlier = [said for said in turn.messages if said.turn_id not in {turn.id, turn.message_of}]
    beside = [note.model_dump_json(include=NOTED, exclude_none=True) for note in notes if note.turn_id != turn.id]
    shown = [f"{item.label} {item.text}" for item in turn.context]
    told = [text for text in (turn.workspace_instructions, turn.instructions) if text]
    years = [str(now.year + offset) for offset in (-1, 0, 1)]
    return (
        Known([*_results(own), *beside], [*_words(own), *shown, *told, *_files(own, files), *years]),
        Known(_results(earlier), [*_words(earlier), *_files(earlier, files)]),
    )


def _results(messages: Iterable[Said]) -> list[str]:
    return [text for said in messages for call in said.calls for text in _texts(call)]


def _texts(call: Call) -> list[str]:
    if call.result is None:
        return []
    asked = call.result.ok and call.name != PROPOSE_CHANGES.name
    return [call.result.text(), *([call.arguments] if asked else [])]


def _words(messages: Iterable[Said]) -> list[str]:
    """What the user wrote, and answered when they were asked."""
    messages = list(messages)
    answers = [call.question for said in messages for call in said.calls if call.question is not None]
    return [
        *(said.text for said in messages if said.role == "user"),
        *(to_json([answer.get("answer"), answer.get("reason")]).decode() for answer in answers),
    ]


def _files(messages: Iterable[Said], files: Files) -> list[str]:
    """What is told of files that are not sent themselves."""
    found = [files.by_id[file_id] for said in messages for file_id in said.attachments if file_id in files.by_id]
    return [f"{file.name} {file.size} {file.pages or ''} {file.excerpt or ''}" for file in found]
