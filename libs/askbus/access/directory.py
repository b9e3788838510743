"""Who and what there is, for the operator: people, workspaces and projects by the names that are typed at a terminal."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.model import Role, Scope
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound

FIND_WORKSPACE = Statement("askbus.access", "sql/find_workspace.sql")
FIND_PROJECT = Statement("askbus.access", "sql/find_project.sql")
FIND_USER = Statement("askbus.access", "sql/find_user.sql")
DIRECTORY = Statement("askbus.access", "sql/directory.sql")
TOKENS = Statement("askbus.access", "sql/tokens_of_workspace.sql")
REVOKE_ANY_TOKEN = Statement("askbus.access", "sql/revoke_any_token.sql")


class ListedProject(BaseModel):
    """A project of a workspace."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str


class ListedMember(BaseModel):
    """A member of a workspace, with the names of the projects that they see."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    email: str
    name: str
    role: Role
    demo: bool
    projects: tuple[str, ...]


class ListedWorkspace(BaseModel):
    """A workspace with all that is in it."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    projects: tuple[ListedProject, ...]
    members: tuple[ListedMember, ...]


class ListedToken(BaseModel):
    """An API token of a member, with its owner; no `projects` means all of its owner's."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    email: str
    name: str
    prefix: str
    scopes: tuple[Scope, ...]
    projects: tuple[str, ...]
    state: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


async def find_workspace(db: Executor, named: str) -> UUID:
    """The workspace with this name or id. Raises NotFound."""
    row = await FIND_WORKSPACE.row(db, named=named)
    if row is None:
        raise NotFound(f"There is no workspace {named!r}. `askbus admin list` shows all.")
    return UUID(str(row["id"]))


async def find_project(db: Executor, workspace_id: UUID, named: str) -> UUID:
    """The workspace's project with this name or id. Raises NotFound."""
    row = await FIND_PROJECT.row(db, workspace_id=workspace_id, named=named)
    if row is None:
        raise NotFound(f"This workspace has no project {named!r}. `askbus admin list` shows all.")
    return UUID(str(row["id"]))


async def find_user(db: Executor, named: str) -> UUID:
    """The person with this e-mail address or id. Raises NotFound."""
    row = await FIND_USER.row(db, named=named)
    if row is None:
        raise NotFound(f"There is nobody with the address {named!r}. Make them first: askbus admin user create.")
    return UUID(str(row["id"]))


async def directory(db: Executor) -> tuple[ListedWorkspace, ...]:
    """Every workspace, by name. `db` reads jsonb as Python values (askbus.db.pool.prepare)."""
    return tuple(ListedWorkspace.model_validate(row) for row in await DIRECTORY.rows(db))


async def tokens(db: Executor, workspace_id: UUID) -> tuple[ListedToken, ...]:
    """Every API token of a workspace's members, by owner."""
    return tuple(ListedToken.model_validate(row) for row in await TOKENS.rows(db, workspace_id=workspace_id))


async def revoke_token(db: Executor, workspace_id: UUID, token_id: UUID) -> None:
    """Revokes an API token of the workspace, whosever it is. Raises NotFound."""
    if await REVOKE_ANY_TOKEN.row(db, id=token_id, workspace_id=workspace_id) is None:
        raise NotFound(f"This workspace has no API token {token_id}. `askbus admin token list` shows all.")
