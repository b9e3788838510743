"""Passwords of local accounts, as hashes that somebody else made: the gateway's verbs. See also `password_rules.py`."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from askbus.access.credentials import digest, new_secret
from askbus.access.model import Principal
from askbus.access.verbs import SESSION_LIFE, NewSession
from askbus.db.ids import new_id
from askbus.db.statements import Executor, Statement
from askbus.errors import Conflict, PermissionDenied, Unauthenticated

FIND = Statement("askbus.access", "sql/find_password.sql")
OF = Statement("askbus.access", "sql/password_of.sql")
HOLD = Statement("askbus.access", "sql/hold_password.sql")
REHASH = Statement("askbus.access", "sql/rehash_password.sql")
CODE = Statement("askbus.access", "sql/password_code.sql")
SET_BY_CODE = Statement("askbus.access", "sql/set_password_by_code.sql")
CHANGE = Statement("askbus.access", "sql/change_password.sql")
FIRST = Statement("askbus.access", "sql/first_password.sql")
NOTE_FAILED = Statement("askbus.access", "sql/note_failed_sign_in.sql")


@dataclass(frozen=True)
class Account:
    """Somebody with an address; `hash` is their password's, if they have one. What the code of a link says has none."""

    user_id: UUID
    hash: str | None = None
    email: str = ""
    name: str = ""


async def find(db: Executor, email: str) -> Account | None:
    """Whose address this is, if anybody's."""
    row = await FIND.row(db, email=email)
    return None if row is None else Account(**row)


async def of(db: Executor, user_id: UUID) -> Account:
    """Somebody's account."""
    return Account(user_id, **await OF.one(db, user_id=user_id))


async def rehash(db: Executor, user_id: UUID, *, old_hash: str, new_hash: str) -> None:
    """Keeps the same password under other parameters, unless it was changed meanwhile."""
    await REHASH.run(db, user_id=user_id, old_hash=old_hash, hash=new_hash)


async def note_failed(db: Executor, user_id: UUID | None) -> None:
    """A failed sign-in to this account, for the audit; to none, the same statement for nothing."""
    await NOTE_FAILED.run(db, user_id=user_id)


async def code(db: Executor, said: str, *, now: datetime | None = None) -> Account:
    """Whose password a link's code would set. Raises Unauthenticated."""
    row = await CODE.row(db, code_hash=digest(said), now=now)
    if row is None:
        raise _bad_link()
    return Account(**row)


async def hold(db: Executor, user_id: UUID) -> None:
    """Holds a person until the transaction ends, so that a change of the password also ends the session of who signs in by it, or goes on
    to another workspace, at that moment."""
    await HOLD.row(db, user_id=user_id)


async def set_by_code(
    db: Executor, said: str, new_hash: str, *, trace: str | None = None, now: datetime | None = None
) -> NewSession:
    """Uses up a password link: the password is set, other sessions end, one opens. Raises Unauthenticated."""
    cookie = new_secret()
    row = await SET_BY_CODE.row(
        db,
        code_hash=digest(said),
        hash=new_hash,
        session_id=new_id(),
        session_hash=digest(cookie),
        life=SESSION_LIFE,
        trace=trace,
        now=now,
    )
    if row is None:
        raise _bad_link()
    return NewSession(cookie=cookie, **row)


async def change(db: Executor, by: Principal, *, old_hash: str, new_hash: str, trace: str | None = None) -> None:
    """Changes one's password; one's other sessions end. Raises Conflict where it was changed meanwhile."""
    given = {"user_id": by.user_id, "session_id": by.id, "workspace_id": by.workspace_id}
    if await CHANGE.row(db, **given, old_hash=old_hash, hash=new_hash, trace=trace) is None:
        raise Conflict("The password was changed a moment ago. Sign in again.")


async def set_first(db: Executor, by: Principal, new_hash: str) -> None:
    """One's first password, within 15 minutes of signing in by a link. Raises PermissionDenied otherwise."""
    if await FIRST.row(db, session_id=by.id, workspace_id=by.workspace_id, hash=new_hash) is None:
        raise PermissionDenied(
            "A first password is set within 15 minutes of signing in by a link. Ask whoever runs askbus here for one: "
            "askbus admin password-link."
        )


def _bad_link() -> Unauthenticated:
    return Unauthenticated("This link was used already or is too old. Ask for a new one: askbus admin password-link.")
