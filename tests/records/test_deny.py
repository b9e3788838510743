"""What is never read or written goes by its name, unless the deployment says otherwise."""

import pytest

from askbus.records.deny import Policy, words
from askbus.runtime.settings import Settings, SettingsError


@pytest.mark.parametrize(
    "name",
    [
        "password", "passwordHash", "PASSWORD_HASH", "pwd", "reset_token", "apiKey", "API_KEY", "client_secret", "salt",
        "otp_seed", "privateKey", "recovery_codes", "encrypted_password", "cvv", "card_number", "access_key_id", "totp",
    ],
)  # fmt: skip
def test_columns_that_hold_secrets_are_denied(name: str) -> None:
    """In every way that people write identifiers."""
    assert Policy().denies("anything", name)


@pytest.mark.parametrize(
    "name", ["email", "tokens", "salted", "secretary", "passenger", "key", "card", "number", "pin", "compass"]
)
def test_columns_that_only_look_so_are_not(name: str) -> None:
    """A secretary is no secret, and a count of tokens no token."""
    assert not Policy().denies("anything", name)


@pytest.mark.parametrize(
    "name", ["users", "user", "accounts", "auth_users", "oauth_clients", "api_tokens", "user_roles", "auth.users", "UserSessions"]
)
def test_account_tables_are_not_written_until_they_are_freed(name: str) -> None:
    """Whoever could write there could make themselves an admin."""
    assert "can free it" in Policy().never_write(name, ())
    assert Policy(writable_accounts=frozenset({name})).never_write(name, ()) == ""


@pytest.mark.parametrize("name", ["customers", "movie_roles", "training_sessions", "orders", "accounting_entries"])
def test_business_tables_are_written(name: str) -> None:
    """Their names share a word with accounts, not the meaning."""
    assert Policy().never_write(name, ()) == ""


def test_a_deployment_writes_its_policy_into_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """ASKBUS_RECORDS_POLICY is JSON; a name that means nothing stops the start with the variable's name."""
    for name in ("DATABASE_URL", "NATS_URL"):
        monkeypatch.setenv(f"ASKBUS_{name}", "x")
    monkeypatch.setenv("ASKBUS_RECORDS_POLICY", '{"writable_accounts": ["users"]}')
    assert Settings.load().records_policy == Policy(writable_accounts=frozenset({"users"}))
    for wrong in ('{"writable": []}', "{"):
        monkeypatch.setenv("ASKBUS_RECORDS_POLICY", wrong)
        with pytest.raises(SettingsError, match="ASKBUS_RECORDS_POLICY"):
            Settings.load()


def test_identifiers_are_read_as_words() -> None:
    """camelCase, snake_case and capitals."""
    assert words("passwordHash2FA") == ("password", "hash2", "fa")
    assert words("API_KEY") == ("api", "key")
