"""Who an app acts for, and which apps there are: read from the database at each call."""

from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.credentials import digest
from askbus.access.model import Principal, Scope
from askbus.access.reads import token_principal
from askbus.db.statements import Executor, Statement
from askbus.errors import PermissionDenied
from askbus.oauth.model import Client, require_admin

BY_ACCESS_TOKEN = Statement("askbus.oauth", "sql/principal_by_access_token.sql")
CLIENT = Statement("askbus.oauth", "sql/client.sql")
CLIENT_BY_URL = Statement("askbus.oauth", "sql/client_by_url.sql")
ASKED = Statement("askbus.oauth", "sql/asked.sql")
APPS = Statement("askbus.oauth", "sql/apps.sql")
MCP_IS_ON = Statement("askbus.oauth", "sql/mcp_is_on.sql")


class Asked(BaseModel):
    """What a consent page asks for."""

    model_config = ConfigDict(frozen=True)
    client: Client
    scopes: tuple[Scope, ...]
    redirect_uri: str


class App(BaseModel):
    """A grant, as people see it. `name` is what the app calls itself, unverified; `host` is where it sends people back to."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    name: str
    host: str
    scopes: tuple[Scope, ...]
    projects: tuple[UUID, ...] | None
    user_id: UUID
    user_name: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime


async def principal_of_access_token(db: Executor, token: str, resource: str) -> Principal | None:
    """The principal behind an access token at this audience, or None where it is unknown, expired, for another audience, or its grant was
    revoked or has expired. Raises PermissionDenied where the workspace lets no agents in over MCP."""
    row = await BY_ACCESS_TOKEN.row(db, hash=digest(token), resource=resource)
    if row is None:
        return None
    if not row["mcp"]:
        raise mcp_is_off()
    return token_principal(row)


def mcp_is_off() -> PermissionDenied:
    """What every door of MCP says where an admin switched it off."""
    return PermissionDenied("MCP is switched off in this workspace. Its admins can switch it on.")


async def require_mcp(db: Executor, workspace_id: UUID) -> None:
    """Raises PermissionDenied where the workspace lets no agents in over MCP: for those who came with an API token."""
    if not await mcp_is_on(db, workspace_id):
        raise mcp_is_off()


async def mcp_is_on(db: Executor, workspace_id: UUID) -> bool:
    """Whether the workspace lets agents in over MCP."""
    row = await MCP_IS_ON.row(db, workspace_id=workspace_id)
    return row is not None and bool(row["mcp"])


async def client(db: Executor, client_id: UUID, secret: str | None) -> tuple[Client, bool] | None:
    """The app that registered itself under this id, and whether this is its secret; None where there is none."""
    row = await CLIENT.row(db, id=client_id, hash=None if secret is None else digest(secret))
    return None if row is None else (Client.model_validate(row), bool(row["proved"]))


async def client_by_url(db: Executor, url: str) -> tuple[Client, bool] | None:
    """The app whose metadata document is at this address, as it was last read, and whether that is recent."""
    row = await CLIENT_BY_URL.row(db, url=url)
    return None if row is None else (Client.model_validate(row), bool(row["fresh"]))


async def asked(db: Executor, by: Principal, ticket: str, *, now: datetime | None = None) -> Asked | None:
    """What this session's page asks for; None where the page is another session's, was decided, or is too old."""
    row = await ASKED.row(db, hash=digest(ticket), session_id=by.id, now=now)
    if row is None:
        return None
    return Asked(client=Client.model_validate(row), scopes=row["scopes"], redirect_uri=row["redirect_uri"])


async def apps_of(db: Executor, by: Principal, *, everybody: bool = False) -> tuple[App, ...]:
    """The apps that the principal's user connected in the workspace, newest first; `everybody`'s for those who run it.

    Raises PermissionDenied where others ask for everybody's.
    """
    if everybody:
        require_admin(by)
    rows = await APPS.rows(db, workspace_id=by.workspace_id, user_id=by.user_id, everybody=everybody)
    return tuple(App.model_validate({**row, "host": host_of(row["url"] or row["redirect_uris"][0])}) for row in rows)


def host_of(uri: str) -> str:
    """What people can tell an address by: its host, or the scheme of an app on their own machine."""
    parts = urlsplit(uri)
    return parts.hostname or parts.scheme if parts.scheme in {"https", "http"} else f"{parts.scheme}:"
