"""A proposed change as front ends show it, and the name under which a decision on it comes back. Pure."""

from uuid import UUID

from pydantic import JsonValue

from askbus.actions.model import ActionDetail

_SHOWN = {"id", "state", "headline", "summary", "digest", "proposed_at", "expires_at", "decided_at", "reason", "card", "outcome"}


def card(action: ActionDetail) -> dict[str, JsonValue]:
    """What a person is shown before they decide, and what became of it."""
    shown: dict[str, JsonValue] = action.model_dump(mode="json", include=_SHOWN, exclude_none=True)
    return shown


def approval_id(action: ActionDetail) -> str:
    """The action and the digest of its card: a decision that names it is one on what was shown."""
    return f"{action.id}.{action.digest}"


def approved_action(name: str) -> tuple[UUID, str] | None:
    """The action and the digest that an approval's id names; None where it is the id of no approval."""
    action_id, dot, digest = name.partition(".")
    if not (dot and digest):
        return None
    try:
        return UUID(action_id), digest
    except ValueError:
        return None
