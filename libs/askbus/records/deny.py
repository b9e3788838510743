"""What is never read or never written, by name: credentials above all. A deployment adds to it and takes from it."""

import re
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from askbus.records.schema import Column

SECRET_WORDS = frozenset({
    "password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "token", "salt", "otp", "totp",
    "hotp", "mfa", "2fa", "cvv", "cvc", "credential", "credentials", "apikey", "privatekey",
})  # fmt: skip
SECRET_PAIRS = frozenset({
    ("api", "key"), ("private", "key"), ("secret", "key"), ("access", "key"), ("signing", "key"), ("encryption", "key"),
    ("recovery", "code"), ("recovery", "codes"), ("backup", "codes"), ("reset", "code"), ("pass", "hash"), ("session", "key"),
    ("security", "answer"), ("card", "number"), ("pin", "code"), ("pin", "hash"),
})  # fmt: skip
ACCOUNT_WORDS = frozenset({
    "account", "accounts", "user", "users", "login", "logins", "session", "sessions", "credential", "credentials", "token",
    "tokens", "password", "passwords", "oauth", "auth", "permission", "permissions", "role", "roles", "secret", "secrets",
})  # fmt: skip
BESIDE_ACCOUNTS = frozenset({
    "app", "admin", "api", "access", "refresh", "reset", "resets", "key", "keys", "grant", "grants", "web", "client", "clients",
    "attempts", "codes", "member", "members", "group", "groups", "identity", "identities", "provider", "providers",
})  # fmt: skip
"""Words that leave a table an account table: oauth_clients is one, movie_roles is not."""


class Policy(BaseModel):
    """What a deployment lists. Columns are written `collection.column`, or `column` for every collection."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    denied_columns: frozenset[str] = frozenset()
    readable_columns: frozenset[str] = frozenset()
    """Columns that only look like secrets: a count of `tokens`, the `salt` of a recipe."""
    never_written: frozenset[str] = frozenset()
    """Collections that nothing writes."""
    writable_accounts: frozenset[str] = frozenset()
    """Account and credential tables that may be written after all; their denied columns stay out of reach."""

    def denies(self, collection: str, column: str) -> bool:
        """Whether the column is on the deny list."""
        names = {column, f"{collection}.{column}"}
        if names & self.denied_columns:
            return True
        return _is_secret(words(column)) and not names & self.readable_columns

    def never_write(self, collection: str, columns: tuple[Column, ...]) -> str:
        """Why the collection can never be written, or an empty string.

        Without a word from the deployment, accounts and credentials are tables that are named so (`users`, `oauth_grants`), or
        that hold a column with a secret's name.
        """
        if collection in self.never_written:
            return f"{collection} is never changed here: the deployment lists it"
        if collection in self.writable_accounts:
            return ""
        parts = set(words(collection.rpartition(".")[2]))
        named = parts & ACCOUNT_WORDS and parts <= ACCOUNT_WORDS | BESIDE_ACCOUNTS
        if named or any(column.denied and _is_secret(words(column.name)) for column in columns):
            return f"{collection} holds accounts or credentials; whoever runs askbus can free it for changes"
        return ""


def words(name: str) -> tuple[str, ...]:
    """The words of an identifier in lower case: passwordHash, PASSWORD_HASH and password-hash are (password, hash)."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))


def _is_secret(parts: tuple[str, ...]) -> bool:
    return not SECRET_WORDS.isdisjoint(parts) or any(pair in SECRET_PAIRS for pair in pairwise(parts))
