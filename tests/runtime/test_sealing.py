"""Secrets at rest."""

import pytest

from askbus.errors import Unavailable
from askbus.runtime.sealing import CannotOpen, Sealer
from askbus.runtime.secrets import read_sealing_key, sealing_key, sealing_key_text
from askbus.testing.servers import SECRET

pytestmark = pytest.mark.requirement("I9")

OLD, NEW = b"o" * 32, b"n" * 32


def test_a_sealed_secret_opens_for_its_owner_alone() -> None:
    """The same value is sealed differently each time, is not to be read, and does not open in another's place or when it was touched."""
    sealer = Sealer([OLD])
    sealed = sealer.seal(b"a secret", "webhook/1")
    assert sealer.open(sealed, "webhook/1") == b"a secret"
    assert b"a secret" not in sealed
    assert sealer.seal(b"a secret", "webhook/1") != sealed
    for value, whose in ((sealed, "webhook/2"), (sealed[:-1] + bytes([sealed[-1] ^ 1]), "webhook/1"), (b"", "webhook/1")):
        with pytest.raises(CannotOpen):
            sealer.open(value, whose)


def test_keys_are_rotated_by_putting_the_new_one_first() -> None:
    """What the old one sealed still opens, what is sealed from now on opens with the new one alone."""
    sealed = Sealer([OLD]).seal(b"a secret", "row")
    both = Sealer([NEW, OLD])
    assert both.open(sealed, "row") == b"a secret"
    assert Sealer([NEW]).open(both.seal(b"another", "row"), "row") == b"another"
    with pytest.raises(CannotOpen, match="another key"):
        Sealer([NEW]).open(sealed, "row")


def test_without_a_key_nothing_is_sealed_and_the_words_say_what_to_set() -> None:
    """Rather than stored as it is."""
    with pytest.raises(Unavailable, match="ASKBUS_SECRET"):
        Sealer([]).seal(b"a secret", "row")


def test_the_key_of_a_deployment_is_handed_on_as_text() -> None:
    """To the one process that seals, which is not given the deployment's secret."""
    assert read_sealing_key(sealing_key_text(SECRET)) == sealing_key(SECRET)
    with pytest.raises(ValueError, match="32 bytes"):
        read_sealing_key("c2hvcnQ")
