"""An issuer of identities on the real wire (OpenID Connect), which may also be told to cheat."""

import base64
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.jwk import ECKey, Key, KeyParameters, KeySet, RSAKey
from joserfc.jws import JWSRegistry
from joserfc.registry import HeaderParameter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from askbus.runtime.health import Door

CLIENT, SECRET = "askbus-in-tests", "s3cret-of-the-client"
AUDIENCE = "https://askbus.example"

Said = dict[str, Any]


@dataclass
class TestIssuer:
    """`person` is who signs in, in claims. `twist` changes the claims of each token that it issues; `metadata` and `answer` what it
    says of itself and how it answers at all."""

    __test__ = False

    port: int = 0
    person: Said = field(default_factory=dict)
    keys: list[Key] = field(default_factory=lambda: [new_key("first")])
    twist: Callable[[Said], Said] = dict
    metadata: Said = field(default_factory=dict)
    answer: Callable[[str], Response | None] = lambda _path: None
    asked: list[str] = field(default_factory=list)
    names_itself: bool = True
    """Whether it puts `iss` beside the code (RFC 9207)."""
    signs: Callable[[Said], str] | None = None
    """Makes the ID token instead of its own key."""
    _codes: dict[str, Said] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rotate(self, kid: str) -> Key:
        """A new key in place of those that it has."""
        self.keys = [new_key(kid)]
        return self.keys[0]

    def claims(self, subject: str, email: str | None = None, /, **more: object) -> Said:
        """Claims of a good token for an hour."""
        now = int(time.time())
        said: Said = {"iss": self.url, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 3600, "jti": uuid4().hex}
        if email is not None:
            said |= {"email": email, "email_verified": True}
        return {name: value for name, value in {**said, **more}.items() if value is not None}

    def token(self, subject: str, email: str | None = None, /, **more: object) -> str:
        """A good token, but for `more`: None leaves a claim out."""
        return signed(self.claims(subject, email, **more), self.keys[0])

    def reads_of_keys(self) -> int:
        """How often somebody read its keys."""
        return self.asked.count("/jwks")

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._told(self._describe)),
                Route("/jwks", self._told(self._jwks)),
                Route("/authorize", self._told(self._authorize)),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

    def _told(self, say: Callable[[Request], Response]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            self.asked.append(request.url.path)
            return self.answer(request.url.path) or say(request)

        return endpoint

    def _describe(self, _request: Request) -> Response:
        paths = {"jwks_uri": "jwks", "authorization_endpoint": "authorize", "token_endpoint": "token"}
        said = {"issuer": self.url, **{name: f"{self.url}/{path}" for name, path in paths.items()}}
        return JSONResponse({**said, "authorization_response_iss_parameter_supported": self.names_itself, **self.metadata})

    def _jwks(self, _request: Request) -> Response:
        return JSONResponse(KeySet(self.keys).as_dict(private=False))

    def _authorize(self, request: Request) -> Response:
        """Signs `person` in without asking."""
        asked = dict(request.query_params)
        code = uuid4().hex
        self._codes[code] = asked
        back = {"code": code, "state": asked["state"], **({"iss": self.url} if self.names_itself else {})}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(back)}", 303)

    async def _token(self, request: Request) -> Response:
        self.asked.append("/token")
        if (refused := self.answer("/token")) is not None:
            return refused
        form = {name: str(value) for name, value in (await request.form()).items()}
        asked = self._codes.pop(form.get("code", ""), None)
        known = request.headers.get("authorization") == f"Basic {base64.b64encode(f'{CLIENT}:{SECRET}'.encode()).decode()}"
        if asked is None or not known or form["redirect_uri"] != asked["redirect_uri"] or not _verified(form, asked):
            return JSONResponse({"error": "invalid_grant"}, 400)
        claims = self.twist(self.claims("", **{"aud": CLIENT, "nonce": asked["nonce"], **self.person}))
        made = signed(claims, self.keys[0]) if self.signs is None else self.signs(claims)
        return JSONResponse({"access_token": uuid4().hex, "token_type": "Bearer", "expires_in": 60, "id_token": made})


def _verified(form: Mapping[str, str], asked: Mapping[str, str]) -> bool:
    """PKCE with S256 (RFC 7636, 4.6)."""
    challenge: str = create_s256_code_challenge(form["code_verifier"])
    return asked["code_challenge_method"] == "S256" and asked["code_challenge"] == challenge


def new_key(kid: str, kind: str = "EC") -> Key:
    """A key pair to sign with."""
    parameters: KeyParameters = {"kid": kid, "use": "sig"}
    return ECKey.generate_key("P-256", parameters) if kind == "EC" else RSAKey.generate_key(2048, parameters)


def signed(claims: Said, key: Key, **header: object) -> str:
    """A JWT; `header` goes over what would stand there, None leaves it out."""
    algorithm = "ES256" if isinstance(key, ECKey) else "RS256"
    said = {"alg": algorithm, "kid": key.kid, "typ": "JWT", **header}
    own = {"future": HeaderParameter("One that no reader knows", "str")}
    registry = JWSRegistry(header_registry=own, algorithms=[str(said["alg"])], strict_check_header=False)
    return jwt.encode(
        {name: value for name, value in said.items() if value is not None}, claims, key, registry=registry, default_type=None
    )


@asynccontextmanager
async def issuing() -> AsyncIterator[TestIssuer]:
    """Listens on loopback until the context ends."""
    issuer = TestIssuer()
    door = Door("127.0.0.1", 0, drain=1)
    door.serve(issuer.app())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # Starlette is wider
    async with door.open():
        issuer.port = door.port or 0
        yield issuer
