"""Which app is asking: by its registration, or by the metadata document that its client_id is the address of."""

import asyncio
import base64
import re
from collections.abc import Iterable
from urllib.parse import unquote_plus
from uuid import UUID

import structlog
from pydantic import ValidationError

from askbus.access.model import Principal
from askbus.db.pool import Pool
from askbus.errors import InvalidInput
from askbus.incoming import refuse_hostile
from askbus.limits.limiter import Limiter
from askbus.limits.model import Limited
from askbus.oauth import reads, verbs
from askbus.oauth.metadata import ClientMetadata, MetadataError, document_problem
from askbus.oauth.model import AuthMethod, Client
from askbus.outbound.client import Fetched, Outbound
from askbus_gateway.oauth.doors import OAuthError

log = structlog.get_logger()

FETCH_SECONDS = 5.0
LARGEST_DOCUMENT = 65_536
MOST_FETCHES = 8
"""Documents that one gateway reads at once."""
FRESH = (60, 3600, 24 * 3600)
"""Seconds for which a document is taken as read: at least, where it says nothing, and at most."""

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=\"?(\d{1,9})")


class Clients:
    """The apps. `known` are private-use redirect URIs of this deployment's own."""

    def __init__(self, pool: Pool, limits: Limiter, outbound: Outbound, known: Iterable[str]) -> None:
        self.pool = pool
        self.limits = limits
        self.outbound = outbound
        self.known = frozenset(known)
        self._fetches = asyncio.Semaphore(MOST_FETCHES)

    async def named(self, client_id: str, by: Principal) -> Client:
        """The app that brings `by` here; its document is read where it was not lately, which counts as registering it does.

        Raises OAuthError, and RateLimited.
        """
        if (row_id := _row_id(client_id)) is not None:
            found = await reads.client(self.pool, row_id, None)
            if found is None:
                raise OAuthError("invalid_client", "No app is registered under this client_id. It has to register again.", 401)
            return found[0]
        if (why := document_problem(client_id)) is not None:
            raise OAuthError("invalid_client", why, 401)
        kept = await reads.client_by_url(self.pool, client_id)
        if kept is not None and kept[1]:
            return kept[0]
        await self.limits.take(Limited.REGISTER, by)
        async with self._fetches:
            return await self._read(client_id)

    async def authenticated(self, authorization: str | None, said: dict[str, str]) -> Client:
        """The app that a request to the token endpoint comes from, which proved it where it has a secret. Raises OAuthError."""
        client_id, secret = _shown(authorization, said)
        row_id = _row_id(client_id)
        if row_id is not None:
            found = await reads.client(self.pool, row_id, secret)
        else:
            kept = await reads.client_by_url(self.pool, client_id)
            found = None if kept is None else (kept[0], False)
        challenge = {"WWW-Authenticate": 'Basic realm="askbus"'} if authorization is not None else {}
        if found is None:
            raise OAuthError("invalid_client", "No app is registered under this client_id. Register again.", 401, challenge)
        client, proved = found
        if (client.auth_method is AuthMethod.NONE) != (secret is None) or (secret is not None and not proved):
            raise OAuthError("invalid_client", "This app could not prove who it is.", 401, challenge)
        return client

    async def _read(self, url: str) -> Client:
        try:
            fetched = await self.outbound.fetch(
                "GET", url, seconds=FETCH_SECONDS, most=LARGEST_DOCUMENT, headers={"accept": "application/json"}
            )
        except InvalidInput as error:
            raise OAuthError("invalid_client", error.message, 401) from None
        if fetched.status != 200:
            log.info("oauth.document_not_read", status=fetched.status, reason=fetched.error)
            raise OAuthError("invalid_client", f"The app's metadata document could not be read: {_why(fetched)}.", 401)
        metadata = parse_document(url, fetched, self.known)
        return await verbs.remember_document(
            self.pool,
            url,
            name=metadata.name,
            redirect_uris=metadata.redirect_uris,
            refreshes=metadata.refreshes,
            fresh_for=fresh_for(fetched),
        )


def parse_document(url: str, fetched: Fetched, known: Iterable[str]) -> ClientMetadata:
    """The app's own words. Raises OAuthError where they are none, or another app's, or those of an app that cannot be taken."""
    kind = fetched.content_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise OAuthError("invalid_client", "The app's metadata document is no application/json.", 401)
    try:
        refuse_hostile(fetched.body)
        metadata = ClientMetadata.model_validate_json(fetched.body)
        metadata.check(known)
    except ValidationError:
        raise OAuthError("invalid_client", "The app's metadata document lacks what an app has to say of itself.", 401) from None
    except (InvalidInput, MetadataError) as error:
        raise OAuthError("invalid_client", f"The app's metadata document cannot be taken: {error}", 401) from None
    if metadata.client_id != url:
        raise OAuthError("invalid_client", "The app's metadata document names another client_id than its own address.", 401)
    if metadata.client_secret is not None or metadata.token_endpoint_auth_method not in {None, AuthMethod.NONE}:
        why = "An app with a metadata document has no secret here: its token_endpoint_auth_method is none."
        raise OAuthError("invalid_client", why, 401)
    return metadata


def fresh_for(fetched: Fetched) -> float:
    """For how many seconds a document need not be read again (RFC 9111, section 5.2.2), within our own bounds."""
    least, usual, most = FRESH
    found = _MAX_AGE.search(fetched.cache_control.lower())
    return float(usual if found is None else min(max(int(found[1]), least), most))


def _why(fetched: Fetched) -> str:
    if fetched.error is not None:
        return fetched.error.replace("_", " ")
    if 300 <= (fetched.status or 0) < 400:
        return "it leads elsewhere, and no redirect is followed"
    return f"its server answered {fetched.status}"


def _row_id(client_id: str) -> UUID | None:
    try:
        row_id = UUID(client_id)
    except ValueError:
        return None
    return row_id if str(row_id) == client_id else None


def _shown(authorization: str | None, said: dict[str, str]) -> tuple[str, str | None]:
    """The client_id and the secret, shown in one place (RFC 6749, section 2.3.1)."""
    in_body = said.get("client_secret")
    if authorization is None:
        client_id = said.get("client_id")
        if client_id is None:
            raise OAuthError("invalid_client", "Say which app this is: client_id.", 401)
        return client_id, in_body
    name, colon, secret = _basic(authorization)
    if in_body is not None or said.get("client_id", name) != name or not colon or "\0" in name + secret:
        raise OAuthError("invalid_request", "Say in one place alone which app this is.")
    return name, secret or None


def _basic(authorization: str) -> tuple[str, str, str]:
    """Name and secret, each form-encoded (RFC 6749, section 2.3.1), and the colon between them."""
    scheme, _, encoded = authorization.partition(" ")
    wrong = OAuthError("invalid_client", "Send `Authorization: Basic …`, or the client_id in the body.", 401)
    if scheme.lower() != "basic":
        raise wrong
    try:
        name, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode("utf-8").partition(":")
        return unquote_plus(name, errors="strict"), colon, unquote_plus(secret, errors="strict")
    except ValueError:
        raise wrong from None
