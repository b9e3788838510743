"""What the client completed in an assistant's message: its tool parts, of which the stored rows decide what they mean. Pure."""

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from askbus.errors import InvalidInput
from askbus_gateway.aisdk.encoder import ASK
from askbus_gateway.frontends.cards import approved_action
from askbus_gateway.frontends.conversation import ToldCall
from askbus_gateway.frontends.decisions import Answer, Verdict


def decisions(message: dict[str, JsonValue], calls: Sequence[ToldCall]) -> tuple[list[Answer], list[Verdict]]:
    """The answers and approvals in it. An output counts where it belongs to a call that asked something; a change is approved by `approved`
    being true and by nothing else. Raises InvalidInput for an approval that names no change."""
    asked = {str(call.id): call.question_id for call in calls if call.name == ASK and call.question_id is not None}
    answers: list[Answer] = []
    verdicts: list[Verdict] = []
    for part in _tool_parts(message):
        question_id = asked.get(str(part.get("toolCallId")))
        match part:
            case {"state": "output-available", "output": output} if question_id is not None:
                answers.append(Answer(question_id, given=True, value=output))
            case {"state": "output-error"} if question_id is not None:
                answers.append(Answer(question_id, given=False, value=part.get("errorText")))
            case {"state": "approval-responded", "approval": {"id": str(name), **approval}}:
                if approved_action(name) is None:
                    raise InvalidInput("An approval names no pending change.", {"approvalId": name[:200]})
                reason = approval.get("reason")
                verdicts.append(Verdict(name, approval.get("approved") is True, reason if isinstance(reason, str) else None))
            case _:
                pass
    return answers, verdicts


def _tool_parts(message: dict[str, JsonValue]) -> Iterator[dict[str, JsonValue]]:
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and str(part.get("type")).startswith(("tool-", "dynamic-tool")):
            yield part
