"""An issuer as it describes itself, and its keys: found by discovery, kept, and read anew when they may have changed."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Annotated, Any

import structlog
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet, RSAKey
from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from askbus.errors import AskbusError, Unavailable
from askbus.outbound.client import Outbound

log = structlog.get_logger()

FRESH = 15 * 60
"""Seconds after which keys are read anew: a key that the issuer takes back stops working."""
USABLE = 60 * 60
"""Seconds for which keys still count while the issuer cannot be reached."""
FLOOR = 30
"""Seconds at least between two readings, whatever key is asked for: nobody makes us hammer an issuer."""
PATIENCE = 5
"""Seconds of one request to an issuer."""
LARGEST = 256 << 10
"""Bytes of what it answers."""
SHORTEST_RSA = 2048
"""Bits (RFC 7518, 3.3)."""


WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s\\]+$")]
"""Where a browser is sent, or we ask: no script, and no file."""


class Metadata(BaseModel):
    """What an issuer says of itself (OpenID Connect Discovery 1.0, section 3), as far as it is used."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    jwks_uri: WebAddress
    authorization_endpoint: WebAddress | None = None
    token_endpoint: WebAddress | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class Issuer:
    """`url` is its name. `clock` counts seconds."""

    def __init__(self, url: str, outbound: Outbound, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = url
        self._outbound = outbound
        self._clock = clock
        self._lock = asyncio.Lock()
        self._metadata: Metadata | None = None
        self._keys: dict[str | None, Key] = {}
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self.trouble: str | None = None
        """A word for why it could not be read the last time that it could not."""
        self._refresh: asyncio.Task[None] | None = None

    async def metadata(self) -> Metadata:
        """What it says of itself. Raises Unavailable where it cannot be reached, or says something else than its name."""
        if self._metadata is None or self._age() > FRESH:
            await self._read()
        if self._metadata is None or self._age() > USABLE:
            raise self._unavailable()
        return self._metadata

    async def key(self, kid: str | None) -> Key | None:
        """The key of this name, or its one key where a token names none; None where it has no such key. Raises Unavailable."""
        if self._age() > USABLE:
            await self._read()
        elif self._age() > FRESH:
            self._read_soon()
        if (found := self._named(kid)) is None and self._age() <= USABLE:
            await self._read()
            found = self._named(kid)
        if self._age() > USABLE:
            raise self._unavailable()
        return found

    async def close(self) -> None:
        """Gives up what is being read."""
        if self._refresh is not None:
            self._refresh.cancel()
            await asyncio.gather(self._refresh, return_exceptions=True)

    def _named(self, kid: str | None) -> Key | None:
        if kid is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(kid)

    def _age(self) -> float:
        return float("inf") if self._read_at is None else self._clock() - self._read_at

    def _read_soon(self) -> None:
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        """Reads description and keys, unless that was tried a moment ago. What was known stays where it fails."""
        asked_at = self._clock()
        async with self._lock:
            if self._tried_at is not None and asked_at - self._tried_at < FLOOR:
                return  # by somebody else, while this one waited, or shortly before
            self._tried_at = self._clock()
            try:
                metadata = await self._describes_itself()
                self._keys = usable_keys(await self._json(metadata.jwks_uri))
            except (_Unfit, ValidationError) as error:
                reason = error.args[0] if isinstance(error, _Unfit) else "invalid_metadata"
                self.trouble = reason
                log.warning("issuer.not_read", issuer=self.url, reason=reason)
                return
            self._metadata, self._read_at = metadata, self._clock()
            log.info("issuer.read", issuer=self.url, keys=len(self._keys))

    async def _describes_itself(self) -> Metadata:
        said = await self._json(f"{self.url.rstrip('/')}/.well-known/openid-configuration")
        metadata = Metadata.model_validate(said)
        if metadata.issuer != self.url:
            raise _Unfit("names_another_issuer")
        return metadata

    async def _json(self, url: str) -> Any:
        try:
            answer = await self._outbound.fetch(
                "GET", url, seconds=PATIENCE, most=LARGEST, headers={"accept": "application/json"}
            )
        except AskbusError:
            raise _Unfit("address_refused") from None
        if answer.status != 200:
            raise _Unfit(answer.error or f"status_{answer.status}")
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise _Unfit("no_json") from None

    def _unavailable(self) -> Unavailable:
        return Unavailable(
            "The issuer of this identity cannot be reached right now. Try again; an operator finds out more with askbus doctor.",
            {"retry_after": FLOOR},
        )


class _Unfit(Exception):
    """What an issuer answered is of no use; its argument is a word for the log."""


def usable_keys(said: Any) -> dict[str | None, Key]:
    """The keys of a JWK Set (RFC 7517) that check signatures, by `kid`: key pairs alone, none for encryption, no short RSA key.

    A secret in a published set is no secret; a private half is not kept.
    """
    keys: dict[str | None, Key] = {}
    for jwk in said.get("keys", ()) if isinstance(said, dict) and isinstance(said.get("keys"), list) else ():
        if not isinstance(jwk, dict) or jwk.get("kty") not in ("RSA", "EC", "OKP") or jwk.get("use", "sig") != "sig":
            continue
        if not isinstance(jwk.get("kid", ""), str):
            continue
        public = {name: value for name, value in jwk.items() if name not in {"d", "p", "q", "dp", "dq", "qi", "oth", "key_ops"}}
        try:
            key = JWKRegistry.import_key(public)
            KeySet([key])  # gives it a name where it has none
        except (JoseError, ValueError, TypeError):
            continue  # of a kind that is unknown here: the others serve
        if not isinstance(key, RSAKey) or key.raw_value.key_size >= SHORTEST_RSA:
            keys.setdefault(key.kid, key)
    return keys
