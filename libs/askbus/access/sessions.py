"""Sessions of browsers that people open by proving who they are, and take from one workspace to another: the gateway's verbs."""

from typing import Literal
from uuid import UUID

from askbus.access.credentials import digest, new_secret
from askbus.access.model import Principal
from askbus.access.verbs import SESSION_LIFE, NewSession
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import NotFound, PermissionDenied

OPEN_SESSION = Statement("askbus.access", "sql/open_session.sql")
SWITCH_WORKSPACE = Statement("askbus.access", "sql/switch_workspace.sql")


async def open_session(
    db: Executor,
    user_id: UUID,
    method: Literal["password", "issuer"],
    *,
    password_hash: str | None = None,
    session_id: UUID | None = None,
    trace: str | None = None,
) -> NewSession:
    """A browser's session for who has just proved who they are, in the workspace where they were last; by a password, while
    `password_hash` is still theirs. Raises PermissionDenied for who is a member nowhere, Unauthenticated for a changed password."""
    cookie = new_secret()
    opened = {
        "session_id": session_id or new_id(),
        "session_hash": digest(cookie),
        "method": method,
        "life": SESSION_LIFE,
        "trace": trace,
    }
    row = await OPEN_SESSION.row(db, user_id=user_id, password_hash=password_hash, **opened)
    if row is None:
        changed = "" if password_hash is None else ", or your password was changed a moment ago"
        raise PermissionDenied(f"You are a member of no workspace here{changed}. An admin of one can invite you.")
    return NewSession(cookie=cookie, **row)


async def switch_workspace(db: Executor, by: Principal, workspace_id: UUID, *, trace: str | None = None) -> NewSession:
    """Goes on in another workspace, in a new session that ends when this one would have; this one ends now. Raises NotFound where
    they are no member, and for an issuer's token, which says with each request where it is."""
    cookie = new_secret()
    opened = {"session_id": new_id(), "session_hash": digest(cookie), "trace": trace}
    row = await SWITCH_WORKSPACE.row(db, id=by.id, workspace_id=workspace_id, **opened)
    if row is None:
        raise NotFound("You are a member of no such workspace, or your session ended.")
    return NewSession(cookie=cookie, **row)
