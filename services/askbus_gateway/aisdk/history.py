"""A conversation as the messages that `useChat` begins with after a reload: the same parts as were streamed. Pure."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from pydantic import JsonValue

from askbus.actions.model import ActionDetail, ActionState
from askbus.questions.model import QuestionDetail
from askbus_gateway.aisdk.encoder import ASK, CONFIRM, asked_of, confirm_id, failure_of, metadata, outcome_of
from askbus_gateway.frontends.cards import approval_id, card
from askbus_gateway.frontends.conversation import ToldCall, ToldMessage

Part = dict[str, JsonValue]


def ui_messages(
    told: Sequence[ToldMessage],
    questions: Mapping[UUID, QuestionDetail],
    actions: Mapping[UUID, ActionDetail],
    *,
    by_person: bool,
) -> list[dict[str, JsonValue]]:
    """A user's message by its id, and one assistant's message a turn. `questions` are those that are open, `actions` those to be shown;
    approval is asked of people alone."""
    shown: list[dict[str, JsonValue]] = []
    for turn_id in dict.fromkeys(message.turn_id for message in told):
        turn = [message for message in told if message.turn_id == turn_id]
        shown += [
            {"id": message.id, "role": "user", "parts": [{"type": "text", "text": message.text}]}
            for message in turn
            if message.step is None
        ]
        steps = [part for message in turn if message.step is not None for part in _step(message, questions)]
        if steps:
            ids = [call.action_id for message in turn for call in message.calls if call.action_id is not None]
            cards = [actions[action_id] for action_id in ids if action_id in actions]
            parts: list[JsonValue] = [*steps, *_changes(cards, by_person=by_person)]
            last = max((message for message in turn if message.step is not None), key=lambda message: message.step or 0)
            beside = {"metadata": metadata(last.ungrounded)} if last.ungrounded else {}
            shown.append({"id": str(turn_id), "role": "assistant", "parts": parts, **beside})
    return shown


def _step(message: ToldMessage, questions: Mapping[UUID, QuestionDetail]) -> list[Part]:
    text: list[Part] = [{"type": "text", "text": message.text, "state": "done"}] if message.text else []
    return [{"type": "step-start"}, *text, *(_call(call, questions) for call in message.calls)]


def _call(call: ToldCall, questions: Mapping[UUID, QuestionDetail]) -> Part:
    part: Part = {"type": f"tool-{call.name}", "toolCallId": str(call.id), "state": "input-available", "input": {}}
    if call.name != ASK:
        part |= {"providerExecuted": True, "title": call.label}
    elif call.question_id is not None and call.question_id in questions:
        part["input"] = asked_of(call, questions[call.question_id])
    if not call.over:
        return part
    if (failure := failure_of(call)) is not None:
        return part | {"state": "output-error", "errorText": failure}
    return part | {"state": "output-available", "output": outcome_of(call)}


def _changes(actions: Sequence[ActionDetail], *, by_person: bool) -> list[Part]:
    cards: list[Part] = [{"type": "data-action", "id": str(action.id), "data": card(action)} for action in actions]
    pending = [action for action in actions if action.state is ActionState.PENDING] if by_person else []
    asks: list[Part] = [
        {
            "type": f"tool-{CONFIRM}",
            "toolCallId": confirm_id(action),
            "state": "approval-requested",
            "input": card(action),
            "approval": {"id": approval_id(action)},
        }
        for action in pending
    ]
    begun: list[Part] = [{"type": "step-start"}] if asks else []
    return [*cards, *begun, *asks]
