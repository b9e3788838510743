"""Who may see a change: exactly one rule for each entity on the feed. An entity without a rule reaches nobody. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from askbus.access.model import Principal, PrincipalKind, Role, Scope
from askbus.feed.model import Change


@dataclass(frozen=True, eq=False)
class Viewer:
    """Whose stream it is, the projects that they see now, and the entities that are shown to them.

    `everywhere`: an owner or admin sees every project of the workspace, those that are made later too. Streams with the same rights
    share one viewer, so that what it may see of a batch is found once for all of them.
    """

    user_id: UUID
    workspace_id: UUID
    projects: frozenset[UUID] = frozenset()
    everywhere: bool = False
    follows: frozenset[str] = frozenset()

    def sees(self, project_id: UUID | None) -> bool:
        return project_id is not None and (self.everywhere or project_id in self.projects)

    def wants(self, change: Change) -> bool:
        """Whether its streams show this change."""
        return change.entity in self.follows and visible(change, self)


def in_my_projects(change: Change, viewer: Viewer) -> bool:
    """Everyone who sees the project; only its user where it is personal."""
    return change.user_id in {None, viewer.user_id} and viewer.sees(change.project_id)


def mine(change: Change, viewer: Viewer) -> bool:
    """Its user alone, while they see the project."""
    return change.user_id == viewer.user_id and viewer.sees(change.project_id)


def in_its_project(change: Change, viewer: Viewer) -> bool:
    """Everyone who sees the project that the record belongs to; one that belongs to no single project is told to whoever sees any."""
    if change.project_id is None:
        return viewer.everywhere or bool(viewer.projects)
    return viewer.sees(change.project_id)


def admins(change: Change, viewer: Viewer) -> bool:  # noqa: ARG001  # the rules' signature
    """Owners and admins of its workspace."""
    return viewer.everywhere


def person_or(*scopes: Scope) -> Callable[[Principal], bool]:
    """A session, or a token that holds one of the scopes: as the reads of that entity ask for."""
    return lambda by: by.kind is PrincipalKind.SESSION or not by.scopes.isdisjoint(scopes)


@dataclass(frozen=True)
class Rule:
    """`sees`: which viewers may be told of a change. `follows`: which principals may follow this entity at all."""

    sees: Callable[[Change, Viewer], bool]
    follows: Callable[[Principal], bool]


RULES: Mapping[str, Rule] = {
    "question": Rule(in_my_projects, person_or(Scope.QUESTIONS_ASK, Scope.QUESTIONS_ANSWER)),
    "action": Rule(in_my_projects, person_or(Scope.ACTIONS_PROPOSE)),
    "standing_approval": Rule(in_my_projects, lambda by: by.kind is PrincipalKind.SESSION),
    "thread": Rule(mine, lambda by: by.may(Scope.CHAT)),
    "turn": Rule(mine, lambda by: by.may(Scope.CHAT)),
    "record": Rule(in_its_project, lambda by: by.may(Scope.DATA_READ)),
    **{
        entity: Rule(admins, lambda by: by.kind is PrincipalKind.SESSION)
        for entity in ("webhook", "workspace", "project", "member", "invitation")
    },
}

MACHINE_ONLY = frozenset({"membership", "session", "token", "tool_call", "tool_run"})
"""Entities on the feed that no stream shows: the gateway and the bus act on them."""


def followed(by: Principal, wanted: frozenset[str] | None) -> frozenset[str]:
    """The entities that this principal may follow, of those that it wants (all where None)."""
    return frozenset(name for name, rule in RULES.items() if (wanted is None or name in wanted) and rule.follows(by))


def everywhere(by: Principal) -> bool:
    """Whether this principal sees every project of the workspace."""
    return by.role in {Role.OWNER, Role.ADMIN} and by.projects is None


def visible(change: Change, viewer: Viewer) -> bool:
    """Whether this viewer may be told of this change."""
    rule = RULES.get(change.entity)
    return rule is not None and change.workspace_id == viewer.workspace_id and rule.sees(change, viewer)
