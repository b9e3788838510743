"""Who may see a change: exactly one rule for each entity on the feed. An entity without a rule reaches nobody. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from askbus.feed.model import Change


@dataclass
class Viewer:
    """Whose stream it is, and the projects that they see now."""

    user_id: UUID
    workspace_id: UUID
    projects: frozenset[UUID]


Rule = Callable[[Change, Viewer], bool]


def in_my_projects(change: Change, viewer: Viewer) -> bool:
    """Everyone who sees the project; only its user where it is personal."""
    return change.project_id in viewer.projects and change.user_id in {None, viewer.user_id}


def mine(change: Change, viewer: Viewer) -> bool:
    """Its user alone, while they see the project."""
    return change.user_id == viewer.user_id and change.project_id in viewer.projects


RULES: Mapping[str, Rule] = {
    "question": in_my_projects,
    "action": in_my_projects,
    "thread": mine,
    "turn": mine,
}

MACHINE_ONLY = frozenset({"membership", "session", "token", "tool_call", "tool_run"})
"""Entities on the feed that no stream shows: the gateway and the bus act on them."""


def visible(change: Change, viewer: Viewer) -> bool:
    """Whether this viewer may be told of this change."""
    rule = RULES.get(change.entity)
    return rule is not None and change.workspace_id == viewer.workspace_id and rule(change, viewer)
