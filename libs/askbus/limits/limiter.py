"""The limits of one process: it asks Postgres, remembers who was refused until when, and takes some permits of busy callers in advance."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Self, TypeAlias, TypeVar
from uuid import UUID

from askbus.access.model import Principal, PrincipalKind
from askbus.db.pool import Pool
from askbus.limits.model import LEASE, Bucket, Limited, key_of
from askbus.limits.verbs import take_some
from askbus.runtime.settings import Settings

MINUTE, QUARTER, HOUR = 60, 15 * 60, 3600
REMEMBERED = 10_000
"""Callers of whom a process remembers something at once. Whoever is forgotten costs a round trip more, and no permit too many."""

Caller: TypeAlias = tuple[Limited, UUID]
T = TypeVar("T")


@dataclass
class _Refused:
    """There were not `permits` before `until`; others can only have taken more since."""

    permits: int
    until: float


@dataclass
class _Lease:
    """Permits that were taken in advance, and may be used until `until`."""

    left: int = 0
    until: float = 0
    size: int = 1
    growing: bool = False


def buckets(settings: Settings) -> list[Bucket]:
    """The limits that are on."""
    known = [
        Bucket(Limited.CHAT, settings.limit_chat, MINUTE),
        Bucket(Limited.ASK, settings.limit_ask, MINUTE),
        Bucket(Limited.TOOLS, settings.limit_tools, MINUTE, leased=True),
        Bucket(Limited.MCP, settings.limit_mcp, MINUTE, leased=True),
        Bucket(Limited.SIGN_IN_ACCOUNT, settings.limit_sign_in_account, QUARTER),
        Bucket(Limited.SIGN_IN_ADDRESS, settings.limit_sign_in_address, QUARTER),
        Bucket(Limited.REGISTER, settings.limit_register, HOUR),
    ]
    return [bucket for bucket in known if bucket.permits]


def key_for(by: Principal) -> UUID:
    """A token counts by itself, and all sessions of a person together: they could sign in as often as they like."""
    return key_of(f"{by.user_id} {by.workspace_id}") if by.kind is PrincipalKind.SESSION else by.id


class Limiter:
    """One for a process. `clock` is for tests: seconds that never go back."""

    def __init__(self, pool: Pool, limits: Iterable[Bucket], clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._buckets = {bucket.name: bucket for bucket in limits}
        self._clock = clock
        self._refused: OrderedDict[Caller, _Refused] = OrderedDict()
        self._leases: OrderedDict[Caller, _Lease] = OrderedDict()

    @classmethod
    def of(cls, pool: Pool, settings: Settings) -> Self:
        return cls(pool, buckets(settings))

    async def take(self, what: Limited, who: Principal | UUID | str, n: int = 1) -> None:
        """Takes `n` permits of this principal, id, account or address. Raises RateLimited, which says when to come back; where Postgres is
        away, what asyncpg raises: no door stands open because nobody counts."""
        bucket = self._buckets.get(what)
        if bucket is None:
            return
        key = key_for(who) if isinstance(who, Principal) else who if isinstance(who, UUID) else key_of(who)
        caller, n, now = (what, key), bucket.clamped(n), self._clock()
        refused = self._refused.get(caller)
        if refused is not None and refused.permits <= n and now < refused.until:
            raise bucket.refusal(timedelta(seconds=refused.until - now))
        lease = self._leases.get(caller) or _Lease()
        if lease.left >= n and now < lease.until:
            lease.left -= n
            return
        await self._fetch(bucket, caller, n, lease)

    async def _fetch(self, bucket: Bucket, caller: Caller, n: int, lease: _Lease) -> None:
        """Takes what is needed now, and of a caller who came back within the life of their lease twice as many ahead as last time."""
        alone = not lease.growing
        alive = self._clock() < lease.until
        ahead = min(bucket.lease - lease.left, 2 * lease.size) if alone and alive else 0
        lease.growing = True
        try:
            taken = await take_some(self._pool, bucket, caller[1], least=n, most=n + ahead)
        finally:
            lease.growing = lease.growing and not alone
        now = self._clock()
        if not taken.permits:
            _remember(self._refused, caller, _Refused(n, now + taken.wait.total_seconds()))
            raise bucket.refusal(taken.wait)
        if alone and bucket.lease:
            left = lease.left if now < lease.until else 0
            _remember(self._leases, caller, _Lease(left + taken.permits - n, now + LEASE, max(1, ahead)))


def _remember(known: OrderedDict[Caller, T], caller: Caller, what: T) -> None:
    known.pop(caller, None)
    known[caller] = what
    if len(known) > REMEMBERED:
        known.popitem(last=False)
