"""Apps, what they may ask for, and what becomes of their codes and tokens. Pure."""

import base64
import hashlib
import hmac
import re
from enum import StrEnum
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from askbus.access.credentials import TOKEN_PREFIX, new_secret
from askbus.access.model import READING, Principal, Role, Scope
from askbus.errors import PermissionDenied

GRANTABLE = (
    Scope.DATA_READ,
    Scope.DATA_REFRESH,
    Scope.CHARTS_PREVIEW,
    Scope.DATASETS_WRITE,
    Scope.QUESTIONS_ASK,
    Scope.ACTIONS_PROPOSE,
)
"""All that an app may ever hold, and what one asks for that names no scopes. Answering, confirming and chatting are people's."""

TICKED = READING
"""What the consent page ticks by itself. Everything else writes, and waits for the person's own hand."""

ACCESS_LIFE = 10 * 60
CODE_LIFE = 60
REQUEST_LIFE = 10 * 60
REFRESH_LIFE = 30 * 24 * 3600
"""Seconds, each. A grant that was not used for a refresh token's life is over."""

GRACE = 10
"""Seconds in which an exchange of a refresh token may be repeated: real clients send it from two processes at once."""

ACCESS_PREFIX = f"{TOKEN_PREFIX}at_"
REFRESH_PREFIX = f"{TOKEN_PREFIX}rt_"

_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class AuthMethod(StrEnum):
    """How an app proves at the token endpoint who it is (RFC 7591, section 2). `none`: it does not, PKCE does."""

    NONE = "none"
    BASIC = "client_secret_basic"
    POST = "client_secret_post"


class Client(BaseModel):
    """An app. What it says of itself nobody checked; `url` is where its metadata document is, None for one that registered."""

    model_config = ConfigDict(frozen=True)
    id: UUID
    url: str | None
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: AuthMethod
    refreshes: bool

    @property
    def client_id(self) -> str:
        """What it calls itself on the wire."""
        return self.url or str(self.id)


class Verdict(StrEnum):
    """What came of a code or a refresh token. All but the first two refuse it."""

    GRANTED = "granted"
    REPEATED = "repeated"
    """The same exchange once more, within the grace."""
    UNKNOWN = "unknown"
    REPLAYED = "replayed"
    """It had been used: the grant was revoked."""
    EXPIRED = "expired"
    FOREIGN = "foreign"
    """Another app's."""
    OTHER_REDIRECT = "other_redirect"
    WRONG_VERIFIER = "wrong_verifier"
    OTHER_RESOURCE = "other_resource"
    WIDER = "wider"
    """More scopes than the person allowed."""
    ENDED = "ended"
    """The grant was revoked, or the person is no member any more."""
    OFF = "off"
    """The workspace lets no agents in over MCP."""


class Issued(BaseModel):
    """What came of an exchange; the tokens only where it was granted or repeated."""

    model_config = ConfigDict(frozen=True)
    verdict: Verdict
    access_token: str | None = None
    refresh_token: str | None = None
    scopes: tuple[Scope, ...] = ()


def new_access_token() -> str:
    """A prefix that secret scanners know, and 256 random bits."""
    return ACCESS_PREFIX + new_secret()


def new_refresh_token() -> str:
    """The same for a refresh token."""
    return REFRESH_PREFIX + new_secret()


def successor_of(refresh_token: str, salt: bytes) -> str:
    """The refresh token that follows this one: HMAC-SHA-256 of the salt that is stored with its use, under the token, which is not."""
    made = hmac.new(refresh_token.encode(), salt, hashlib.sha256).digest()
    return REFRESH_PREFIX + base64.urlsafe_b64encode(made).rstrip(b"=").decode()


def challenge_of(verifier: str) -> str | None:
    """The S256 challenge of a PKCE verifier (RFC 7636, sections 4.1 and 4.2), or None where it is none."""
    if _VERIFIER.fullmatch(verifier) is None:
        return None
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def is_challenge(text: str) -> bool:
    """Whether it can be an S256 challenge: 256 bits in base64url without padding."""
    return _CHALLENGE.fullmatch(text) is not None


def asked_scopes(scope: str | None) -> tuple[Scope, ...]:
    """The grantable ones of a `scope` parameter, in our order; all of them where it is missing or empty. What no app may hold, or nobody
    knows, is left out (RFC 6749, section 3.3)."""
    words = set((scope or "").split())
    return GRANTABLE if not words else tuple(each for each in GRANTABLE if each.value in words)


def runs_workspace(by: Principal) -> bool:
    """Whether they see every project, and all that others connected."""
    return by.role in {Role.OWNER, Role.ADMIN}


def require_admin(by: Principal) -> None:
    """Raises PermissionDenied for who does not run the workspace."""
    if not runs_workspace(by):
        raise not_admin()


def not_admin() -> PermissionDenied:
    """What who does not run the workspace is told, where only they may."""
    return PermissionDenied("Only owners and admins of the workspace can do this.")
