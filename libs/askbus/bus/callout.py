"""NATS asks the gateway about every stranger (the authorisation callout, ADR-26): an agent's API token gets its own subjects.

The answer is a user JWT for exactly what `accounts.agent_permissions` lists, inside a response JWT, both signed with the
account's nkey. It expires with its token: then the server closes the connection with `User Authentication Expired`. A revoked token
is refused at the doors, at each call, and its connections are ended (`kick.py`).

Whoever presents a token that is no good is sent to the account REFUSED, which takes no connection: of all that the server says to one
who does not get in, only that is a verdict. Silence, a timeout and a response with an error all read `Authorization Violation`.
"""

import asyncio
import base64
import binascii
import hashlib
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import nats.errors
import nkeys  # type: ignore[import-untyped]
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from pydantic import BaseModel, Field, JsonValue

from askbus.bus import faults, subjects
from askbus.bus.accounts import ACCOUNT, REFUSED, Permissions, agent_permissions, agent_user
from askbus.bus.connection import Connection, settle

log = structlog.get_logger()


@dataclass(frozen=True)
class Known:
    """A token that counts: its row's id, and for how many seconds it still does (None: for ever)."""

    id: UUID
    seconds_left: float | None = None


Authenticate = Callable[[str], Awaitable[Known | None]]
Verdict = Known | Literal["refused", "unknown"]
"""`unknown`: nobody could say, or no token was presented."""

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
    """Answers the server's questions, together with every other gateway. `authenticate` gives None for a token that
    is no good, and raises where nobody can say.

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
        verdict = await self._who(asked.connect_opts.auth_token)
        try:
            await self._nc.publish(message.reply, self._response(asked, verdict).encode())
        except nats.errors.Error as error:
            log.warning("callout.not_answered", error=faults.kind(error))

    async def _who(self, token: str | None) -> Verdict:
        if not token:
            log.info("callout.refused", reason="no token")
            return "unknown"
        try:
            async with asyncio.timeout(PATIENCE):
                known = await self._authenticate(token)
        except Exception as error:  # noqa: BLE001  # whoever cannot be looked up does not get in, and the next one is asked about anew
            log.warning("callout.not_looked_up", reason=faults.reason(error))
            return "unknown"
        log.info("callout.answered", token_id=None if known is None else str(known.id), welcome=known is not None)
        return known or "refused"

    def _response(self, asked: _Asked, verdict: Verdict) -> str:
        outcome: dict[str, JsonValue]
        if verdict == "unknown":
            outcome = {"error": "There is no token, or nobody can say whether it counts."}
        elif verdict == "refused":
            outcome = {"jwt": self._signed({"aud": REFUSED, "sub": asked.user_nkey, "nats": _user_claims(None)})}
        else:
            outcome = {"jwt": self._welcome(asked, verdict)}
        claims: dict[str, JsonValue] = {"type": "authorization_response", "version": 2, **outcome}
        return self._signed({"aud": asked.server_id.id, "sub": asked.user_nkey, "nats": claims})

    def _welcome(self, asked: _Asked, known: Known) -> str:
        claims: dict[str, JsonValue] = {"aud": ACCOUNT, "sub": asked.user_nkey, "name": agent_user(str(known.id))}
        if known.seconds_left is not None:
            claims["exp"] = math.ceil(time.time() + known.seconds_left)
        return self._signed({**claims, "nats": _user_claims(agent_permissions(str(known.id)))})

    def _signed(self, claims: Mapping[str, JsonValue]) -> str:
        """A JWT as NATS wants it (nats-io/jwt, version 2): Ed25519 over unpadded base64url."""
        stamped: dict[str, JsonValue] = {**claims, "iss": self._issuer, "iat": int(time.time())}
        stamped["jti"] = hashlib.sha256(json.dumps(stamped, sort_keys=True).encode()).hexdigest()
        head = _encoded(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
        body = f"{head}.{_encoded(json.dumps(stamped).encode())}"
        return f"{body}.{_encoded(self._key.sign(body.encode()))}"


def _user_claims(allowed: Permissions | None) -> dict[str, JsonValue]:
    """Of a user who may do just this; with None, nothing at all: to NATS an empty list is no limit."""
    return {
        "type": "user",
        "version": 2,
        "pub": {"deny": [">"]} if allowed is None else {"allow": list(allowed.publish)},
        "sub": {"deny": [">"]} if allowed is None else {"allow": list(allowed.subscribe)},
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
