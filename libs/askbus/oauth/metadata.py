"""What an app says of itself, when it registers or in its metadata document (RFC 7591, section 2). Pure: nobody checked any of it."""

import unicodedata
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from askbus.oauth.model import AuthMethod
from askbus.oauth.redirects import MOST, problem

LONGEST_NAME = 100
LARGEST = 16_384
"""Bytes of a registration."""


class MetadataError(Exception):
    """The app cannot be taken; `error` is a code of RFC 7591, section 3.2.2, the text says why."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


class ClientMetadata(BaseModel):
    """The fields that count here; all others are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    client_id: str | None = None
    client_secret: str | None = None
    client_name: str | None = None
    redirect_uris: Annotated[tuple[str, ...], Field(min_length=1, max_length=MOST)]
    token_endpoint_auth_method: str | None = None
    grant_types: tuple[str, ...] | None = None
    response_types: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """What it calls itself, fit to be shown, or else the host that it sends people back to."""
        return shown_name(self.client_name or "") or urlsplit(self.redirect_uris[0]).netloc

    @property
    def refreshes(self) -> bool:
        """Whether it takes refresh tokens: unless it says what it takes and leaves them out."""
        return self.grant_types is None or "refresh_token" in self.grant_types

    @property
    def method(self) -> AuthMethod:
        """How it proves at the token endpoint who it is. Raises MetadataError for a way that there is not here."""
        try:
            return AuthMethod(self.token_endpoint_auth_method or AuthMethod.BASIC)
        except ValueError:
            ways = ", ".join(AuthMethod)
            raise MetadataError("invalid_client_metadata", f"token_endpoint_auth_method is one of {ways}.") from None

    def check(self, known: Iterable[str] = ()) -> None:
        """Raises MetadataError where no such app can be taken. `known` are private-use redirect URIs of this deployment's."""
        for uri in self.redirect_uris:
            if (why := problem(uri, known)) is not None:
                raise MetadataError("invalid_redirect_uri", why)
        if self.grant_types is not None and "authorization_code" not in self.grant_types:
            raise MetadataError("invalid_client_metadata", "grant_types must have authorization_code: there is no other way in.")
        if self.response_types is not None and "code" not in self.response_types:
            raise MetadataError("invalid_client_metadata", "response_types must have code.")


def shown_name(name: str) -> str:
    """A name without what hides, turns round or breaks a line: controls, formats and odd blanks."""
    normal = unicodedata.normalize("NFKC", name)
    plain = "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in normal)
    return " ".join(plain.split())[:LONGEST_NAME].strip()


def document_problem(url: str) -> str | None:
    """Why this is no client_id of an app with a metadata document (Client ID Metadata Document draft, section 3); None where it is."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises where it is none
    except ValueError:
        return "This client_id is no address."
    path = parts.path
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or "#" in url or path in {"", "/"}:
        return "A client_id that is an address starts with https://, and has a path, no user, no password and no fragment."
    if any(segment in {".", ".."} for segment in path.split("/")):
        return "The path of a client_id has no dot segments."
    return None
