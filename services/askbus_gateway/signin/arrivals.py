"""Who comes from an issuer, signed in there: a member, or somebody whose address was invited."""

from askbus.access import identities, joining, reads, sessions
from askbus.access.verbs import NewSession
from askbus.db.ids import new_id
from askbus.db.pool import Pool
from askbus.errors import Conflict, PermissionDenied
from askbus.identity.model import Identity
from askbus.runtime.telemetry import traceparent
from askbus_gateway.signin.providers import Failure, SignInFailedError

LONGEST_NAME = 200


async def arrive(pool: Pool, identity: Identity) -> NewSession:
    """A session for whose identity this is; a pending invitation of their verified address makes them a member first. Raises
    SignInFailedError, having changed nothing, for whoever is nobody here."""
    session_id, trace = new_id(), traceparent()
    try:
        async with pool.acquire() as db, db.transaction():
            user_id = await identities.person_of(db, identity)
            if identity.email is not None and (user_id is None or not await reads.workspaces_of(db, user_id)):
                name = (identity.name or identity.email.partition("@")[0])[:LONGEST_NAME]
                joined = await joining.accept_proven(db, identity.email, name=name, session_id=session_id, trace=trace)
                # Whoever has the address now, and another identity at this issuer, is not this person.
                if joined is not None and await identities.person_of(db, identity) == joined[1]:
                    user_id = joined[1]
                elif joined is not None:
                    raise SignInFailedError(Failure.NOBODY, "address_of_somebody_else")
            if user_id is None:
                raise SignInFailedError(Failure.NOBODY, "no_member")
            return await sessions.open_session(db, user_id, "issuer", session_id=session_id, trace=trace)
    except (PermissionDenied, Conflict):
        raise SignInFailedError(Failure.NOBODY, "no_membership") from None
