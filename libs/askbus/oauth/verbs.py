"""What the gateway may change about apps: registering, allowing, exchanging, giving back, removing. Nothing readable is stored."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from askbus.access.credentials import digest, new_secret
from askbus.access.model import Principal, Scope
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound
from askbus.oauth.model import (
    ACCESS_LIFE,
    CODE_LIFE,
    GRACE,
    REFRESH_LIFE,
    REQUEST_LIFE,
    AuthMethod,
    Client,
    Issued,
    Verdict,
    new_access_token,
    new_refresh_token,
    not_admin,
    require_admin,
    successor_of,
)

REGISTER = Statement("askbus.oauth", "sql/register.sql")
REMEMBER_DOCUMENT = Statement("askbus.oauth", "sql/remember_document.sql")
BEGIN = Statement("askbus.oauth", "sql/begin.sql")
ALLOW = Statement("askbus.oauth", "sql/allow.sql")
DENY = Statement("askbus.oauth", "sql/deny.sql")
REDEEM = Statement("askbus.oauth", "sql/redeem.sql")
REFRESH = Statement("askbus.oauth", "sql/refresh.sql")
END_REPLAYED = Statement("askbus.oauth", "sql/end_replayed.sql")
REVOKE = Statement("askbus.oauth", "sql/revoke.sql")
REMOVE_APP = Statement("askbus.oauth", "sql/remove_app.sql")
SET_MCP = Statement("askbus.oauth", "sql/set_mcp.sql")

MOST_UNUSED = 10_000
"""Registrations that nobody allowed anything yet: registering is open to everybody, so there is an end to it."""
MOST_PAGES = 20
"""Undecided pages of one session; with one more the oldest counts no longer."""


async def register(
    db: Executor, *, name: str, redirect_uris: Sequence[str], auth_method: AuthMethod, refreshes: bool, most: int = MOST_UNUSED
) -> tuple[Client, str | None] | None:
    """Registers an app; returns it, and its secret for this once where it has one. None where too many registered and were not used."""
    secret = None if auth_method is AuthMethod.NONE else new_secret()
    row = await REGISTER.row(
        db,
        id=new_id(),
        name=name,
        redirect_uris=list(redirect_uris),
        auth_method=auth_method.value,
        refreshes=refreshes,
        hash=None if secret is None else digest(secret),
        most=most,
    )
    return None if row is None else (Client.model_validate(row), secret)


async def remember_document(
    db: Executor, url: str, *, name: str, redirect_uris: Sequence[str], refreshes: bool, fresh_for: float
) -> Client:
    """Keeps what an app's metadata document says, as read now, for `fresh_for` seconds."""
    row = await REMEMBER_DOCUMENT.one(
        db, id=new_id(), url=url, name=name, redirect_uris=list(redirect_uris), refreshes=refreshes, fresh_for=fresh_for
    )
    return Client.model_validate(row)


async def begin(
    db: Executor,
    by: Principal,
    client: Client,
    *,
    redirect_uri: str,
    code_challenge: str,
    resource: str,
    state: str | None,
    scopes: Sequence[Scope],
    now: datetime | None = None,
) -> str:
    """What an app asks the principal for; returns the ticket of the page, for their session alone. Raises NotFound where that is over."""
    ticket = new_secret()
    row = await BEGIN.row(
        db,
        id=new_id(),
        client_id=client.id,
        session_id=by.id,
        hash=digest(ticket),
        redirect_uri=redirect_uri,
        code_challenge=code_challenge,
        resource=resource,
        state=state,
        scopes=[scope.value for scope in scopes],
        life=REQUEST_LIFE,
        most=MOST_PAGES - 1,
        now=now,
    )
    if row is None:
        raise NotFound("This session is over. Sign in again.")
    return ticket


async def allow(
    db: Executor,
    by: Principal,
    ticket: str,
    scopes: Sequence[Scope],
    projects: Sequence[UUID] | None,
    *,
    now: datetime | None = None,
) -> tuple[str, str, str | None] | None:
    """Allows some of what the page asked for, in some projects; returns where to send the person, the code and the app's state.

    None where the page is another session's, was decided or is too old, or for scopes that were not asked for and projects that
    the person does not see; without projects it takes an owner or admin.
    """
    code = new_secret()
    row = await ALLOW.row(
        db,
        hash=digest(ticket),
        session_id=by.id,
        scopes=[scope.value for scope in scopes],
        projects=None if projects is None else list(projects),
        grant_id=new_id(),
        code_hash=digest(code),
        life=CODE_LIFE,
        now=now,
    )
    return None if row is None else (row["redirect_uri"], code, row["state"])


async def deny(db: Executor, by: Principal, ticket: str, *, now: datetime | None = None) -> tuple[str, str | None] | None:
    """Refuses what the page asked for; returns where to send the person and the app's state, None as in `allow`."""
    row = await DENY.row(db, hash=digest(ticket), session_id=by.id, now=now)
    return None if row is None else (row["redirect_uri"], row["state"])


async def redeem(
    db: Executor,
    client: Client,
    code: str,
    *,
    challenge: str,
    redirect_uri: str | None,
    resource: str | None,
    trace: str | None = None,
    now: datetime | None = None,
) -> Issued:
    """Exchanges a code for the grant's first tokens. The code is used up whatever the verdict; `challenge` is made from the verifier that
    was shown. A replay revokes what came of it."""
    access, refresh = new_access_token(), new_refresh_token()
    row = await REDEEM.row(
        db,
        hash=digest(code),
        client_id=client.id,
        redirect_uri=redirect_uri,
        code_challenge=challenge,
        resource=resource,
        grant_hash=digest(new_secret()),
        access_id=new_id(),
        access_hash=digest(access),
        access_life=ACCESS_LIFE,
        refresh_id=new_id(),
        refresh_hash=digest(refresh),
        refresh_life=REFRESH_LIFE,
        trace=trace,
        now=now,
    )
    if row is None:
        return Issued(verdict=Verdict.UNKNOWN)
    verdict = Verdict(row["verdict"])
    if verdict is Verdict.REPLAYED:
        await END_REPLAYED.run(db, grant_id=row["grant_id"], trace=trace)
    if verdict is not Verdict.GRANTED:
        return Issued(verdict=verdict)
    return Issued(verdict=verdict, access_token=access, refresh_token=refresh if row["refreshes"] else None, scopes=row["scopes"])


async def refresh(
    db: Executor,
    client: Client,
    token: str,
    *,
    scopes: Sequence[Scope] | None = None,
    resource: str | None = None,
    grace: float = GRACE,
    trace: str | None = None,
    now: datetime | None = None,
) -> Issued:
    """Exchanges a refresh token for its successor and an access token, perhaps with fewer scopes than the grant has. A used one is
    answered once more within the grace, with the same successor; after it, its grant is revoked."""
    access, salt = new_access_token(), secrets.token_bytes(32)
    row = await REFRESH.row(
        db,
        hash=digest(token),
        client_id=client.id,
        scopes=None if scopes is None else [scope.value for scope in scopes],
        resource=resource,
        grace=grace,
        salt=salt,
        successor_id=new_id(),
        successor_hash=digest(successor_of(token, salt)),
        refresh_life=REFRESH_LIFE,
        access_id=new_id(),
        access_hash=digest(access),
        access_life=ACCESS_LIFE,
        now=now,
    )
    if row is None:
        return Issued(verdict=Verdict.UNKNOWN)
    verdict = Verdict(row["verdict"])
    if verdict is Verdict.REPLAYED:
        await END_REPLAYED.run(db, grant_id=row["grant_id"], trace=trace)
    if verdict not in {Verdict.GRANTED, Verdict.REPEATED}:
        return Issued(verdict=verdict)
    kept = salt if verdict is Verdict.GRANTED else row["salt"]
    return Issued(verdict=verdict, access_token=access, refresh_token=successor_of(token, kept), scopes=row["scopes"])


async def revoke(db: Executor, client: Client, token: str, *, trace: str | None = None) -> None:
    """An app gives one of its tokens back (RFC 7009); another's, or what is none, is left alone."""
    await REVOKE.run(db, hash=digest(token), client_id=client.id, trace=trace)


async def remove_app(db: Executor, by: Principal, grant_id: UUID, *, trace: str | None = None) -> None:
    """Takes a grant back: one's own, or anybody's of the workspace for those who run it. Raises NotFound."""
    row = await REMOVE_APP.row(
        db,
        id=grant_id,
        workspace_id=by.workspace_id,
        user_id=by.user_id,
        via=by.kind.value,
        via_id=by.id,
        trace=trace,
    )
    if row is None:
        raise NotFound("There is no such app of yours.")


async def set_mcp(db: Executor, by: Principal, *, on: bool) -> None:
    """Lets agents into the workspace over MCP, or keeps all of them out from now on. Raises PermissionDenied for who does not run it."""
    require_admin(by)
    if await SET_MCP.row(db, workspace_id=by.workspace_id, mcp=on, user_id=by.user_id, via=by.kind.value, via_id=by.id) is None:
        raise not_admin()
