"""Local accounts: signing in by a password, setting one and changing it."""

from askbus.access import passwords, sessions
from askbus.access.addresses import folded
from askbus.access.model import Principal
from askbus.access.password_rules import check_password
from askbus.access.verbs import NewSession
from askbus.db.pool import Pool
from askbus.errors import InvalidInput, PermissionDenied, Unauthenticated
from askbus.limits.limiter import Limiter
from askbus.limits.model import Limited
from askbus.runtime.telemetry import traceparent
from askbus_gateway.signin.hashing import Hashing


class Accounts:
    """`on`: whether passwords are in use here (ASKBUS_PASSWORDS)."""

    def __init__(self, pool: Pool, hashing: Hashing, limits: Limiter, *, on: bool) -> None:
        self.pool = pool
        self.limits = limits
        self.hashing = hashing
        self.on = on

    async def sign_in(self, email: str, password: str) -> NewSession:
        """Opens a session. Raises RateLimited, and Unauthenticated in the same words and after the same time whether or not there is
        such an account."""
        self._require_on()
        await self._attempt(email)
        account = await passwords.find(self.pool, email)
        stored = None if account is None else account.hash
        verdict = await self.hashing.check(password, stored)
        if account is None or stored is None or not verdict.matches:
            await passwords.note_failed(self.pool, None if account is None else account.user_id)
            raise _wrong()
        if verdict.renewed is not None:
            await passwords.rehash(self.pool, account.user_id, old_hash=stored, new_hash=verdict.renewed)
        return await sessions.open_session(
            self.pool, account.user_id, "password", password_hash=verdict.renewed or stored, trace=traceparent()
        )

    async def set_by_code(self, code: str, password: str) -> NewSession:
        """Sets a password with a link's code, and opens a session. Raises Unauthenticated, InvalidInput."""
        self._require_on()
        account = await passwords.code(self.pool, code)
        new_hash = await self.hashing.hash(check_password(password, (account.email, account.name)))
        async with self.pool.acquire() as db, db.transaction():
            await passwords.hold(db, account.user_id)
            return await passwords.set_by_code(db, code, new_hash, trace=traceparent())

    async def has_password(self, by: Principal) -> bool:
        """Whether they have one."""
        return (await passwords.of(self.pool, by.user_id)).hash is not None

    async def change(self, by: Principal, password: str, current: str | None) -> None:
        """Changes one's password, or sets the first. Raises InvalidInput, PermissionDenied, Conflict."""
        self._require_on()
        if by.demo:
            raise PermissionDenied("This is a demo account: it can look at everything and change nothing.")
        account = await passwords.of(self.pool, by.user_id)
        fit = check_password(password, (account.email, account.name))
        if account.hash is None:
            await passwords.set_first(self.pool, by, await self.hashing.hash(fit))
            return
        if current is None:
            raise InvalidInput("Send the current password too.", {"field": "current"})
        await self._attempt(account.email)
        if not (await self.hashing.check(current, account.hash)).matches:
            await passwords.note_failed(self.pool, by.user_id)
            raise PermissionDenied("The current password is wrong.", {"field": "current"})
        new_hash = await self.hashing.hash(fit)
        async with self.pool.acquire() as db, db.transaction():
            await passwords.hold(db, by.user_id)
            await passwords.change(db, by, old_hash=account.hash, new_hash=new_hash, trace=traceparent())

    async def _attempt(self, email: str) -> None:
        """Whether or not there is such an account. Raises RateLimited."""
        await self.limits.take(Limited.SIGN_IN_ACCOUNT, folded(email))

    def _require_on(self) -> None:
        if not self.on:
            raise PermissionDenied("Passwords are switched off here (ASKBUS_PASSWORDS). Sign in by a link or at an issuer.")


def _wrong() -> Unauthenticated:
    return Unauthenticated("The e-mail address or the password is wrong.")
