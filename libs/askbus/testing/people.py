"""A small company to test with: one workspace, two projects, one person of each kind, and a stranger."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from askbus.access import reads, verbs
from askbus.access.model import Principal, Role, Scope
from askbus.db.statements import Executor

WORKING_SCOPES = (
    Scope.DATA_READ,
    Scope.QUESTIONS_ASK,
    Scope.QUESTIONS_ANSWER,
    Scope.ACTIONS_PROPOSE,
    Scope.CHAT,
)


@dataclass(frozen=True)
class Person:
    """Somebody with an open session."""

    id: UUID
    name: str
    cookie: str
    principal: Principal


@dataclass(frozen=True)
class Agent:
    """An API token, and the principal that it stands for."""

    token: str
    principal: Principal

    @property
    def id(self) -> UUID:
        return self.principal.id


@dataclass(frozen=True)
class Company:
    """`north` is the project that its people work in; `south` is seen by owner and admin alone."""

    workspace_id: UUID
    north: UUID
    south: UUID
    people: Mapping[str, Person]
    elsewhere: UUID
    """A project of another workspace, where the stranger works."""

    def __getitem__(self, name: str) -> Person:
        return self.people[name]


KINDS: Mapping[str, tuple[Role, bool]] = {
    "owner": (Role.OWNER, False),
    "admin": (Role.ADMIN, False),
    "mia": (Role.MEMBER, False),
    "max": (Role.MEMBER, False),
    "viewer": (Role.VIEWER, False),
    "demo": (Role.MEMBER, True),
}


async def found_company(db: Executor, name: str = "Nordlicht") -> Company:
    """Makes it all through the gateway's own verbs."""
    workspace_id = await verbs.create_workspace(db, name)
    north = await verbs.create_project(db, workspace_id, "north")
    south = await verbs.create_project(db, workspace_id, "south")
    people = {}
    for who, (role, demo) in KINDS.items():
        people[who] = await hire(db, workspace_id, who, role, demo=demo, projects=(north,))
    other = await verbs.create_workspace(db, f"{name} elsewhere")
    elsewhere = await verbs.create_project(db, other, "north")
    people["stranger"] = await hire(db, other, "stranger", Role.OWNER, projects=())
    return Company(workspace_id, north, south, people, elsewhere)


async def hire(
    db: Executor, workspace_id: UUID, name: str, role: Role, *, demo: bool = False, projects: tuple[UUID, ...] = ()
) -> Person:
    """A member with an open session."""
    user_id = await verbs.create_user(db, f"{name}@{workspace_id.hex[-8:]}.example", name)
    await verbs.set_member(db, workspace_id, user_id, role, demo=demo)
    if role in {Role.MEMBER, Role.VIEWER}:
        for project_id in projects:
            await verbs.add_to_project(db, workspace_id, project_id, user_id)
    session = await verbs.sign_in(db, await verbs.create_login_code(db, workspace_id, user_id))
    principal = await reads.principal_of_session(db, session.cookie)
    assert principal is not None
    return Person(user_id, name, session.cookie, principal)


async def give_token(
    db: Executor, person: Person, scopes: tuple[Scope, ...] = WORKING_SCOPES, projects: tuple[UUID, ...] | None = None
) -> Agent:
    """An API token of this person's."""
    secret, token = await verbs.issue_token(
        db, person.principal.workspace_id, person.id, name=f"{person.name}'s agent", scopes=scopes, projects=projects
    )
    principal = await reads.principal_of_token_id(db, token.id)
    assert principal is not None
    return Agent(secret, principal)
