"""Which issuers a deployment trusts, and for what. Pure."""

from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, StringConstraints

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Signatures with a key pair alone (RFC 7518, 3.1; RFC 8037; RFC 9864): nobody who can check one can make one."""

LONGEST_SUBJECT = 255
"""Characters (OpenID Connect Core 1.0, section 2: it must not exceed 255 ASCII characters)."""


def _issuer(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc or "?" in url or "#" in url:
        raise ValueError("must be an https URL without user, query and fragment, exactly as the issuer names itself")
    return url


IssuerUrl = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_issuer)]
"""Compared as it stands, port and final slash included (OpenID Connect Discovery 1.0, 4.3)."""

Algorithms = Annotated[tuple[Algorithm, ...], Field(min_length=1)]
ProviderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]


class Claims(BaseModel):
    """In which claims an issuer says who somebody is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: str = "sub"
    email: str = "email"
    email_verified: str = "email_verified"
    name: str = "name"


class Trusted(BaseModel):
    """An issuer, and how far it is believed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: IssuerUrl
    algorithms: Algorithms = ("RS256", "ES256")
    claims: Claims = Claims()
    trust_email: bool = Field(
        default=False, description="Whether every address that it names is one that it verified, though it does not say so."
    )


class JwtIssuer(Trusted):
    """An issuer whose JWTs are taken as bearer tokens."""

    audience: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    types: Annotated[tuple[str, ...], Field(min_length=1)] = ("JWT", "at+jwt")
    """Values of the header `typ` (RFC 8725, 3.11), compared without case; without the header a token is a JWT."""


def check_issuers(issuers: Mapping[str, JwtIssuer]) -> None:
    """Raises ValueError where an issuer is named twice: a token is judged by one configuration alone."""
    if len({one.issuer for one in issuers.values()}) < len(issuers):
        raise ValueError("each issuer is named once")


class Provider(Trusted):
    """An issuer where people sign in: this deployment is its client."""

    label: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    client_id: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    client_secret: SecretStr | None = None
    scopes: tuple[str, ...] = ("openid", "email", "profile")


class Identity(BaseModel):
    """Who somebody is, as an issuer says it. `email` only where it is one that the issuer verified."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    subject: str
    email: str | None
    name: str | None
