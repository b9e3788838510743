"""What is limited, and how a bucket of permits fills. Pure.

A bucket is the generic cell rate algorithm (ITU-T I.371, annex A) in whole microseconds: it is known by the one moment at which it is full
again, and a take moves that moment on by what the permits cost.
"""

import math
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from hashlib import blake2b
from uuid import UUID

from askbus.errors import RateLimited

MICROSECONDS = 1_000_000
LEASE = 1.0
"""Seconds of a bucket's refill that one process may take in advance, and for how long it may use them."""


class Limited(StrEnum):
    """What is counted, each for whom it names: a principal by its key, an account or an address by its text."""

    CHAT = "chat"
    ASK = "ask"
    TOOLS = "tools"
    MCP = "mcp"
    SIGN_IN_ACCOUNT = "sign_in_account"
    SIGN_IN_ADDRESS = "sign_in_address"
    REGISTER = "register"


@dataclass(frozen=True)
class Bucket:
    """Holds `permits`, and fills evenly from empty to full in `seconds`. `leased`: a process may take some in advance."""

    name: Limited
    permits: int
    seconds: int
    leased: bool = False

    @property
    def cost(self) -> int:
        """Microseconds in which one permit comes back, rounded up, so that rounding never gives more than the limit."""
        return math.ceil(self.seconds * MICROSECONDS / self.permits)

    @property
    def room(self) -> int:
        """Microseconds in which an empty bucket fills."""
        return self.cost * self.permits

    @property
    def lease(self) -> int:
        """Permits that one process may hold at most beyond those that it uses now."""
        return int(self.permits / self.seconds * LEASE) if self.leased else 0

    def clamped(self, wanted: int) -> int:
        """Who wants more than the bucket holds, takes all that it holds: else they would never get it."""
        return min(wanted, self.permits)

    def refusal(self, wait: timedelta) -> RateLimited:
        """The error that says when to come back, in whole seconds, as Retry-After has it (RFC 9110, 10.2.3)."""
        seconds = max(1, math.ceil(wait.total_seconds()))
        return RateLimited(
            f"Too often: at most {self.permits} in {self.seconds} seconds. Try again in {seconds} seconds.",
            {"retry_after": seconds, "limit": self.name.value},
        )


def key_of(text: str) -> UUID:
    """What stands for an account's name or an address: of one size, and not to be read off the table."""
    return UUID(bytes=blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
