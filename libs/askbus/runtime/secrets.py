"""Every credential of a deployment, derived from its one secret. Pure.

HKDF with SHA-256 (RFC 5869), one `info` for each purpose: whoever learns one credential learns no other, and nobody has to
keep or hand out more than the secret.
"""

import base64
from urllib.parse import quote, urlsplit, urlunsplit

import nkeys  # type: ignore[import-untyped]
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from askbus.bus.envelope import Service

SHORTEST_SECRET = 32
"""Characters. RFC 5869 stretches nothing: the secret itself has to be unguessable."""


def derive(secret: str, purpose: str) -> bytes:
    """32 bytes for one purpose. Raises ValueError when the secret is shorter than 32 characters."""
    if len(secret) < SHORTEST_SECRET:
        raise ValueError(f"ASKBUS_SECRET has fewer than {SHORTEST_SECRET} characters: make one with `openssl rand -hex 32`")
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=f"askbus/1/{purpose}".encode()).derive(secret.encode())


def _password(secret: str, purpose: str) -> str:
    return base64.urlsafe_b64encode(derive(secret, purpose)).rstrip(b"=").decode()


def postgres_password(secret: str, service: Service) -> str:
    """The password of the service's Postgres role, `service.role`."""
    return _password(secret, f"postgres/{service.value}")


def records_password(secret: str) -> str:
    """The password of the role that owns the embedded records database."""
    return _password(secret, "postgres/records")


def nats_password(secret: str, user: str) -> str:
    """The password of a NATS user: a service's name, or `admin`."""
    return _password(secret, f"nats/{user}")


def callout_seed(secret: str) -> str:
    """The account seed (`SA…`) that signs the answers to NATS's authorisation callout; the gateway's alone."""
    return str(nkeys.encode_seed(derive(secret, "nats/callout"), nkeys.PREFIX_BYTE_ACCOUNT).decode())


def callout_public(secret: str) -> str:
    """The public key (`A…`) of that account, which the server's configuration names as the callout's issuer."""
    return str(nkeys.from_seed(callout_seed(secret).encode()).public_key.decode())  # pyright: ignore[reportAttributeAccessIssue]  # bytes


def sealing_key(secret: str) -> bytes:
    """What seals secrets at rest (askbus.runtime.sealing)."""
    return derive(secret, "sealing")


def sealing_key_text(secret: str) -> str:
    """The same as ASKBUS_SEALING_KEYS takes it, for a process that is not given the secret itself."""
    return base64.urlsafe_b64encode(sealing_key(secret)).rstrip(b"=").decode()


def read_sealing_key(text: str) -> bytes:
    """A key from that text. Raises ValueError where it is none."""
    key = base64.urlsafe_b64decode(text.strip() + "==")
    if len(key) != 32:
        raise ValueError("a sealing key has 32 bytes, as base64url")
    return key


def service_database_url(url: str, service: Service, secret: str) -> str:
    """The Postgres address `url` with the service's own role in place of the credentials that it holds."""
    return with_credentials(url, service.role, postgres_password(secret, service))


def service_nats_url(url: str, user: str, secret: str) -> str:
    """The NATS address `url` with this user's credentials. Of several servers, comma-separated, each gets them."""
    return ",".join(with_credentials(one.strip(), user, nats_password(secret, user)) for one in url.split(","))


def with_credentials(url: str, user: str, password: str) -> str:
    """The address with these credentials in place of those that it may hold."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{quote(user, safe='')}:{quote(password, safe='')}@{host}"))
