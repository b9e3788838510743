"""What is derived from the deployment's secret."""

import nkeys  # type: ignore[import-untyped]
import pytest

from askbus.bus.envelope import Service
from askbus.runtime import secrets

SECRET = "a deployment secret for tests, never used elsewhere"
OTHER = "another deployment secret, of another deployment"


def test_the_same_secret_gives_the_same_credentials_on_every_machine() -> None:
    """Services, migrations and NATS's configuration derive apart and must agree; a changed derivation locks everyone out."""
    assert secrets.postgres_password(SECRET, Service.GATEWAY) == "_GCL4vZTlPs9eokrc1ocPh0pZYT23z5XFvK84tNxCOc"
    assert secrets.nats_password(SECRET, "gateway") == "cSj8jDkH_CBwG_WX8KIiNUr7BPNGRJPXQ58jGXJg9qk"
    assert secrets.callout_public(SECRET) == "ADYLEQB7JFXNJ7ZTNZJ56EOML3LWZ2SNKDXGCDSDAUXSKBWIPSC7E4QF"


def test_no_two_credentials_are_alike() -> None:
    """Each service, each server and each deployment has its own."""
    derived = [
        derive(secret, service)
        for secret in (SECRET, OTHER)
        for service in Service
        for derive in (secrets.postgres_password, secrets.nats_password)
    ]
    derived += [secrets.records_password(secret) for secret in (SECRET, OTHER)]
    assert len(set(derived)) == 2 * 2 * len(Service) + 2


def test_the_callout_seed_signs_as_the_account_that_the_server_trusts() -> None:
    """NATS checks the callout's answers against the public key alone."""
    pair = nkeys.from_seed(secrets.callout_seed(SECRET).encode())
    assert pair.public_key.decode() == secrets.callout_public(SECRET)  # pyright: ignore[reportAttributeAccessIssue]  # bytes
    assert secrets.callout_seed(SECRET).startswith("SA")
    assert pair.verify(b"answer", pair.sign(b"answer"))


def test_a_short_secret_is_refused_with_what_to_set() -> None:
    """HKDF makes a weak secret look strong, so that nobody would notice."""
    with pytest.raises(ValueError, match="ASKBUS_SECRET has fewer than 32 characters"):
        secrets.derive("hunter2", "anything")


def test_a_service_connects_with_its_own_role_in_place_of_the_administrators() -> None:
    """Host, port, database and options stay."""
    password = secrets.postgres_password(SECRET, Service.QUESTION_BROKER)
    url = secrets.service_database_url(
        "postgresql://admin:pass@db.internal:6432/askbus?sslmode=require", Service.QUESTION_BROKER, SECRET
    )
    assert url == f"postgresql://askbus_question_broker:{password}@db.internal:6432/askbus?sslmode=require"


def test_every_server_of_a_nats_cluster_gets_the_users_credentials() -> None:
    """Clients reconnect to any of them."""
    password = secrets.nats_password(SECRET, "expiry")
    url = secrets.service_nats_url("nats://one:4222, nats://two:4222", "expiry", SECRET)
    assert url == f"nats://expiry:{password}@one:4222,nats://expiry:{password}@two:4222"
