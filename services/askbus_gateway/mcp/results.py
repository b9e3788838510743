"""What question tools and `propose_changes` answer with: the questions and actions as the REST API shows them, without what is empty, each
with the address where a person deals with it."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, JsonValue

from askbus.access.model import Principal
from askbus.actions.model import Action, ActionState
from askbus.questions.model import Question
from askbus_gateway.mcp.protocol import Object
from askbus_gateway.mcp.shapes import Schema
from askbus_gateway.mcp.tool import Reply

AGAIN = 30
"""Seconds after which to ask again for what is still open."""

_MANY: Schema = {"type": "array", "items": {"type": "object"}}
SHAPE: Schema = {
    "type": "object",
    "properties": {"questions": _MANY, "actions": _MANY, "ask_again_after": {"type": "integer"}},
    "required": ["questions", "actions"],
}
UNDECIDED = frozenset({ActionState.PENDING, ActionState.CONFIRMED})


class Pages:
    """Where people answer and decide: the console at the configured address."""

    def __init__(self, public_url: str) -> None:
        self.public_url = public_url

    def question(self, question: Question) -> str:
        return f"{self.public_url}/#question={question.id}"

    def action(self, action: Action) -> str:
        return f"{self.public_url}/#action={action.id}"


def outcome(
    pages: Pages, by: Principal, questions: Iterable[Question] = (), actions: Iterable[Action] = (), more: Object | None = None
) -> Reply:
    """The reply: a line for each thing with its id, state and address; the rest structured. `more` stands beside the lists."""
    lines = [f"Workspace {by.workspace_id}."]
    shown: dict[str, list[JsonValue]] = {"questions": [], "actions": []}
    pending = False
    for question in questions:
        url = pages.question(question)
        shown["questions"].append({**_whole(question), "url": url})
        pending |= not question.settled
        where = "" if question.settled else f", to be answered at {url}"
        lines.append(f"Question {question.id}: {question.state.value}{where}")
    for action in actions:
        url = pages.action(action)
        shown["actions"].append({**_whole(action), "url": url})
        pending |= action.state in UNDECIDED
        where = f", to be decided at {url}" if action.state is ActionState.PENDING else ""
        lines.append(f"Action {action.id}: {action.state.value}{where}")
    structured: Object = {**shown, **(more or {})}
    if pending:
        structured["ask_again_after"] = AGAIN
        lines.append(f"Still open: go on with something else and call get_question_answer with the id in {AGAIN} s.")
    if not shown["questions"] and not shown["actions"]:
        lines.append("Nothing is open.")
    return Reply("\n".join(lines), structured)


def _whole(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", exclude_none=True)
