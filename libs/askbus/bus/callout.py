"""NATS asks the gateway about every stranger (the authorisation callout, ADR-26): an agent's API token gets its own subjects.

The answer is a user JWT for exactly what `accounts.agent_permissions` lists, inside a response JWT, both signed with the
account's nkey. It has no expiry: at one, nats-py would close without a word. A revoked token is refused at the doors, at each
call.
"""

import asyncio
import base64
import binascii
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

import nats.errors
import nkeys  # type: ignore[import-untyped]
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from pydantic import BaseModel, Field, JsonValue

from askbus.bus import faults, subjects
from askbus.bus.accounts import ACCOUNT, Permissions, agent_permissions
from askbus.bus.connection import Connection, settle

log = structlog.get_logger()

Authenticate = Callable[[str], Awaitable[UUID | None]]

PATIENCE = 4.0
"""Seconds for looking up a token; the server gives up after 5."""

SERVER_INBOX = subjects.AUTH_CALLOUT_REPLY.partition("*")[0]
MOST_SUBSCRIPTIONS = 100
LARGEST_MESSAGE = 1 << 20


class _Server(BaseModel):
    id: str


class _ConnectOptions(BaseModel):
    auth_token: str | None = None


class _Asked(BaseModel):
    server_id: _Server
    user_nkey: str
    connect_opts: _ConnectOptions = Field(default_factory=_ConnectOptions)


class _Request(BaseModel):
    """The claims of the server's question that matter here."""

    nats: _Asked


class Callout:
    """Answers the server's questions, together with every other gateway. `authenticate` gives the token row's id, or None.

    `seed` is the account seed (`SA…`) whose public key the server's configuration names as issuer.
    """

    def __init__(self, nc: Connection, seed: str, authenticate: Authenticate) -> None:
        self._nc = nc
        self._key = nkeys.from_seed(seed.encode())
        self._issuer = bytes(self._key.public_key).decode()
        self._authenticate = authenticate
        self._subscription: Subscription | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._subscription = await self._nc.subscribe(subjects.AUTH_CALLOUT, queue="callout", cb=self._on_request)
        await settle(self._nc)

    async def stop(self) -> None:
        """Answers what was asked, then no more."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None and self._nc.is_connected:
            await subscription.drain()  # type: ignore[no-untyped-call]
        if self._running:
            await asyncio.wait(set(self._running), timeout=PATIENCE)

    async def _on_request(self, message: Msg) -> None:
        task = asyncio.create_task(self._answer(message))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _answer(self, message: Msg) -> None:
        if not message.reply.startswith(SERVER_INBOX):
            log.warning("callout.not_understood", error="no reply subject of the server's")
            return
        try:
            asked = _Request.model_validate(_claims(message.data)).nats
        except ValueError as error:
            log.warning("callout.not_understood", error=faults.kind(error))
            return
        p = await self._who(asked.connect_opts.auth_token)
        answer = self._refusal(asked) if p is None else self._welcome(asked, p)
        try:
            await self._nc.publish(message.reply, answer.encode())
        except nats.errors.Error as error:
            log.warning("callout.not_answered", error=faults.kind(error))

    async def _who(self, token: str | None) -> UUID | None:
        if not token:
            log.info("callout.refused", reason="no token")
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                p = await self._authenticate(token)
        except Exception as error:  # noqa: BLE001  # whoever cannot be looked up is a stranger, and the next one is asked about anew
            log.warning("callout.refused", reason=faults.reason(error))
            return None
        log.info("callout.answered", token_id=str(p) if p is not None else None, welcome=p is not None)
        return p

    def _welcome(self, asked: _Asked, p: UUID) -> str:
        allowed = agent_permissions(str(p))
        user = self._signed({"aud": ACCOUNT, "sub": asked.user_nkey, "name": f"agent {p}", "nats": _user_claims(allowed)})
        return self._response(asked, {"jwt": user})

    def _refusal(self, asked: _Asked) -> str:
        return self._response(asked, {"error": "This token does not exist, was revoked or has expired."})

    def _response(self, asked: _Asked, outcome: Mapping[str, JsonValue]) -> str:
        claims: dict[str, JsonValue] = {"type": "authorization_response", "version": 2, **outcome}
        return self._signed({"aud": asked.server_id.id, "sub": asked.user_nkey, "nats": claims})

    def _signed(self, claims: Mapping[str, JsonValue]) -> str:
        """A JWT as NATS wants it (nats-io/jwt, version 2): Ed25519 over unpadded base64url."""
        stamped: dict[str, JsonValue] = {**claims, "iss": self._issuer, "iat": int(time.time())}
        stamped["jti"] = hashlib.sha256(json.dumps(stamped, sort_keys=True).encode()).hexdigest()
        head = _encoded(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
        body = f"{head}.{_encoded(json.dumps(stamped).encode())}"
        return f"{body}.{_encoded(self._key.sign(body.encode()))}"


def _user_claims(allowed: Permissions) -> dict[str, JsonValue]:
    return {
        "type": "user",
        "version": 2,
        "pub": {"allow": list(allowed.publish)},
        "sub": {"allow": list(allowed.subscribe)},
        "subs": MOST_SUBSCRIPTIONS,
        "data": -1,
        "payload": LARGEST_MESSAGE,
    }


def _claims(jwt: bytes) -> object:
    """The claims of the server's JWT. Its signature is not the point: only the server publishes on this subject."""
    try:
        body = jwt.split(b".")[1]
        return json.loads(base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4)))
    except (IndexError, binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("not a JWT") from error


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
