"""Secrets at rest: sealed with AES-256-GCM under a key of the deployment's, each with the id of its key, so that keys can be rotated.

A sealed value is a version byte, 4 bytes that name the key, 12 of nonce (NIST SP 800-38D, 8.2.2: random), then ciphertext and tag. Whose
secret it is, is authenticated along with it: a value copied into another row does not open.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from askbus.errors import Internal, Unavailable
from askbus.runtime.secrets import read_sealing_key, sealing_key

VERSION = b"\x01"
KEY_ID, NONCE = 4, 12


class CannotOpen(Internal):
    """A stored secret was sealed under a key that this process does not have, or is damaged. Its owner stays listed, unusable."""


class Sealer:
    """Seals under the first of `keys` (32 bytes each) and opens what was sealed under any of them. Without keys it does neither."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {_key_id(key): AESGCM(key) for key in reversed(keys)}
        self._first = _key_id(keys[0]) if keys else None

    @classmethod
    def of(cls, keys: str | None, secret: str | None) -> Self:
        """With these keys (text, separated by commas), else with the one of the deployment's secret, else without any."""
        if keys is not None:
            return cls([read_sealing_key(text) for text in keys.split(",")])
        return cls([] if secret is None else [sealing_key(secret)])

    def seal(self, secret: bytes, whose: str) -> bytes:
        """`whose` names the row. Raises Unavailable where this process has no key."""
        if self._first is None:
            raise Unavailable(
                "This deployment has no key to seal secrets with: set ASKBUS_SECRET, or ASKBUS_SEALING_KEYS where it runs."
            )
        nonce = os.urandom(NONCE)
        return VERSION + self._first + nonce + self._keys[self._first].encrypt(nonce, secret, whose.encode())

    def resealed(self, sealed: bytes, whose: str) -> bytes | None:
        """The same secret under the first key, as it is where that sealed it; None where it does not open."""
        try:
            secret = self.open(sealed, whose)
        except CannotOpen:
            return None
        return sealed if sealed[1 : 1 + KEY_ID] == self._first else self.seal(secret, whose)

    def open(self, sealed: bytes, whose: str) -> bytes:
        """Raises CannotOpen."""
        version, key_id, nonce = sealed[:1], sealed[1 : 1 + KEY_ID], sealed[1 + KEY_ID : 1 + KEY_ID + NONCE]
        key = self._keys.get(key_id)
        if version != VERSION or key is None:
            raise CannotOpen(
                "This secret was sealed under another key of the deployment's. Add that key, or make the secret anew."
            )
        try:
            return key.decrypt(nonce, sealed[1 + KEY_ID + NONCE :], whose.encode())
        except InvalidTag:
            raise CannotOpen("This secret is damaged. Make it anew.") from None


@dataclass(frozen=True)
class Resealed:
    """What became of a batch: how many owners' secrets were sealed anew, of how many; whose do not open; after whom the next begins."""

    done: int
    seen: int
    unreadable: tuple[UUID, ...]
    next: UUID | None


def _key_id(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()[:KEY_ID]
