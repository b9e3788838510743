"""The principal: who is acting, for whom, where, and with which rights. Pure; everything else may import it."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.errors import PermissionDenied


class Role(StrEnum):
    """A user's place in a workspace. Owners and admins see every project; the others those they are members of."""

    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"


class NumberCheck(StrEnum):
    """What becomes of an answer with numbers that have no source: it is marked, or the model is first asked once more."""

    MARK = "mark"
    ASK_AGAIN = "ask_again"


class Scope(StrEnum):
    """What an API token may be allowed. A session holds every scope that its user's role allows."""

    DATA_READ = "data:read"
    DATA_REFRESH = "data:refresh"
    CHARTS_PREVIEW = "charts:preview"
    DATASETS_WRITE = "datasets:write"
    QUESTIONS_ASK = "questions:ask"
    QUESTIONS_ANSWER = "questions:answer"
    ACTIONS_PROPOSE = "actions:propose"
    ACTIONS_CONFIRM = "actions:confirm"
    CHAT = "chat"


READING = frozenset({Scope.DATA_READ})
"""What is left to a viewer and to a demo user: every other scope writes."""

TOKEN_SCOPES = frozenset(Scope) - {Scope.ACTIONS_CONFIRM}
"""What an API token may hold: confirming needs a person present."""


def scopes_of(role: Role, *, demo: bool, demo_chat: bool) -> frozenset[Scope]:
    """What a membership allows at most. Demo users may chat where the workspace lets them, and change nothing."""
    if demo:
        return READING | {Scope.CHAT} if demo_chat else READING
    return READING if role is Role.VIEWER else frozenset(Scope)


class PrincipalKind(StrEnum):
    SESSION = "session"
    TOKEN = "token"  # noqa: S105  # a kind, no password


class Principal(BaseModel):
    """Who is acting: a browser session or an API token, always for one user in one workspace.

    Made anew for each request from what the database says at that moment, never from what a request says. `projects` narrows
    a token to some projects; None leaves all that the user may see.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: PrincipalKind
    id: UUID
    user_id: UUID
    workspace_id: UUID
    role: Role
    demo: bool = False
    scopes: frozenset[Scope]
    projects: tuple[UUID, ...] | None = None

    def may(self, scope: Scope) -> bool:
        """Whether the scope was granted and the user's role allows it now: `scopes` holds just these."""
        return scope in self.scopes

    def require(self, scope: Scope) -> None:
        """Raises PermissionDenied, saying what is missing and who can change it."""
        if self.may(scope):
            return
        if self.demo:
            raise PermissionDenied("This is a demo account: it can look at everything and change nothing.")
        if self.role is Role.VIEWER and scope not in READING:
            raise PermissionDenied("Viewers can only read. An admin of the workspace can change your role.")
        raise PermissionDenied(
            f"This token lacks the scope {scope.value}. Make a token that has it, or sign in.", {"scope": scope.value}
        )

    @property
    def token_id(self) -> UUID | None:
        return self.id if self.kind is PrincipalKind.TOKEN else None


Sought: TypeAlias = "tuple[Principal, UUID]"
"""Who looks for which entity."""


def wanted(
    sought: Sequence[Sought], see: Callable[[Principal], None]
) -> tuple[list[dict[str, object]], dict[int, PermissionDenied]]:
    """The same as the parameter of a statement that answers many principals at once, and the refusals of those whom `see` refuses, both
    by their place in `sought`."""
    asked: list[dict[str, object]] = []
    refused: dict[int, PermissionDenied] = {}
    for place, (by, entity_id) in enumerate(sought):
        try:
            see(by)
        except PermissionDenied as error:
            refused[place] = error
            continue
        who = {"user_id": by.user_id, "workspace_id": by.workspace_id, "token_id": by.token_id, "projects": by.projects}
        asked.append({"place": place, "id": entity_id, **who})
    return asked, refused
