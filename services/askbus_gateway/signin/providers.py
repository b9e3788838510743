"""Issuers where people sign in: this deployment is their client (OpenID Connect Core 1.0, 3.1; PKCE, RFC 7636; `iss`, RFC 9207).

What proves that a browser which comes back is the one that went is a secret in its cookie: `nonce` and code verifier are made from it
and from `state`, so that nothing of the kind is stored.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import httpx2
from authlib.integrations.base_client.errors import AuthlibBaseError  # type: ignore[import-untyped]
from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc.errors import JoseError

from askbus.errors import NotFound, Unauthenticated, Unavailable
from askbus.identity.issuer import LARGEST, PATIENCE, Issuer, Metadata
from askbus.identity.model import Identity, Provider
from askbus.identity.tokens import LEEWAY, Checked, check
from askbus.outbound.client import Outbound
from askbus.outbound.transport import CheckedTransport


class Failure(StrEnum):
    """Why a sign-in at an issuer came to nothing: what the console says in a sentence."""

    DENIED = "denied"
    STALE = "stale"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    NOBODY = "nobody"


class SignInFailedError(Exception):
    """A sign-in came to nothing. `reason` is for the log: a word, and nothing that the issuer said."""

    def __init__(self, failure: Failure, reason: str) -> None:
        super().__init__(reason)
        self.failure = failure
        self.reason = reason


@dataclass(frozen=True)
class Return:
    """What a browser brings back from an issuer, and the secret in its cookie."""

    code: str | None
    state: str
    issuer: str | None
    browser: str


class Providers:
    """The issuers of the settings, by the name in their addresses."""

    def __init__(self, configured: Mapping[str, Provider], outbound: Outbound, public_url: str) -> None:
        self.configured = configured
        self._outbound = outbound
        self._public_url = public_url.rstrip("/")
        self._issuers = {name: Issuer(one.issuer, outbound) for name, one in configured.items()}

    def known(self, name: str) -> Provider:
        """Raises NotFound."""
        if name not in self.configured:
            raise NotFound("Nobody signs in there: there is no such issuer.")
        return self.configured[name]

    async def address(self, name: str, *, state: str, browser: str) -> str:
        """Where the browser goes to sign in. Raises NotFound, and Unavailable where the issuer cannot be reached."""
        self.known(name)
        metadata = await self._issuers[name].metadata()
        if metadata.authorization_endpoint is None or metadata.token_endpoint is None:
            raise Unavailable("This issuer does not say where people sign in.")
        async with self._client(name, metadata) as client:
            url, _state = client.create_authorization_url(
                metadata.authorization_endpoint,
                state=state,
                nonce=_derived(browser, "nonce", state),
                code_verifier=_derived(browser, "verifier", state),
            )
        return str(url)

    async def identity(self, name: str, back: Return) -> Identity:
        """Whom the issuer says the browser came back as. Raises SignInFailedError."""
        provider = self.known(name)
        try:
            metadata = await self._issuers[name].metadata()
            # Mix-up: the answer must be of the issuer that was asked, wherever it says whose it is.
            named = back.issuer is not None or metadata.authorization_response_iss_parameter_supported
            if back.code is None or (named and back.issuer != provider.issuer):
                raise SignInFailedError(Failure.REFUSED, "no_code" if back.code is None else "another_issuer")
            said = await self._exchange(name, metadata, back)
            token = said.get("id_token")
            if not isinstance(token, str):
                raise SignInFailedError(Failure.REFUSED, "no_id_token")
            checked = await check(token, provider, provider.client_id, self._issuers[name], types=("JWT",), now=datetime.now(UTC))
        except Unavailable:
            raise SignInFailedError(Failure.UNREACHABLE, "issuer") from None
        except Unauthenticated as error:
            raise SignInFailedError(Failure.REFUSED, error.message) from None
        _check_answer(checked, provider, nonce=_derived(back.browser, "nonce", back.state), access=said.get("access_token"))
        return checked.identity

    async def close(self) -> None:
        """Gives up what is being read from issuers."""
        for issuer in self._issuers.values():
            await issuer.close()

    async def _exchange(self, name: str, metadata: Metadata, back: Return) -> Mapping[str, object]:
        async with self._client(name, metadata) as client:
            try:
                said = await client.fetch_token(
                    metadata.token_endpoint,
                    grant_type="authorization_code",
                    code=back.code,
                    redirect_uri=client.redirect_uri,
                    code_verifier=_derived(back.browser, "verifier", back.state),
                )
            except (httpx2.TransportError, httpx2.HTTPStatusError):
                raise SignInFailedError(Failure.UNREACHABLE, "token_endpoint") from None
            except (AuthlibBaseError, ValueError):
                raise SignInFailedError(Failure.REFUSED, "code_not_taken") from None
        return dict(said)

    def _client(self, name: str, metadata: Metadata) -> Any:  # an AsyncOAuth2Client: Authlib has no types
        provider = self.configured[name]
        secret = provider.client_secret and provider.client_secret.get_secret_value()
        methods = metadata.token_endpoint_auth_methods_supported
        by_header = "client_secret_basic" in methods or "client_secret_post" not in methods
        return AsyncOAuth2Client(
            client_id=provider.client_id,
            client_secret=secret,
            token_endpoint_auth_method=("client_secret_basic" if by_header else "client_secret_post") if secret else "none",
            scope=" ".join(provider.scopes),
            redirect_uri=f"{self._public_url}/v1/sign-in/{name}/callback",
            code_challenge_method="S256",
            transport=CheckedTransport(self._outbound, seconds=PATIENCE, most=LARGEST),
        )


def _check_answer(checked: Checked, provider: Provider, *, nonce: str, access: object) -> None:
    """That the ID token answers this very question: nonce, azp and at_hash (OpenID Connect Core 1.0, 3.1.3.7 and 3.1.3.8)."""
    asked = {"nonce": nonce, "client_id": provider.client_id, "access_token": access if isinstance(access, str) else None}
    try:
        CodeIDToken(checked.claims, checked.header, params=asked).validate(leeway=LEEWAY)
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        reason = error.error if isinstance(error, JoseError) else "invalid_claim"
        raise SignInFailedError(Failure.REFUSED, reason) from None


def _derived(browser: str, purpose: str, state: str) -> str:
    """43 characters for one purpose: nobody makes them without the secret in the browser's cookie."""
    made = hmac.digest(browser.encode(), f"{purpose} {state}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(made).rstrip(b"=").decode()
