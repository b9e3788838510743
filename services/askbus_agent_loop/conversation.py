"""What was said in a thread, as neutral messages, one group for each exchange. Pure.

What others wrote stands in frames that it cannot close: results of tools, what the record says of changes, what a front end hands in.
"""

import json
from collections.abc import Mapping, Sequence
from uuid import UUID

from pydantic import JsonValue

from askbus.actions.notes import ActionNote
from askbus.models.model import AssistantMessage, Message, ProviderData, ToolCall, ToolResult, UserMessage
from askbus.models.quoting import NOTE, quoted
from askbus.turns.model import Context
from askbus_agent_loop.files import NO_FILES, Files
from askbus_agent_loop.trimming import Exchange
from askbus_agent_loop.view import Call, Said, TurnView

RECORD = "What the record says of changes proposed in this conversation (JSON):\n"
BESIDE = "What the front end shows beside this conversation, or remembers (JSON):\n"
NUDGE = NOTE + (
    "Your message gave no answer and called no tool, so nothing happened. Answer the request now, or call the tools that you need."
)

UNGROUNDED = NOTE + (
    "Your message has numbers that stand in no result that you were given and not in the user's words: {numbers}. It was not given to the "
    "user. Write the whole answer anew: read such a figure with a tool, or leave it out and say that it is not available."
)


def exchanges(turn: TurnView, notes: Sequence[ActionNote], files: Files = NO_FILES) -> list[Exchange]:
    """The thread up to this turn, whose exchange is the last one.

    What became of proposed actions stands where it happened: before the user message that came after it, and what happened during this
    turn at the end.
    """
    groups: list[list[Message]] = []
    placed = _placed(turn.messages, notes)
    for said in turn.messages:
        if said.role == "user" or not groups:
            groups.append([])
        groups[-1] += _messages(said, turn, placed, files)
    if not groups:
        groups.append([])
    if latest := placed.get(None):
        groups[-1].append(UserMessage(text=NOTE + _record(latest)))
    return [tuple(group) for group in groups]


def _messages(said: Said, turn: TurnView, placed: Mapping[UUID | None, Sequence[ActionNote]], files: Files) -> list[Message]:
    if said.role == "user":
        own = said.turn_id == turn.message_of
        return [_user(said, placed.get(said.turn_id, ()), turn.context if own else (), files)]
    spoken = AssistantMessage(
        text=said.text,
        tool_calls=tuple(_call(call) for call in said.calls),
        provider_data=ProviderData.read(said.provider_data),
        cut=said.cut,
    )
    results = [_result(call, over=said.turn_id != turn.id) for call in said.calls]
    return [spoken, *results, *([UserMessage(text=_nudge(said))] if said.nudged else [])]


def _nudge(said: Said) -> str:
    """Why the model is asked once more."""
    return UNGROUNDED.format(numbers=json.dumps(said.ungrounded, ensure_ascii=False)) if said.ungrounded else NUDGE


def _user(said: Said, notes: Sequence[ActionNote], context: Sequence[Context], files: Files) -> UserMessage:
    """The user's words, behind what belongs to them and they did not write, with the files that are sent."""
    beside = [_record(notes)] if notes else []
    if context:
        beside.append(BESIDE + quoted("\n".join(item.model_dump_json() for item in context)))
    if announced := files.announced(said.attachments):
        beside.append(announced)
    text = "\n\n".join([*beside, f"The user's message:\n{said.text}"]) if beside else said.text
    return UserMessage(text=text, parts=files.sent_with(said.attachments))


def _placed(messages: Sequence[Said], notes: Sequence[ActionNote]) -> dict[UUID | None, list[ActionNote]]:
    """The notes by the turn whose message is the first one after what they tell; None for what came after all of them."""
    users = [said for said in messages if said.role == "user"]
    placed: dict[UUID | None, list[ActionNote]] = {}
    for note in notes:
        moved = note.settled_at or note.proposed_at
        after = next((said.turn_id for said in users if said.at >= moved), None)
        placed.setdefault(after, []).append(note)
    return placed


def _record(notes: Sequence[ActionNote]) -> str:
    fields = {"id", "state", "headline", "reason", "changes", "problems"}
    return RECORD + quoted("\n".join(note.model_dump_json(include=fields, exclude_none=True) for note in notes))


def _call(call: Call) -> ToolCall:
    return ToolCall.read(id=call.provider_id, name=call.name, arguments_text=call.arguments, extra=call.extra)


def _result(call: Call, *, over: bool) -> ToolResult:
    text, error = _outcome(call, over=over)
    return ToolResult(call_id=call.provider_id, name=call.name, text=text, error=error)


def _outcome(call: Call, *, over: bool) -> tuple[str, bool]:
    """What a call came to, in words for the model; every call has an outcome, whatever ended its turn."""
    if call.refusal is not None:
        return call.refusal, True
    if call.run == "asked" and call.question is not None:
        return quoted(_answer(call.question)), False
    if call.result is not None:
        return quoted(call.result.text()), not call.result.ok
    return ("Not run: the request was ended before." if over else "Not run yet."), True


def _answer(question: dict[str, JsonValue]) -> str:
    state = question["state"]
    said: dict[str, JsonValue] = {"outcome": state}
    if state == "answered":
        said["answer"] = question["answer"]
    if question.get("reason"):
        said["reason"] = question["reason"]
    if state == "superseded":
        said["note"] = "The user did not answer and wrote something else instead."
    return json.dumps(said, ensure_ascii=False)
