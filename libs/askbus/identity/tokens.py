"""A token of an issuer's, checked: signature, issuer, audience, times, type (RFC 7519, RFC 8725; OpenID Connect Core 1.0, 3.1.3.7)."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry

from askbus.access.addresses import looks_like_another
from askbus.errors import Unauthenticated
from askbus.identity.model import LONGEST_SUBJECT, Identity, Trusted

LONGEST = 8192
"""Characters of a token."""
LEEWAY = 30
"""Seconds by which an issuer's clock may be ahead; nothing is given beyond `exp`."""
DEEPEST = 16
"""Levels of nesting in its JSON."""
LAST_TIME = 253_402_300_799
"""The last second of the calendar."""

_JWT = re.compile(r"eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")


class Keys(Protocol):
    """Where the keys of an issuer are had from."""

    async def key(self, kid: str | None) -> Key | None: ...


@dataclass(frozen=True)
class Checked:
    """Who a good token speaks of, until when, and what else it says."""

    identity: Identity
    expires_at: datetime
    header: Mapping[str, Any]
    claims: Mapping[str, Any]


def looks_like_jwt(bearer: str) -> bool:
    """Whether it has the form of a signed JWT: three parts of base64url, the first a JSON object. It proves nothing."""
    return _JWT.fullmatch(bearer) is not None


def named_issuer(token: str) -> str | None:
    """Whom a token claims to be from, nothing checked: so as to know whose keys to check it with."""
    parts = token.split(".")
    claims = _json(parts[1]) if len(parts) == 3 and len(token) <= LONGEST else None
    issuer = claims.get("iss") if claims is not None else None
    return issuer if isinstance(issuer, str) else None


async def check(token: str, trusted: Trusted, audience: str, keys: Keys, *, types: tuple[str, ...], now: datetime) -> Checked:
    """What the token says, where all of it holds. Raises Unauthenticated, saying what is wrong; Unavailable where the keys cannot
    be had."""
    if len(token) > LONGEST or not looks_like_jwt(token):
        raise Unauthenticated(f"This is no signed JWT of at most {LONGEST} characters.")
    header = _json(token.split(".", maxsplit=1)[0])
    if header is None or _json(token.split(".")[1]) is None:
        raise Unauthenticated("This is no signed JWT: its parts are not JSON.")
    algorithm, kid, typ = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if algorithm not in trusted.algorithms:
        raise Unauthenticated(f"This JWT is signed by no algorithm that is taken: {', '.join(trusted.algorithms)}.")
    if not isinstance(typ, str) or _type(typ) not in {_type(one) for one in types}:
        raise Unauthenticated(f"This JWT is of another type than {', '.join(types)}.")
    if "crit" in header:
        raise Unauthenticated("This JWT has headers that must be understood (`crit`), and none is understood here.")
    if kid is not None and not isinstance(kid, str):
        raise Unauthenticated("This JWT names its key wrongly.")
    key = await keys.key(kid)
    if key is None:
        raise Unauthenticated("This JWT is signed with a key that its issuer does not publish.")
    try:
        decoded = jwt.decode(token, key, registry=JWSRegistry(algorithms=list(trusted.algorithms), strict_check_header=False))
        claims = decoded.claims
        _registry(trusted.issuer, int(now.timestamp())).validate(claims)
    except (JoseError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise Unauthenticated(f"This JWT does not hold: {_why(error)}.") from None
    if claims["aud"] not in (audience, [audience]):
        raise Unauthenticated("This JWT is for another audience, or for others besides.")
    return Checked(_identity(claims, trusted), _time(claims["exp"]), decoded.header, claims)


def _registry(issuer: str, now: int) -> jwt.JWTClaimsRegistry:
    return _Times(
        now,
        LEEWAY,
        iss={"essential": True, "value": issuer},
        aud={"essential": True},
        exp={"essential": True},
    )


class _Times(jwt.JWTClaimsRegistry):
    """No leeway after the end: a session ends when its token does."""

    def validate_exp(self, value: object) -> None:
        self.leeway, kept = 0, self.leeway
        try:
            super().validate_exp(value)
        finally:
            self.leeway = kept


def _why(error: Exception) -> str:
    """joserfc's own word for it: `expired_token`, `bad_signature`, `invalid_claim`."""
    return str(error.error) if isinstance(error, JoseError) else "invalid"


def _type(value: str) -> str:
    return value.lower().removeprefix("application/")


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(min(int(seconds), LAST_TIME), UTC)


def _identity(claims: Mapping[str, Any], trusted: Trusted) -> Identity:
    named = trusted.claims
    subject = claims.get(named.subject)
    if not isinstance(subject, str) or not 0 < len(subject) <= LONGEST_SUBJECT or not subject.isprintable():
        raise Unauthenticated(
            f"This JWT does not say whom it speaks of: `{named.subject}` is missing, too long or not printable."
        )
    email, name = claims.get(named.email), claims.get(named.name)
    verified = trusted.trust_email or claims.get(named.email_verified) is True
    usable = isinstance(email, str) and verified and len(email) <= 320 and email.isprintable() and not looks_like_another(email)
    return Identity(
        issuer=trusted.issuer,
        subject=subject,
        email=email if usable else None,
        name=name if isinstance(name, str) and name.isprintable() else None,
    )


def _json(part: str) -> dict[str, Any] | None:
    """A part of a token as an object; None where it is none, or nested too deep for a parser that recurses."""
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        if data.count(b"[") + data.count(b"{") > DEEPEST * 16 or _deep(data):
            return None
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _deep(data: bytes) -> bool:
    """Whether brackets are open beyond DEEPEST at once, those in texts counted too: no issuer's token comes near."""
    level = 0
    for byte in data:
        level += (byte in b"[{") - (byte in b"]}")
        if level > DEEPEST:
            return True
    return False
