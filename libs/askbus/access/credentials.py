"""Tokens, session cookies and sign-in codes: made from the system's randomness, stored only as their SHA-256. Pure."""

import hashlib
import secrets

TOKEN_PREFIX = "askbus_"  # noqa: S105  # the fixed start that secret scanners look for


def new_token() -> str:
    """An API token: 256 random bits behind a prefix that secret scanners know."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def new_secret() -> str:
    """A session cookie's or a sign-in code's value: 256 random bits."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """What is stored of it. The value has 256 random bits, so a plain hash cannot be guessed backwards."""
    return hashlib.sha256(secret.encode()).digest()


def shown(token: str) -> str:
    """The part of a token that lists show, so that its owner can tell which it is."""
    return token[: len(TOKEN_PREFIX) + 6]
