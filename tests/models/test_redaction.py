"""Secrets in texts: what is known or has a secret's shape is replaced, in linear time, and nothing else is touched."""

import hashlib
import json
import time
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askbus.access.credentials import new_token, token_row
from askbus.bus.envelope import Service
from askbus.errors import Conflict
from askbus.redaction import REDACTED, Redactor
from askbus.runtime.known_secrets import secrets_of
from askbus.runtime.secrets import callout_seed, nats_password, postgres_password
from askbus.runtime.settings import Settings
from askbus.testing.servers import SECRET
from askbus.webhooks.signing import new_secret, shown

pytestmark = pytest.mark.requirement("I11")

X = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5zA7b"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"

SECRETS = [
    f"askbus_{UUID(int=7).hex}_{X}abc",
    f"askbus_at_{X}",
    f"whsec_{X}abc=",
    f"sk-proj-{X}",
    f"sk-ant-api03-{X}",
    f"sk_live_{X[:24]}",
    f"ghp_{X[:36]}",
    f"github_pat_{X}",
    f"glpat-{X[:20]}",
    f"xoxb-1234-{X[:20]}",
    "AKIAIOSFODNN7EXAMPLE",
    f"AIza{X[:35]}",
    f"ya29.{X}",
    f"hf_{X[:34]}",
    f"npm_{X[:36]}",
    f"SG.{X[:22]}.{X}",
    callout_seed(SECRET),
    JWT,
    PEM,
    "-----BEGIN PRIVATE KEY-----\nMIIEow that was cut off",
]


def test_new_credentials_have_the_shapes_that_are_tried() -> None:
    """Tokens and webhooks' secrets as they are made today. Tests are named for fixed texts, so that each process finds the same ones."""
    assert token_row(SECRETS[0]) == token_row(new_token(UUID(int=7))) == UUID(int=7)
    for made in (new_token(UUID(int=7)), shown(new_secret())):
        assert Redactor().text(f"key {made} is wrong") == f"key {REDACTED} is wrong"


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "around",
    ["{}", "key {} is wrong", '{{"a": "{}"}}', "x={};y", "({})", "{}\n{}", r'"in\n{}\tJSON"', r"\u0022{}", "?x=%20{}", "OUR_{}"],
)
def test_what_has_a_secrets_shape_is_replaced(secret: str, around: str) -> None:
    """Wherever it stands, whole: not a piece of its random part is left."""
    told = Redactor().text(around.format(secret, secret))
    assert REDACTED in told
    assert secret[-12:] not in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("at postgresql://me:hunter2@db.example:5432/x now", f"at postgresql://me:{REDACTED}@db.example:5432/x now"),
        ("Authorization: Bearer abcdefgh12345678", f"Authorization: Bearer {REDACTED}"),
        ("authorization: basic dXNlcjpwYXNzd29yZDE=", f"authorization: basic {REDACTED}"),
        ("password=hunter2x", f"password={REDACTED}"),
        ('{"api_key": "hunter2x"}', f'{{"api_key": "{REDACTED}"}}'),
        ("host=db password='s3cr3t!' user=x", f"host=db password='{REDACTED}' user=x"),
        ("Server=db;Uid=me;Pwd=hunter2x;", f"Server=db;Uid=me;Pwd={REDACTED};"),
        ("PGPASSWORD=hunter2x psql", f"PGPASSWORD={REDACTED} psql"),
        (json.dumps(json.dumps({"password": "hunter2x"})), json.dumps(json.dumps({"password": REDACTED}))),
        (f"Cookie: a=b; askbus_session_8080={X}; c=d", f"Cookie: a=b; askbus_session_8080={REDACTED}; c=d"),
        (f"https://a.example/x?token={X}&a=b", f"https://a.example/x?token={REDACTED}&a=b"),
    ],
)
def test_what_is_secret_by_its_place_is_replaced(text: str, told: str) -> None:
    """And what says whose it is stays."""
    assert Redactor().text(text) == told


ORDINARY = [
    "the token limit was reached, the secret of success is patience, bearer of bad news 2026",
    "password: required", "api_key: a string", "basic internationalization matters", "https://a.example:8080/p@th?x=1",
    "https://user@a.example/", "mailto:mia@a.example", "askbus_question_broker and askbus_session_8080", "sk-learn, pk-fire, hf_model",
    "-----BEGIN CERTIFICATE-----", "eyJ is how a JWT begins", "SUPERCALIFRAGILISTIC" * 4, "SG.1.2", "12:30:45", "token 12",
    "pk-1042-order-items-by-customer sk-2026-winter-collection-hats", "/v1/x?token=9", "askbus_session_8080=",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_words_are_left_alone(text: str) -> None:
    """What only talks of secrets holds none."""
    assert Redactor([SECRET]).text(text) == text


@settings(max_examples=40)
@given(st.uuids(), st.binary(min_size=1), st.integers(), st.lists(st.text("abcdefghij -_.,:;/", max_size=30)), st.emails())
def test_ids_hashes_and_numbers_are_left_alone(key: UUID, data: bytes, number: int, words: list[str], mail: str) -> None:
    """Whatever is logged or shown of them."""
    digests = [hashlib.new(name, data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512")]
    for text in (str(key), key.hex, *digests, str(number), " ".join(words), mail, f"trace 00-{key.hex}-{key.hex[:16]}-01"):
        for around in (text, f"id={text}", json.dumps({"id": text}), f"/v1/questions/{text}?wait=3"):
            assert Redactor().text(around) == around


@given(st.text(min_size=8, max_size=60), st.text(), st.text())
def test_a_known_secret_is_found_anywhere(secret: str, before: str, after: str) -> None:
    """However it looks; and a text without one is the same text."""
    told = Redactor([secret]).text(f"{before}{secret}{after}")
    assert secret not in told or secret in REDACTED


def test_a_value_is_cleaned_all_the_way_down() -> None:
    """Texts in lists and objects; names, numbers and structure stay."""
    value = {"a": [1, None, {"b": f"x {JWT}"}], "api_key": 5}
    assert Redactor().value(value) == {"a": [1, None, {"b": f"x {REDACTED}"}], "api_key": 5}


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 10**6, "sk-" * 300_000, "askbus_" * 150_000, "askbus_a-" * 110_000, "eyJaaaaaaaa." * 80_000, "eyJ-" * 250_000,
        "://a:" * 200_000, "-----BEGIN PRIVATE KEY-----" * 37_000, "bearer " * 140_000, "password=" * 110_000,
        "password:\t\t\t\t" * 70_000, "SG." * 300_000, "SU" * 500_000, "whsec_" * 160_000, "PRIVATE KEY-----BEGIN " * 45_000,
        "xoxb-" * 200_000, "ya29." * 200_000,
    ],
)  # fmt: skip
def test_it_takes_time_that_grows_with_the_text_alone(hostile: str) -> None:
    """A megabyte of what each shape begins with."""
    began = time.process_time()
    Redactor([SECRET]).text(hostile)
    assert time.process_time() - began < 2


def test_a_process_knows_its_settings_and_what_derives_from_them() -> None:
    """Passwords in addresses, keys of models, the credentials of every service."""
    told = Settings.load(
        database_url="postgresql://me:hunter%402hunter@db/x",
        nats_url="nats://a:natspass1@one,nats://b:natspass2@two",
        secret=SECRET,
        model_api_key="provider-key-1",
        models='{"other": {"provider": "openai", "api_key": "provider-key-2", "model": "m"}}',
    )
    known = secrets_of(told)
    derived = {postgres_password(SECRET, Service.GATEWAY), nats_password(SECRET, "admin")}
    assert {
        "hunter%402hunter",
        "hunter@2hunter",
        "natspass1",
        "natspass2",
        SECRET,
        "provider-key-1",
        "provider-key-2",
    } | derived <= known


def test_an_error_leaves_without_secrets() -> None:
    """On every wire: they all tell its body."""
    body = Conflict(f"{JWT} is taken", {"row": {"url": "postgresql://me:hunter2@db/x"}}).body()
    assert JWT not in body.model_dump_json()
    assert "hunter2" not in body.model_dump_json()
    assert body.details == {"row": {"url": f"postgresql://me:{REDACTED}@db/x"}}
