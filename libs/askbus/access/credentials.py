"""Tokens, session cookies and sign-in codes: made from the system's randomness, stored only as their SHA-256. Pure."""

import hashlib
import re
import secrets
from uuid import UUID

TOKEN_PREFIX = "askbus_"  # noqa: S105  # the fixed start that secret scanners look for

_TOKEN = re.compile(rf"{TOKEN_PREFIX}([0-9a-f]{{32}})_[A-Za-z0-9_-]{{43}}")


def new_token(row_id: UUID) -> str:
    """An API token: a prefix that secret scanners know, its row's id, 256 random bits.

    The id is no secret. It is there so that an agent on the bus knows its own subjects before anybody has told it.
    """
    return f"{TOKEN_PREFIX}{row_id.hex}_{secrets.token_urlsafe(32)}"


def token_row(token: str) -> UUID | None:
    """The row id that a token names, or None where it is no API token. It proves nothing: only the hash of the whole does."""
    found = _TOKEN.fullmatch(token)
    return None if found is None else UUID(found.group(1))


def is_api_token(bearer: str) -> bool:
    """Whether this bearer is one of askbus's own credentials, by the start that all of them have; else an issuer's, or nobody's."""
    return bearer.startswith(TOKEN_PREFIX)


def new_secret() -> str:
    """A session cookie's or a sign-in code's value: 256 random bits."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is stored of it. The value has 256 random bits, so a plain hash cannot be guessed backwards."""
    return hashlib.sha256(secret.encode()).digest()


def shown(token: str) -> str:
    """The part of a token that lists show, so that its owner can tell which it is: when its row was made, to the millisecond."""
    return token[: len(TOKEN_PREFIX) + 12]
