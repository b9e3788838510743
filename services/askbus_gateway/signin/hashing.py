"""Passwords as argon2id hashes, made and checked beside the event loop, few at once: each takes 64 MiB and some tenths of a second."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from askbus.access.password_rules import LONGEST, normalised
from askbus.errors import Unavailable

R = TypeVar("R")

AT_ONCE = 2
WAITING = 16
"""How many may wait for their turn; who comes after that is told to try again, and costs nothing."""

NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$Xr+YJjMB+GaopQken19UIQ$pWWMnUGvV+dNuaHBAlNO48qNGfbyLlSADx/2caRKgIU"
"""A hash under the parameters of today that no password has: checked where there is no account, so that it takes as long."""


@dataclass(frozen=True)
class Verdict:
    """`renewed` is a hash of the same password under the parameters of today, where the stored one is of others."""

    matches: bool
    renewed: str | None = None


class Hashing:
    """Parameters are those that RFC 9106, section 4, recommends where memory is scarce: t=3, p=4, 64 MiB."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="passwords")
        self._busy = 0

    async def hash(self, password: str) -> str:
        """Its hash, with a new salt. Raises Unavailable where too many wait."""
        return await self._aside(self._hasher.hash, normalised(password))

    async def check(self, password: str, stored: str | None) -> Verdict:
        """Whether it is the password of this hash; without one, the same work for nothing. Raises Unavailable where too many wait."""
        return await self._aside(self._check, normalised(password)[: LONGEST + 1], stored)

    def close(self) -> None:
        """Lets what has begun end by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, password: str, stored: str | None) -> Verdict:
        try:
            self._hasher.verify(stored or NOBODYS, password)
        except (VerificationError, InvalidHashError):
            return Verdict(matches=False)
        if stored is None:
            return Verdict(matches=False)
        stale = self._hasher.check_needs_rehash(stored)
        return Verdict(matches=True, renewed=self._hasher.hash(password) if stale else None)

    async def _aside(self, work: Callable[..., R], *given: object) -> R:
        if self._busy >= AT_ONCE + WAITING:
            raise Unavailable("Many people are signing in at this moment. Try again.", {"retry_after": 2})
        self._busy += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
        finally:
            self._busy -= 1
