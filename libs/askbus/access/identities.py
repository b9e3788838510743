"""Identities at issuers elsewhere, the sessions that their tokens are, and sign-ins there that browsers begin: the gateway's verbs."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from askbus.access.credentials import digest
from askbus.access.model import Principal
from askbus.access.reads import session_principal
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import InvalidInput, PermissionDenied, Unauthenticated
from askbus.identity.model import Identity

BY_BEARER = Statement("askbus.access", "sql/principal_by_bearer.sql")
OPEN = Statement("askbus.access", "sql/open_bearer_session.sql")
LINK = Statement("askbus.access", "sql/link_identity.sql")
FIND = Statement("askbus.access", "sql/find_identity.sql")
REMOVE = Statement("askbus.access", "sql/remove_identities.sql")
BEGIN = Statement("askbus.access", "sql/begin_sign_in.sql")
TAKE = Statement("askbus.access", "sql/take_sign_in.sql")
DROP = Statement("askbus.access", "sql/drop_sign_ins.sql")


@dataclass(frozen=True)
class Bearer:
    """An issuer's token that was checked: its text, whom it speaks of, until when, and the workspace that its sender chose, if any."""

    token: str
    identity: Identity
    expires_at: datetime
    workspace_id: UUID | None


async def person_of(db: Executor, identity: Identity) -> UUID | None:
    """Whose identity this is: the person it is linked to, else the member whose address its issuer verified, linked from now on.

    None where it is nobody's: nobody has the address, or who has it has another identity at this issuer.
    """
    for _attempt in range(2):  # of two first sign-ins at once, one links, and the other then finds it
        if (row := await FIND.row(db, issuer=identity.issuer, subject=identity.subject)) is not None:
            return UUID(str(row["user_id"]))
        if identity.email is None:
            return None
        await LINK.run(db, id=new_id(), issuer=identity.issuer, subject=identity.subject, email=identity.email)
    return None


async def principal_of_bearer(db: Executor, bearer: Bearer, *, trace: str | None = None) -> Principal:
    """Who sends an issuer's token: a session in one workspace, which ends with the token.

    Raises PermissionDenied for people who are members nowhere, or not there; InvalidInput where they are members of several
    workspaces and chose none; Unauthenticated where the token was signed out.
    """
    found = await _principal(db, bearer)
    if found is None and await person_of(db, bearer.identity) is not None:
        found = await _principal(db, bearer)
    if found is None:
        if bearer.workspace_id is not None:
            raise PermissionDenied("You are no member of this workspace.")
        raise PermissionDenied("You are a member of no workspace here. An admin of one can invite you.")
    if isinstance(found, Principal):
        return found
    await OPEN.run(
        db,
        id=new_id(),
        bearer=digest(bearer.token),
        user_id=found.user_id,
        workspace_id=found.workspace_id,
        expires_at=bearer.expires_at,
        trace=trace,
    )
    opened = await _principal(db, bearer)
    if not isinstance(opened, Principal):
        raise Unauthenticated("This token was signed out, or is over. Get a new one from its issuer.")
    return opened


@dataclass(frozen=True)
class _NoSession:
    user_id: UUID
    workspace_id: UUID


async def _principal(db: Executor, bearer: Bearer) -> Principal | _NoSession | None:
    """The principal, or where there is to be a session, or None for who may act nowhere."""
    rows = await BY_BEARER.rows(
        db,
        issuer=bearer.identity.issuer,
        subject=bearer.identity.subject,
        bearer=digest(bearer.token),
        workspace_id=bearer.workspace_id,
    )
    if len(rows) > 1:
        raise InvalidInput(
            "You are a member of several workspaces: say in which one with the header Askbus-Workspace: <id>.",
            {"workspaces": [str(row["workspace_id"]) for row in rows]},
        )
    if not rows:
        return None
    row = rows[0]
    return _NoSession(row["user_id"], row["workspace_id"]) if row["id"] is None else session_principal(row)


async def remove_identities(db: Executor, user_id: UUID) -> int:
    """Takes somebody's identities back, so that their next sign-in links anew; returns how many there were. The operator's verb."""
    return len(await REMOVE.rows(db, user_id=user_id))


async def begin_sign_in(
    db: Executor, *, state: str, browser: str, provider: str, return_to: str, now: datetime | None = None
) -> None:
    """Keeps a sign-in that a browser began. `browser` is the secret in its cookie."""
    await BEGIN.run(
        db, id=new_id(), hash=digest(state), browser_hash=digest(browser), provider=provider, return_to=return_to, now=now
    )


async def take_sign_in(db: Executor, *, state: str, browser: str, provider: str) -> str:
    """Uses one up and returns the path to go on to. Raises Unauthenticated: unknown, used, too old, or another browser's."""
    row = await TAKE.row(db, hash=digest(state), browser_hash=digest(browser), provider=provider)
    if row is None:
        raise Unauthenticated("This sign-in was finished already, took too long, or began in another browser. Begin again.")
    return str(row["return_to"])


async def drop_sign_ins(db: Executor, *, batch: int = 100, now: datetime | None = None) -> int:
    """Deletes up to `batch` sign-ins that nobody came back from. Expiry's verb."""
    return len(await DROP.rows(db, batch=batch, now=now))
