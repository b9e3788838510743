"""Ids that an agent gives to its own questions."""

import secrets
import time
from uuid import UUID


def new_question_id() -> UUID:
    """A UUIDv7 (RFC 9562, 5.7): the millisecond, then random bits. Lists of questions are ordered by it."""
    stamp = time.time_ns() // 1_000_000
    chance = secrets.randbits(74)
    return UUID(int=stamp << 80 | 0x7 << 76 | chance >> 62 << 64 | 0b10 << 62 | chance & ((1 << 62) - 1))
